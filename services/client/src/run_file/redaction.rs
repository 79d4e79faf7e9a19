//! Removes from a run what it reveals about the target and its data: target, addresses, proof of
//! ownership, tags, parameters, request bodies, header values, code, exchanges, notes and the text
//! of errors.
//!
//! Names stay, since reports are about them: those of scenario, tasks, calls, agents and metrics.
//! The hash of the plan stays that of the whole plan, so that runs of one plan can be compared.

use loadpilot_events::plan::connections::Connections;
use loadpilot_events::plan::{Plan, Text, target};
use serde_json::{Value, json};

/// Replacement for the target.
const TARGET: &str = "http://redacted.invalid";
/// Replacement for any other text.
const REDACTED: &str = "redacted";
/// Fields of events with sentences that may quote the target.
const SENTENCES: [&str; 3] = ["reason", "rule", "why"];

/// The redaction of the records of one run.
#[derive(Debug)]
pub(super) struct Redaction {
    /// The targets, their authorities and hosts, which sentences may quote; the longest first.
    hidden: Vec<String>,
}

impl Redaction {
    /// The redaction of the records of a run with this plan.
    pub(super) fn of(plan: &Plan) -> Self {
        let hidden = plan.targets().flat_map(|url| {
            let (origin, _) = target::split(url);
            let authority = origin.split_once("://").map_or(origin, |(_, rest)| rest);
            let port = |(_, port): &(&str, &str)| port.bytes().all(|byte| byte.is_ascii_digit());
            let host = authority.rsplit_once(':').filter(port);
            let host = host.map_or(authority, |(host, _)| host);
            [url, origin, authority, host].map(str::to_owned)
        });
        let mut hidden: Vec<String> = hidden.collect();
        hidden.sort_by_key(|text| std::cmp::Reverse(text.len()));
        Self { hidden }
    }

    /// The redacted record. Content that is not JSON is removed completely; a report does not count
    /// it.
    pub(super) fn record(&self, payload: &[u8]) -> Vec<u8> {
        let record = serde_json::from_slice(payload);
        let mut record = record.unwrap_or_else(|_| json!(REDACTED));
        self.redact(&mut record);
        record.to_string().into_bytes()
    }

    fn redact(&self, value: &mut Value) {
        match value {
            Value::Object(fields) => {
                fields.remove("exchanges");
                fields.remove("failures");
                match fields.get("type").and_then(Value::as_str) {
                    Some("RunAnnotated") => {
                        fields.remove("text");
                    }
                    Some("RunCreated") => {
                        fields.remove("targets");
                        fields.remove("proof");
                    }
                    _ => {}
                }
                for (name, value) in fields {
                    match (name.as_str(), value) {
                        ("plan", plan) => *plan = redacted_plan(plan),
                        ("raised", Value::Array(rows)) => rows.iter_mut().for_each(redact_raised),
                        ("problems", Value::Array(problems)) => {
                            for problem in problems {
                                self.redact_problem(problem);
                            }
                        }
                        (name, Value::String(text)) if SENTENCES.contains(&name) => {
                            self.redact_sentence(text);
                        }
                        (_, value) => self.redact(value),
                    }
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.redact(item)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn redact_problem(&self, problem: &mut Value) {
        match problem.as_object_mut() {
            Some(fields) => {
                fields.insert("value".to_owned(), json!(REDACTED));
                self.redact(problem);
            }
            None => *problem = json!(REDACTED),
        }
    }

    fn redact_sentence(&self, text: &mut String) {
        for hidden in self.hidden.iter().filter(|hidden| !hidden.is_empty()) {
            *text = text.replace(hidden, REDACTED);
        }
    }
}

/// Keeps the type of an error: its message and source lines belong to the user.
fn redact_raised(row: &mut Value) {
    let Value::Object(fields) = row else {
        *row = json!(REDACTED);
        return;
    };
    let text = fields.get("text").and_then(Value::as_str);
    let kind = text.and_then(|text| text.split(':').next());
    let kind = json!(kind.unwrap_or_default());
    fields.insert("text".to_owned(), kind);
    fields.remove("trace");
}

/// Removes a literal; the handle of a secret reveals nothing.
fn redact_text(text: &mut Text) {
    if let Text::Literal(literal) = text {
        REDACTED.clone_into(literal);
    }
}

fn redacted_plan(plan: &Value) -> Value {
    let Ok(mut plan) = serde_json::from_value::<Plan>(plan.clone()) else {
        return json!(REDACTED);
    };
    TARGET.clone_into(&mut plan.target);
    plan.tags.clear();
    plan.connections = Connections::default();
    if plan.paired {
        // Both targets of a comparison must be present.
        plan.connections.other_targets = vec![format!("{TARGET}/second")];
    }
    plan.parameters.values_mut().for_each(redact_text);
    for step in plan.tasks.iter_mut().flat_map(|task| &mut task.steps) {
        step.body = None;
        step.target = 0;
        // A query often contains the scenario's data.
        if let Some((path, _)) = step.path.split_once('?') {
            step.path = path.to_owned();
        }
        let values = step.headers.iter_mut().map(|header| &mut header.value);
        values.for_each(redact_text);
    }
    if let Some(code) = &mut plan.code {
        code.constants.clear();
        code.lines.clear();
        (code.on_start, code.on_stop) = (None, None);
        for own in &mut code.types {
            own.constants.clear();
            own.lines.clear();
            (own.on_start, own.on_stop) = (None, None);
        }
        for task in &mut code.tasks {
            task.body.does.clear();
            if let Some(check) = &mut task.check {
                check.body.does.clear();
            }
        }
    }
    // A plan that was just read has a JSON form.
    serde_json::to_value(plan).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use loadpilot_engine::check;
    use loadpilot_events::Envelope;
    use loadpilot_events::log::ctl::Decision;

    use super::*;

    /// Broken if no reader accepts a redacted plan: its report would be empty.
    #[test]
    fn a_redacted_plan_is_a_plan() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../proto/golden");
        let mut checked = 0;
        for entry in std::fs::read_dir(folder).expect("it is there") {
            let file = entry.expect("it is there").path();
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            if !name.starts_with("plan") {
                continue;
            }
            let text = std::fs::read_to_string(&file).expect("it is readable");
            let plan: Plan = serde_json::from_str(&text).expect("a plan");
            let before = check::plan(&plan);
            let plan = redacted_plan(&serde_json::to_value(&plan).expect("it has a form"));
            let redacted: Plan = serde_json::from_value(plan).expect("still a plan");
            let after = check::plan(&redacted);
            assert!(after.len() <= before.len(), "{name}: {after:?}");
            checked += 1;
        }
        assert!(checked > 10, "{checked} plans");
    }

    /// The redacted record, for a run of a golden plan.
    fn redacted(record: &Value) -> Value {
        let plan = include_str!("../../../../proto/golden/plan.v1.json");
        let plan: Plan = serde_json::from_str(plan).expect("a plan");
        let record = Redaction::of(&plan).record(record.to_string().as_bytes());
        serde_json::from_slice(&record).expect("JSON")
    }

    /// Broken if a file that is passed on contains the hosts that the tenant may load.
    #[test]
    fn a_created_run_names_no_host() {
        let golden = include_str!("../../../../proto/golden/run-created.v1.json");
        let mut record: Value = serde_json::from_str(golden).expect("an event");
        record["event"]["targets"] = json!(["shop.example", "192.0.2.0/24"]);
        record["event"]["proof"] = json!({
            "tenant": "shop",
            "excess": {"type": "users", "requested": 9, "limit": 5},
            "tokens": {"shop.example": "lp-1"},
        });
        let redacted = redacted(&record);
        let text = redacted.to_string();
        assert!(
            !text.contains("shop.example") && !text.contains("192.0.2"),
            "{text}"
        );
        let event: Envelope<Decision> = serde_json::from_value(redacted).expect("an event");
        assert!(matches!(event.event, Decision::RunCreated(_)));
    }

    /// Broken if a forged event ends an export, or is left unchanged in the file.
    #[test]
    fn elements_of_other_types_are_left_out() {
        let forged = json!({"problems": ["far", 1, ["far"]], "raised": ["far", null]});
        let redacted = redacted(&forged);
        let wanted = json!({"problems": vec![REDACTED; 3], "raised": vec![REDACTED; 2]});
        assert_eq!(redacted, wanted);
    }
}
