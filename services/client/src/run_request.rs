//! Reads the body that a caller posts over HTTP to a coordinator or a gateway: a plan alone, or a
//! request for a run with its secrets and bodies.
//!
//! A problem names its field by its path. No message may quote a secret or a body (tested below).

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use loadpilot_engine::check;
use loadpilot_events::log::assign::AgentsWanted;
use loadpilot_events::log::req::RunRequested;
use loadpilot_events::plan::Plan;
use loadpilot_events::refusal::Problem;
use loadpilot_events::{Capability, OwnerId, RunId, limits};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::{bodies, strict_json};

/// Maximum number of bytes of a posted body: a plan with its bodies or the files of its scenario.
pub const POST_BYTES_MAX: usize = 32 << 20;
/// Maximum number of characters of the path and of the rule of a problem: both may quote a key.
const QUOTED_CHARS_MAX: usize = 400;
/// Fields whose values are never quoted, and the rule for each.
const CONFIDENTIAL: [(&str, &str); 3] = [
    ("secrets", "must be an object of texts"),
    ("bodies", "must be an object of texts"),
    ("key", "must be a text"),
];

/// Default values of a request.
#[derive(Debug, Clone, Copy)]
pub struct RequestDefaults {
    /// Seed of its random choices.
    pub seed: u64,
    /// Number of agents.
    pub agents: u32,
    /// Timeout for the agents to offer themselves, in µs.
    pub wait_us: u64,
    /// Time from the decision to start to the start, in µs.
    pub lead_us: u64,
}

impl RequestDefaults {
    /// For a fleet: one agent, a timeout of 60 s, a lead of 3 s.
    #[must_use]
    pub fn for_fleet(seed: u64) -> Self {
        Self {
            seed,
            agents: 1,
            wait_us: 60_000_000,
            lead_us: 3_000_000,
        }
    }

    /// A request for a run of `plan`.
    #[must_use]
    pub fn request(&self, plan: Plan) -> RunRequested {
        RunRequested {
            plan,
            seed: self.seed & limits::SEED_MAX,
            agents: AgentsWanted {
                want: self.agents,
                min: self.agents,
                wait_us: self.wait_us,
            },
            owner: None,
            lead_us: self.lead_us,
            needs: Vec::new(),
            no_early_abort: false,
        }
    }
}

/// A request for a run as it was posted. `Debug` shows no part of it: it contains secrets.
pub struct PostedRun {
    /// The request itself, without an owner.
    pub request: RunRequested,
    /// The run id, if the caller chose one.
    pub run: Option<RunId>,
    /// Values of secrets by the names of their handles.
    pub secrets: BTreeMap<String, String>,
    /// Bodies that the plan names, by their SHA-256.
    pub bodies: BTreeMap<String, Bytes>,
    /// The holder of its teardown, if it was set up.
    pub claimant: Option<OwnerId>,
}

/// The posted JSON when it has a key `plan`; otherwise it is the plan itself.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Form {
    plan: Plan,
    seed: Option<u64>,
    agents: Option<AgentsForm>,
    lead_us: Option<u64>,
    #[serde(default)]
    needs: Vec<Capability>,
    #[serde(default)]
    no_early_abort: bool,
    run: Option<RunId>,
    #[serde(default)]
    secrets: BTreeMap<String, String>,
    #[serde(default)]
    bodies: BTreeMap<String, String>,
    claimant: Option<OwnerId>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AgentsForm {
    want: u32,
    min: Option<u32>,
    wait_us: Option<u64>,
}

/// Reads a posted request; `defaults` fills absent fields.
///
/// # Errors
/// The first problem of its JSON. The plan is not checked here: see [`problems`].
pub fn read(body: &[u8], defaults: &RequestDefaults) -> Result<PostedRun, Problem> {
    let keys = strict_json::keys(body).map_err(|error| problem("body", &error))?;
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
            no_early_abort: false,
            run: None,
            secrets: BTreeMap::new(),
            bodies: BTreeMap::new(),
            claimant: None,
        },
    };
    if form.claimant.is_some() && form.run.is_none() {
        let rule = "must be given with `claimant`: it is the run that was set up";
        return Err(Problem::new("run", rule, "absent"));
    }
    let mut request = defaults.request(form.plan);
    request.seed = form.seed.unwrap_or(request.seed);
    if let Some(AgentsForm { want, min, wait_us }) = form.agents {
        request.agents = AgentsWanted {
            want,
            min: min.unwrap_or(want),
            wait_us: wait_us.unwrap_or(defaults.wait_us),
        };
    }
    request.lead_us = form.lead_us.unwrap_or(request.lead_us);
    request.needs = form.needs;
    request.no_early_abort = form.no_early_abort;
    let decoded = |(hash, text): (String, String)| {
        from_base64("bodies", &text, &hash).map(|body| (hash, body))
    };
    Ok(PostedRun {
        request,
        run: form.run,
        secrets: form.secrets,
        bodies: form
            .bodies
            .into_iter()
            .map(decoded)
            .collect::<Result<_, _>>()?,
        claimant: form.claimant,
    })
}

/// Reads the plan of a posted body; other fields are not read.
///
/// # Errors
/// The first problem of its JSON. The plan is not checked here.
pub fn plan_of(body: &[u8]) -> Result<Plan, Problem> {
    #[derive(Deserialize)]
    struct WithPlan {
        plan: Plan,
    }
    form::<WithPlan>(body).map(|posted| posted.plan)
}

/// Reads any other posted form; rejects a duplicate key.
///
/// # Errors
/// The first problem of its JSON.
pub fn form<T: DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    strict_json::keys(body).map_err(|error| problem("body", &error))?;
    parsed(body)
}

/// Decodes the base64 text of `field`.
///
/// # Errors
/// When it is invalid; the problem shows `shown` instead of the text.
pub fn from_base64(field: &str, text: &str, shown: &str) -> Result<Bytes, Problem> {
    let bytes = STANDARD.decode(text);
    let bytes = bytes.map_err(|_| Problem::new(field, "must be base64", shown))?;
    Ok(Bytes::from(bytes))
}

/// Every problem of a request, its secrets and its bodies.
#[must_use]
pub fn problems(
    request: &RunRequested,
    secrets: &BTreeMap<String, String>,
    bodies: &BTreeMap<String, Bytes>,
) -> Vec<Problem> {
    let mut problems = check::request(request);
    let handles = request.plan.secrets();
    let missing = handles
        .into_iter()
        .filter(|name| !secrets.contains_key(name));
    let rule = "must hold a value for every handle of the plan";
    problems.extend(missing.map(|name| Problem::new("secrets", rule, name)));
    problems.extend(bodies::problems(&request.plan, bodies));
    problems
}

/// Parses `body`; a problem names the path of the field.
fn parsed<T: DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    let mut reader = serde_json::Deserializer::from_slice(body);
    serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let path = error.path().to_string();
        match CONFIDENTIAL
            .into_iter()
            .find(|(field, _)| path.starts_with(field))
        {
            Some((field, rule)) => Problem::new(field, rule, "not shown"),
            None => problem(&path, error.inner()),
        }
    })
}

fn problem(path: &str, error: &serde_json::Error) -> Problem {
    let short = |text: &str| text.chars().take(QUOTED_CHARS_MAX).collect::<String>();
    let rule = format!("cannot be read: {}", short(&error.to_string()));
    let at = format!("line {}, column {}", error.line(), error.column());
    Problem::new(short(path), rule, at)
}

impl fmt::Debug for PostedRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PostedRun")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: &str = include_str!("../../../proto/golden/plan.v1.json");

    fn refused(body: &str) -> String {
        read(body.as_bytes(), &RequestDefaults::for_fleet(1))
            .expect_err(body)
            .to_string()
    }

    /// Broken if a plan alone is rejected, or a field of a request is ignored.
    #[test]
    fn a_plan_may_come_alone_or_in_a_request() {
        let alone = read(PLAN.as_bytes(), &RequestDefaults::for_fleet(u64::MAX)).expect("a plan");
        assert_eq!(alone.request.seed, limits::SEED_MAX);
        assert_eq!(
            (alone.request.agents.want, alone.request.agents.min),
            (1, 1)
        );
        let body = format!(
            r#"{{"plan":{PLAN},"seed":7,"agents":{{"want":3,"min":2,"wait_us":5}},
                "secrets":{{"API_KEY":"s3cret"}},"bodies":{{"ab":"aGk="}},"needs":["zone=eu"]}}"#
        );
        let posted = read(body.as_bytes(), &RequestDefaults::for_fleet(1)).expect("a request");
        assert_eq!(posted.request.plan, alone.request.plan);
        let agents = &posted.request.agents;
        assert_eq!(
            (posted.request.seed, agents.want, agents.min, agents.wait_us),
            (7, 3, 2, 5)
        );
        assert_eq!(posted.bodies["ab"], Bytes::from("hi"));
        assert_eq!(posted.secrets["API_KEY"], "s3cret");
    }

    /// Broken if an error does not name its field, or quotes a secret.
    #[test]
    fn a_problem_names_its_field_and_quotes_no_secret() {
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
            let message = refused(&format!(r#"{{"plan":{PLAN},{part}}}"#));
            assert!(message.contains(place), "{part}: {message}");
            assert!(
                !message.contains("s3cret") && !message.contains("736563726574"),
                "{message}"
            );
        }
    }
}
