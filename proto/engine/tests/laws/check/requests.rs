//! Request lists: which plans are accepted, and which request a row and its step make together.

use loadpilot_engine::check;
use loadpilot_engine::check::changes::{Changes, adjust};
use loadpilot_events::plan::Plan;
use loadpilot_events::plan::request_row::RequestRow;
use loadpilot_events::refusal::Problem;
use serde_json::{Value, json};

use super::changes::request;
use super::plan::problems;

const GOLDEN: &str = include_str!("../../../../golden/plan-requests.v2.json");

fn golden() -> Value {
    serde_json::from_str(GOLDEN).expect("a plan")
}

/// Broken if the plan check accepts rows that an agent cannot send, or if a problem names another
/// field than the one to change.
#[test]
fn a_list_is_of_the_only_task_or_is_refused() {
    assert_eq!(problems(golden()), []);
    let secrets: Vec<String> = (0..101).map(|n| format!("s-{n}")).collect();
    let task = golden()["tasks"][0].clone();
    let csv = "csv";
    let cases = [
        ("/schema", json!("loadpilot.plan/1"), "schema", "/2"),
        (
            "/requests/secrets",
            json!(secrets),
            "requests.secrets",
            "100",
        ),
        (
            "/requests/rows/rows",
            json!(0),
            "requests.rows[0].rows",
            "1",
        ),
        (
            "/requests/rows/tasks",
            json!([]),
            "requests.rows.tasks",
            "only task",
        ),
        (
            "/requests/rows/file",
            Value::Null,
            "requests.rows.file",
            "JSON lines",
        ),
        (
            "/requests/rows/file/form",
            json!(csv),
            "requests.rows.file",
            "JSON lines",
        ),
        (
            "/requests/rows/file/name",
            json!("../x"),
            "requests.rows[0].file.name",
            "folder",
        ),
        (
            "/tasks/0/steps/1/target",
            json!(2),
            "tasks[0].steps[1].target",
            "a target",
        ),
        (
            "/tasks",
            json!([task.clone(), {"name": "b", "weight": 1, "steps": task["steps"]}]),
            "tasks",
            "one task",
        ),
        (
            "/connections/other_targets/0",
            json!("https://b"),
            "connections.other_targets[0]",
            "http like",
        ),
    ];
    for (place, value, field, rule) in cases {
        let mut plan = golden();
        *plan.pointer_mut(place).expect(place) = value;
        let found = problems(plan);
        let is_named = |one: &Problem| one.field == field && one.rule.contains(rule);
        assert!(found.iter().any(is_named), "{place}: {found:?}");
    }
    let mut plan = golden();
    let fields = plan.as_object_mut().expect("an object");
    fields.remove("requests");
    let found = problems(plan);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].field, "tasks[0].steps[1].target");
}

/// Broken if a run is repeated with another target although its rows name a second target: the
/// requests for that one would go to the new target.
#[test]
fn another_target_is_refused_where_rows_name_theirs() {
    let changes = Changes {
        target: Some("http://c.example".to_owned()),
        ..Changes::default()
    };
    let (adjusted, found) = adjust(&request(golden()), &changes);
    assert_eq!(found, []);
    let found = check::plan(&adjusted.plan);
    let fields: Vec<&str> = found.iter().map(|one| one.field.as_str()).collect();
    assert_eq!(fields, ["tasks[0].steps[1].target"]);
}

/// Broken if a field of the step is sent although the row has that field, or is not sent although
/// the row lacks it.
#[test]
fn a_row_replaces_what_it_has() {
    let plan: Plan = serde_json::from_value(golden()).expect("a plan");
    let step = &plan.tasks[0].steps[1];
    let row = |text: &str| serde_json::from_str::<RequestRow>(text).map(|row| row.request(step));
    assert_eq!(row(r#"{"step":1}"#).expect("a row"), *step);
    let other = row(r#"{"step":1,"path":"/x","headers":[],"body":{"text":""}}"#).expect("a row");
    assert_eq!((other.path.as_str(), other.headers.len()), ("/x", 0));
    assert_eq!((other.body, other.target), (None, 1));
    for invalid in ["{}", r#"{"step":-1}"#, r#"{"step":0,"url":"/"}"#, "[]", ""] {
        assert!(row(invalid).is_err(), "{invalid}");
    }
}

/// Broken if an arrival of a request list counts as all the calls of its task.
#[test]
fn an_arrival_performs_one_call() {
    let plan: Plan = serde_json::from_value(golden()).expect("a plan");
    assert_eq!(plan.steps_per_arrival(), 1);
    assert_eq!(plan.feeds().len(), 1);
    assert_eq!(plan.secrets(), ["authorization-1", "authorization-2"]);
    let mut plan = golden();
    plan["debug_requests"] = json!(100);
    assert_eq!(problems(plan), []);
}
