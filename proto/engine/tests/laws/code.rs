//! Code in a plan: what is played is what was checked.

use loadpilot_engine::check;
use loadpilot_events::plan::Plan;
use serde_json::{Value, json};

const GOLDEN: &str = include_str!("../../../golden/plan-code.v1.json");

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

/// A check that refused what the compiler makes would leave every scenario to Python.
#[test]
fn sound_code_is_accepted() {
    assert_eq!(problems(|_| {}), Vec::<String>::new());
}

/// Code that was not checked could panic on a firing thread, or put a secret into the log.
#[test]
fn unsound_code_is_refused_with_its_place() {
    let put = |statement: Value| {
        problems(move |plan| plan["code"]["tasks"][1]["body"]["does"] = json!([statement]))
    };
    let none = json!({"literal": "none"});
    let header = json!({"dict": [{"key": "X-Api-Key", "value": {"literal": {"text": "s3cret"}}}]});
    let by_zero = json!({"binary": {"operator": "modulo", "left": none,
        "right": {"literal": {"int": 0}}, "line": 1}});
    let cases = [
        (
            json!({"set": {"local": 99, "to": none}}),
            "must use local variables that it has",
        ),
        (
            json!({"keep": {"name": "a", "value": none}}),
            "must keep something in on_start only",
        ),
        (json!("break"), "must leave loops only where there is one"),
        (
            json!({"do": header}),
            "must not write out the value of a secret header",
        ),
        (
            json!({"do": by_zero}),
            "must divide by numbers that are written out",
        ),
        (
            json!({"sleep": {"us": u64::MAX}}),
            "must rest at most a day at a time",
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
    let deep = (0..25).fold(none, |inner, _| json!({"not": inner}));
    assert!(put(json!({"do": deep}))[0].contains("must nest at most 20 deep"));
    let asks = json!({"send": {"method": "GET", "path": {"literal": {"text": "/"}}, "line": 1}});
    let in_check = problems(move |plan| {
        plan["code"]["tasks"][0]["check"]["body"]["does"] = json!([asks]);
    });
    assert!(
        in_check[0].contains("must not ask for anything in a check"),
        "{in_check:?}"
    );
}
