//! Limits after which a step ends a streamed response itself.

use serde_json::{Value, json};

use crate::check::plan::{good, problems};

/// Broken if the plan check accepts a limit of a response that is no stream, a limit of zero, or a
/// time that is not below the timeout.
#[test]
fn limits_need_a_stream_and_lie_before_the_timeout() {
    let rules = |said: Value| -> Vec<String> {
        let mut plan = good();
        let step = &mut plan["tasks"][0]["steps"][0];
        let said = said.as_object().expect("fields of a step");
        said.iter()
            .for_each(|(name, value)| step[name] = value.clone());
        let problems = problems(plan);
        let fields = problems.into_iter().map(|problem| problem.field);
        fields
            .map(|field| field.replace("tasks[0].steps[0].", ""))
            .collect()
    };
    let nothing: [&str; 0] = [];
    assert_eq!(rules(json!({"tokens_max": 3})), ["tokens_max"]);
    assert_eq!(rules(json!({"listen_us": 1_000})), ["listen_us"]);
    let sound = json!({"stream": "sse", "tokens_max": 1, "listen_us": 29_999_999});
    assert_eq!(rules(sound), nothing);
    let at_once = json!({"stream": "sse", "tokens_max": 0, "listen_us": 0});
    assert_eq!(rules(at_once), ["tokens_max", "listen_us"]);
    let late = json!({"stream": "sse", "listen_us": 30_000_000});
    assert_eq!(rules(late), ["listen_us"]);
    let own = json!({"stream": "sse", "listen_us": 30_000_000, "timeout_us": 30_000_001});
    assert_eq!(rules(own), nothing);
}
