//! Code in a plan: the agent plays exactly the code that was checked.

use loadpilot_engine::check;
use loadpilot_events::plan::Plan;
use serde_json::{Value, json};

const GOLDEN: &str = include_str!("../../../../golden/plan-code.v1.json");

fn problems(change: impl FnOnce(&mut Value)) -> Vec<String> {
    let mut plan: Value = serde_json::from_str(GOLDEN).expect("JSON");
    change(&mut plan);
    let plan: Plan = serde_json::from_value(plan).expect("a plan");
    let problems = check::plan(&plan);
    problems
        .iter()
        .map(|problem| format!("{} {}", problem.field, problem.rule))
        .collect()
}

/// A plan with code that depends on seed and arrival, and with batches and calls of functions.
#[test]
fn sound_code_of_more_words_is_accepted() {
    let golden = include_str!("../../../../golden/plan-code-given.v1.json");
    let plan: Plan = serde_json::from_str(golden).expect("a plan");
    assert_eq!(check::plan(&plan), []);
}

/// Broken if the plan check refuses the compiler's output: every scenario would run in Python.
#[test]
fn sound_code_is_accepted() {
    assert_eq!(problems(|_| {}), Vec::<String>::new());
}

/// Broken if the plan check accepts invalid code: it could panic on a firing thread, or put a
/// secret into the log.
#[test]
fn unsound_code_is_refused_with_its_place() {
    let put = |statement: Value| {
        problems(move |plan| plan["code"]["tasks"][1]["body"]["does"] = json!([statement]))
    };
    let none = json!({"literal": "none"});
    let header = json!({"dict": [{"key": "X-Api-Key", "value": {"literal": {"text": "s3cret"}}}]});
    let cases = [
        (
            json!({"set": {"local": 99, "to": none}}),
            "must use declared local variables",
        ),
        (
            json!({"keep": {"name": "a", "value": none}}),
            "must store attributes in on_start only",
        ),
        (
            json!("break"),
            "must use break and continue inside loops only",
        ),
        (
            json!({"do": header}),
            "must not contain the value of a secret header",
        ),
        (
            json!({"sleep": {"us": u64::MAX}}),
            "must rest at most a day at a time",
        ),
        (
            json!({"rest": {"how": "time_sleep", "times": [none, none], "line": 1}}),
            "must rest for one time, or between two",
        ),
        (
            json!({"while": {"test": none, "does": [
                {"within": {"does": ["continue"], "line": 1}},
            ]}}),
            "must use break and continue inside loops only",
        ),
        (
            json!({"do": {"row": {"feed": 0}}}),
            "must take rows of declared feeds",
        ),
        (
            json!({"measure": {"kind": "rate", "name": "a b", "line": 1}}),
            "must add to metrics with a name",
        ),
        (
            json!({"if": {"ways": [], "otherwise": [
                {"measure": {"kind": "rate", "name": "hit", "value": none, "line": 1}},
                {"measure": {"kind": "counter", "name": "hit", "line": 1}},
            ]}}),
            "must add to a metric of one kind under each name",
        ),
        (
            json!({"do": {"call": {"function": "rand_int", "to": [none], "line": 1}}}),
            "must call functions with arguments that they accept",
        ),
        (
            json!({"pick": {"from": 99, "place": 0, "answer": 0, "line": 1}}),
            "must use declared local variables",
        ),
    ];
    for (statement, rule) in cases {
        let found = put(statement);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0].starts_with(&format!("code.tasks[1].body {rule}")),
            "{found:?}"
        );
    }
    let rows = problems(|plan| plan["code"]["rows"] = json!({"sha256": "0", "bytes": 0}));
    assert!(
        rows[0].starts_with("code.rows must be present exactly when there are feeds"),
        "{rows:?}"
    );
    let deep = (0..25).fold(none, |inner, _| json!({"not": inner}));
    assert!(put(json!({"do": deep}))[0].contains("must nest at most 20 deep"));
    let asks = json!({"send": {"method": "GET", "path": {"literal": {"text": "/"}}, "line": 1}});
    let in_check = problems(move |plan| {
        plan["code"]["tasks"][0]["check"]["body"]["does"] = json!([asks]);
    });
    assert!(
        in_check[0].contains("must not send requests or rest in a check"),
        "{in_check:?}"
    );
}
