//! What a caller posts: a plan alone, or a request for a run with what belongs to it. Read once,
//! every mistake named by its place. No message may quote a secret or a body.

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use loadpilot_events::assign::AgentsWanted;
use loadpilot_events::plan::Plan;
use loadpilot_events::refusal::Problem;
use loadpilot_events::req::RunRequested;
use loadpilot_events::{Capability, RunId, limits};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::strict;

/// Largest body, in bytes: a plan, and the files of a scenario in Python or bodies beside it.
pub(super) const POST_BYTES_MAX: usize = 32 << 20;
/// How long a run waits for its agents when nothing is said, in µs.
const WAIT_US: u64 = 60_000_000;
/// From the decision to start to the start when nothing is said, in µs.
const LEAD_US: u64 = 3_000_000;
/// Longest place and longest rule of a mistake, in characters: both may quote a key.
const TOLD_CHARS_MAX: usize = 400;
/// What is never quoted.
const CONFIDENTIAL: [&str; 2] = ["secrets", "bodies"];

/// A run that somebody asks for.
pub(super) struct Asked {
    /// The request itself, without an owner.
    pub(super) request: RunRequested,
    /// What it is to be called, if the caller knows that already.
    pub(super) run: Option<RunId>,
    /// By the names of their handles.
    pub(super) secrets: BTreeMap<String, String>,
    /// What the plan keeps beside itself, by hash.
    pub(super) bodies: BTreeMap<String, Bytes>,
}

/// The long form of what is posted.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Form {
    plan: Plan,
    seed: Option<u64>,
    agents: Option<AgentsForm>,
    lead_us: Option<u64>,
    #[serde(default)]
    needs: Vec<Capability>,
    run: Option<RunId>,
    #[serde(default)]
    secrets: BTreeMap<String, String>,
    #[serde(default)]
    bodies: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AgentsForm {
    want: u32,
    min: Option<u32>,
    wait_us: Option<u64>,
}

/// Reads what was posted; `seed` fixes its random choices if it does not say itself.
///
/// # Errors
/// What is wrong with it. The plan is checked where it is asked for, with everything else.
pub(super) fn read(body: &[u8], seed: u64) -> Result<Asked, Problem> {
    let keys = strict::keys(body).map_err(|error| problem("body", &error))?;
    let form = match keys.contains("plan") {
        true => parsed::<Form>(body)?,
        false => Form {
            plan: parsed::<Plan>(body).map_err(|problem| Problem {
                field: format!("plan.{}", problem.field),
                ..problem
            })?,
            seed: None,
            agents: None,
            lead_us: None,
            needs: Vec::new(),
            run: None,
            secrets: BTreeMap::new(),
            bodies: BTreeMap::new(),
        },
    };
    let agents = form.agents.as_ref();
    let want = agents.map_or(1, |agents| agents.want);
    let request = RunRequested {
        plan: form.plan,
        seed: form.seed.unwrap_or(seed & limits::SEED_MAX),
        agents: AgentsWanted {
            want,
            min: agents.and_then(|agents| agents.min).unwrap_or(want),
            wait_us: agents.and_then(|agents| agents.wait_us).unwrap_or(WAIT_US),
        },
        owner: None,
        lead_us: form.lead_us.unwrap_or(LEAD_US),
        needs: form.needs,
    };
    let decoded = |(hash, text): (String, String)| {
        let decoded = STANDARD.decode(text);
        let rule = "must be base64";
        decoded
            .map(|body| (hash.clone(), Bytes::from(body)))
            .map_err(|_| Problem::new("bodies", rule, hash))
    };
    Ok(Asked {
        request,
        run: form.run,
        secrets: form.secrets,
        bodies: form
            .bodies
            .into_iter()
            .map(decoded)
            .collect::<Result<_, _>>()?,
    })
}

/// Parses `body`, and names the place where it fails.
fn parsed<T: DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    let mut reader = serde_json::Deserializer::from_slice(body);
    serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let place = error.path().to_string();
        match CONFIDENTIAL
            .into_iter()
            .find(|part| place.starts_with(part))
        {
            Some(part) => Problem::new(part, "must be an object of texts", "not shown"),
            None => problem(&place, error.inner()),
        }
    })
}

fn problem(place: &str, error: &serde_json::Error) -> Problem {
    let short = |text: &str| text.chars().take(TOLD_CHARS_MAX).collect::<String>();
    let rule = format!("cannot be read: {}", short(&error.to_string()));
    let at = format!("line {}, column {}", error.line(), error.column());
    Problem::new(short(place), rule, at)
}

impl fmt::Debug for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Asked")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: &str = include_str!("../../../../proto/golden/plan.v1.json");

    fn refused(body: &str) -> String {
        read(body.as_bytes(), 1).expect_err(body).to_string()
    }

    /// Broken if a plan alone is no request, or what is said with it is not heard.
    #[test]
    fn a_plan_may_come_alone_or_in_a_request() {
        let alone = read(PLAN.as_bytes(), u64::MAX).expect("a plan");
        assert_eq!(alone.request.seed, limits::SEED_MAX);
        assert_eq!(
            (alone.request.agents.want, alone.request.agents.min),
            (1, 1)
        );
        let body = format!(
            r#"{{"plan":{PLAN},"seed":7,"agents":{{"want":3,"min":2,"wait_us":5}},
                "secrets":{{"API_KEY":"s3cret"}},"bodies":{{"ab":"aGk="}},"needs":["zone=eu"]}}"#
        );
        let asked = read(body.as_bytes(), 1).expect("a request");
        assert_eq!(asked.request.plan, alone.request.plan);
        let agents = &asked.request.agents;
        assert_eq!(
            (asked.request.seed, agents.want, agents.min, agents.wait_us),
            (7, 3, 2, 5)
        );
        assert_eq!(asked.bodies["ab"], Bytes::from("hi"));
        assert_eq!(asked.secrets["API_KEY"], "s3cret");
    }

    /// Broken if somebody has to guess what is wrong, or reads a secret in an error.
    #[test]
    fn a_mistake_is_named_by_its_place_and_no_secret_is_quoted() {
        let wrong = PLAN.replacen("\"warm_up_us\"", "\"warm_up\"", 1);
        assert!(refused(&wrong).starts_with("plan."), "{}", refused(&wrong));
        let places = [
            (r#""seed":-1"#, "seed: "),
            (r#""agents":{"want":"2"}"#, "agents.want: "),
            (r#""needs":["a b"]"#, "needs[0]: "),
            (r#""nonsense":1"#, "nonsense"),
            (r#""run":"A B""#, "run: "),
            (
                r#""secrets":{"a":["s3cret"]}"#,
                "secrets: must be an object of texts",
            ),
            (
                r#""secrets":{"a":736563726574}"#,
                "secrets: must be an object of texts",
            ),
            (r#""bodies":{"ab":"s3cret!"}"#, "bodies: must be base64"),
        ];
        for (part, place) in places {
            let told = refused(&format!(r#"{{"plan":{PLAN},{part}}}"#));
            assert!(told.contains(place), "{part}: {told}");
            assert!(
                !told.contains("s3cret") && !told.contains("736563726574"),
                "{told}"
            );
        }
    }
}
