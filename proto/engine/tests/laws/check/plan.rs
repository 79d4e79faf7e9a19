//! Checking plans and requests: every problem by field, rule and value, all at once.

use loadpilot_engine::check;
use loadpilot_events::log::req::RunRequested;
use loadpilot_events::plan::Plan;
use loadpilot_events::refusal::Problem;
use serde_json::{Value, json};

pub(crate) fn good() -> Value {
    json!({
        "schema": "loadpilot.plan/1", "scenario": "Shop", "target": "http://localhost:8080",
        "profile": {"shape": "constant", "pieces": [
            {"duration_us": 10_000_000, "from": 50_000_000, "to": 50_000_000}]},
        "warm_up_us": 2_000_000, "timeout_us": 30_000_000, "max_wait_us": 30_000_000,
        "max_lateness_us": 500_000, "tick_us": 1_000_000, "max_in_flight": 10,
        "samples_ppm": 10_000,
        "tasks": [{"name": "browse", "weight": 1, "steps": [{
            "name": "GET /", "method": "GET", "path": "/?q=1",
            "headers": [{"name": "Authorization", "value": {"secret": "token"}},
                        {"name": "Accept", "value": "text/html"}],
            "body": {"base64": "aGk="}}]}],
        "thresholds": [{"metric": "p99_ms", "limit": 250.0},
                       {"metric": "error_rate", "task": "browse", "limit": 0.0}],
        "id_header": "X-Arrival",
    })
}

pub(crate) fn problems(plan: Value) -> Vec<Problem> {
    let plan: Plan = serde_json::from_value(plan).expect("the shape of a plan");
    check::plan(&plan)
}

/// A case: what to change, the new value, the field that the problem names, and a part of its rule
/// and of its value.
type Case = (
    &'static str,
    Value,
    &'static str,
    &'static str,
    &'static str,
);

fn cases() -> Vec<Case> {
    let step = |field: &str| format!("/tasks/0/steps/0/{field}").leak() as &str;
    let field = |name: &str| format!("tasks[0].steps[0].{name}").leak() as &str;
    let piece = "/profile/pieces/0";
    let piece = |name: &str| format!("{piece}/{name}").leak() as &str;
    let long = "x".repeat(129);
    vec![
        ("/scenario", json!(""), "scenario", "1 to 128 bytes", ""),
        (
            "/scenario",
            json!("a\nb"),
            "scenario",
            "control characters",
            "a\nb",
        ),
        (
            "/scenario",
            json!(long),
            "scenario",
            "1 to 128 bytes",
            "xxx",
        ),
        (
            "/target",
            json!("localhost"),
            "target",
            "http://host",
            "localhost",
        ),
        (
            "/target",
            json!("http://a/b/"),
            "target",
            "without user, query or a slash",
            "http://a/b/",
        ),
        (
            "/target",
            json!("https://good@evil"),
            "target",
            "without user",
            "evil",
        ),
        (
            "/target",
            json!("http://h:0"),
            "target",
            "http://host",
            "h:0",
        ),
        (
            "/target",
            json!("http://h:99999"),
            "target",
            "http://host",
            "99999",
        ),
        (
            "/target",
            json!("http://[::zz]:1"),
            "target",
            "http://host",
            "zz",
        ),
        ("/target", json!("ftp://h"), "target", "http://host", "ftp"),
        (
            "/profile/pieces",
            json!([]),
            "profile.pieces",
            "1 to 10000",
            "0",
        ),
        (
            piece("duration_us"),
            json!(0),
            "profile.pieces[0].duration_us",
            "at least 1",
            "0",
        ),
        (
            piece("from"),
            json!(u64::MAX),
            "profile.pieces[0].from",
            "10,000,000",
            "18446744073709",
        ),
        (
            piece("to"),
            json!(10_000_000_000_001_u64),
            "profile.pieces[0].to",
            "at most",
            "0",
        ),
        (
            piece("duration_us"),
            json!(u64::MAX),
            "profile",
            "11 days",
            "18446744073709551615",
        ),
        (
            "/profile/pieces/0",
            json!({"duration_us": 5_000_000, "from": 0, "to": 0}),
            "profile",
            "at least one arrival",
            "0",
        ),
        (
            "/warm_up_us",
            json!(10_000_000),
            "warm_up_us",
            "below the length",
            "10000000",
        ),
        (
            "/warm_up_us",
            json!(9_000_001),
            "warm_up_us",
            "rounded up to a whole tick",
            "9000001",
        ),
        (
            "/timeout_us",
            json!(999),
            "timeout_us",
            "1 ms to 10 min",
            "999",
        ),
        (
            "/timeout_us",
            json!(600_000_001),
            "timeout_us",
            "1 ms to 10 min",
            "600000001",
        ),
        (
            "/max_wait_us",
            json!(u64::MAX),
            "max_wait_us",
            "10 min",
            "18446744073709551615",
        ),
        ("/max_lateness_us", json!(0), "max_lateness_us", "1 ms", "0"),
        (
            "/tick_us",
            json!(99_999),
            "tick_us",
            "100 ms to 60 s",
            "99999",
        ),
        ("/tick_us", json!(0), "tick_us", "100 ms to 60 s", "0"),
        ("/samples_ppm", json!(0), "samples_ppm", "1 to 1000000", "0"),
        (
            "/samples_ppm",
            json!(1_000_001),
            "samples_ppm",
            "1 to 1000000",
            "1000001",
        ),
        (
            "/max_in_flight",
            json!(0),
            "max_in_flight",
            "at least 1",
            "0",
        ),
        ("/tasks", json!([]), "tasks", "1 to 1000", "0"),
        (
            "/tasks/0/weight",
            json!(0),
            "tasks[0].weight",
            "at least 1",
            "0",
        ),
        (
            "/tasks/0/weight",
            json!(u32::MAX),
            "tasks",
            "weights",
            "4294967295",
        ),
        (
            "/tasks/0/name",
            json!(" "),
            "tasks[0].name",
            "1 to 128",
            " ",
        ),
        (
            "/tasks/0/steps",
            json!([]),
            "tasks[0].steps",
            "1 to 100",
            "0",
        ),
        (
            step("path"),
            json!("http://evil/"),
            field("path"),
            "begin with one /",
            "evil",
        ),
        (
            step("path"),
            json!("//evil"),
            field("path"),
            "begin with one /",
            "//evil",
        ),
        (
            step("path"),
            json!("/a b"),
            field("path"),
            "printable ASCII",
            "/a b",
        ),
        (
            step("path"),
            json!("/a\r\nX: y"),
            field("path"),
            "printable ASCII",
            "X: y",
        ),
        (
            step("path"),
            json!("/é"),
            field("path"),
            "printable ASCII",
            "é",
        ),
        (
            step("path"),
            json!("/#top"),
            field("path"),
            "without #",
            "#top",
        ),
        (step("name"), json!(""), field("name"), "1 to 128", ""),
        (
            step("timeout_us"),
            json!(1),
            field("timeout_us"),
            "1 ms",
            "1",
        ),
        (
            step("body"),
            json!({"base64": "%"}),
            field("body.base64"),
            "base64",
            "not base64",
        ),
        (
            step("body"),
            json!({"object": {"sha256": "AB", "bytes": 5}}),
            field("body.object.sha256"),
            "64 hex digits in lower case",
            "AB",
        ),
        (
            step("body"),
            json!({"object": {"sha256": "a".repeat(64), "bytes": 0}}),
            field("body.object.bytes"),
            "1 byte to 64 MiB",
            "0",
        ),
        (
            step("body"),
            json!({"object": {"sha256": "a".repeat(64), "bytes": (64 << 20) + 1}}),
            field("body.object.bytes"),
            "1 byte to 64 MiB",
            "67108865",
        ),
        (
            step("headers/1/name"),
            json!("A B"),
            field("headers[1].name"),
            "header name",
            "A B",
        ),
        (
            step("headers/1/name"),
            json!("Content-Length"),
            field("headers[1].name"),
            "engine sets",
            "Content-Length",
        ),
        (
            step("headers/1/value"),
            json!("a\r\nb: c"),
            field("headers[1].value"),
            "without line breaks",
            "\\r\\n",
        ),
        (
            step("headers/0/value"),
            json!("Bearer hush"),
            field("headers[0].value"),
            "secret handle",
            "a literal value",
        ),
        (
            step("headers/0/value"),
            json!({"secret": ""}),
            field("headers[0].value.secret"),
            "1 to 128",
            "",
        ),
        (
            "/thresholds/0/limit",
            json!(-1.0),
            "thresholds.p99_ms",
            "finite",
            "-1",
        ),
        (
            "/thresholds/1/task",
            json!("ghost"),
            "thresholds.ghost:error_rate",
            "(browse)",
            "ghost",
        ),
        (
            "/thresholds/1",
            json!({"metric": "p99_ms", "limit": 1.0}),
            "thresholds.p99_ms",
            "given once",
            "1",
        ),
        (
            "/id_header",
            json!("Transfer-Encoding"),
            "id_header",
            "engine sets",
            "Transfer",
        ),
    ]
}

fn set(plan: &mut Value, pointer: &str, value: Value) {
    match plan.pointer_mut(pointer) {
        Some(place) => *place = value,
        None => {
            let (parent, key) = pointer.rsplit_once('/').expect("a pointer");
            plan.pointer_mut(parent).expect("a parent")[key] = value;
        }
    }
}

/// Broken if the plan check refuses a sound plan.
#[test]
fn a_sound_plan_passes() {
    assert_eq!(problems(good()), []);
    assert!(check::parse_plan(&good().to_string()).is_ok());
}

/// A problem that does not name field, rule and value cannot be fixed.
#[test]
fn each_problem_names_field_rule_and_value() {
    for (pointer, value, field, rule, quoted) in cases() {
        let mut plan = good();
        set(&mut plan, pointer, value);
        let found = problems(plan);
        let named =
            |p: &&Problem| p.field == field && p.rule.contains(rule) && p.value.contains(quoted);
        assert!(found.iter().any(|p| named(&p)), "{pointer}: {found:?}");
        let others: Vec<_> = found.iter().filter(|p| p.field != field).collect();
        // Some changes cause a second problem; the table names the first.
        let follows = |p: &&Problem| p.field == "profile" || p.rule.contains("name a task");
        assert!(others.iter().all(follows), "{pointer}: {others:?}");
    }
}

/// A secret that was typed where a handle belongs is not repeated in the message.
#[test]
fn a_refused_secret_is_not_quoted() {
    let mut plan = good();
    set(
        &mut plan,
        "/tasks/0/steps/0/headers/0/value",
        json!("Bearer hush"),
    );
    assert!(!format!("{:?}", problems(plan)).contains("hush"));
}

/// The plan check reports all problems at once, so that a user can fix them together.
#[test]
fn all_problems_are_reported_at_once() {
    let mut plan = good();
    set(&mut plan, "/target", json!("localhost"));
    set(&mut plan, "/timeout_us", json!(0));
    set(&mut plan, "/tasks/0/weight", json!(0));
    set(&mut plan, "/thresholds/0/limit", json!(-1.0));
    let fields: Vec<String> = problems(plan).into_iter().map(|p| p.field).collect();
    assert_eq!(
        fields,
        [
            "target",
            "timeout_us",
            "tasks[0].weight",
            "thresholds.p99_ms"
        ]
    );
}

/// A value that is no plan at all is refused with the reason, not with a crash.
#[test]
fn what_is_no_plan_is_refused() {
    let mut unknown = good();
    unknown["surprise"] = json!(1);
    let huge = format!("\"{}\"", "x".repeat(600_000));
    for (text, part) in [
        ("", "must be a plan"),
        ("[]", "must be a plan"),
        (unknown.to_string().as_str(), "surprise"),
        (huge.as_str(), "must be at most 524288 bytes"),
    ] {
        let refusal = check::parse_plan(text).expect_err("it is no plan");
        assert!(refusal.to_string().contains(part), "{refusal}");
    }
}

/// NaN has no JSON form, but a plan may be built in memory.
#[test]
fn a_limit_that_is_no_number_is_refused() {
    for limit in [f64::NAN, f64::INFINITY] {
        let mut plan: Plan = serde_json::from_value(good()).expect("a plan");
        plan.thresholds[0].limit = limit;
        let found = check::plan(&plan);
        assert_eq!(found.len(), 1, "{found:?}");
    }
}

/// A request without an end would keep a run alive for ever.
#[test]
fn each_figure_of_a_request_has_a_limit() {
    let request = |change: fn(&mut Value)| {
        let mut request = json!({"plan": good(), "seed": 1, "lead_us": 0,
            "agents": {"want": 2, "min": 1, "wait_us": 0}});
        change(&mut request);
        let request: RunRequested = serde_json::from_value(request).expect("a request");
        let found = check::request(&request).into_iter();
        found.map(|problem| problem.field).collect::<Vec<_>>()
    };
    assert_eq!(request(|_| {}), [""; 0]);
    assert_eq!(
        request(|r| r["agents"]["want"] = json!(10_001)),
        ["agents.want"]
    );
    assert_eq!(request(|r| r["agents"]["min"] = json!(0)), ["agents.min"]);
    assert_eq!(request(|r| r["agents"]["min"] = json!(3)), ["agents.min"]);
    assert_eq!(
        request(|r| r["agents"]["wait_us"] = json!(u64::MAX)),
        ["agents.wait_us"]
    );
    assert_eq!(request(|r| r["lead_us"] = json!(u64::MAX)), ["lead_us"]);
    assert_eq!(request(|r| r["seed"] = json!(1_u64 << 53)), ["seed"]);
}
