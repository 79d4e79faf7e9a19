//! What a caller posts over HTTP, to a coordinator or to a gateway: a plan alone, or a request for
//! a run with what belongs to it. Read once, every mistake named by its place. No message may quote
//! a secret or a body.

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

/// Largest body, in bytes: a plan, and the files of a scenario in Python or bodies beside it.
pub const POST_BYTES_MAX: usize = 32 << 20;
/// Longest place and longest rule of a mistake, in characters: both may quote a key.
const QUOTED_CHARS_MAX: usize = 400;
/// What is never quoted, and what it must be.
const CONFIDENTIAL: [(&str, &str); 3] = [
    ("secrets", "must be an object of texts"),
    ("bodies", "must be an object of texts"),
    ("key", "must be a text"),
];

/// What holds where a caller says nothing.
#[derive(Debug, Clone, Copy)]
pub struct RequestDefaults {
    /// Fixes its random choices.
    pub seed: u64,
    /// How many agents.
    pub agents: u32,
    /// How long a run waits for them, in µs.
    pub wait_us: u64,
    /// From the decision to start to the start, in µs.
    pub lead_us: u64,
}

impl RequestDefaults {
    /// On a fleet: one agent, which may take its time to come.
    #[must_use]
    pub fn for_fleet(seed: u64) -> Self {
        Self {
            seed,
            agents: 1,
            wait_us: 60_000_000,
            lead_us: 3_000_000,
        }
    }
}

/// A run that somebody asks for.
pub struct PostedRun {
    /// The request itself, without an owner.
    pub request: RunRequested,
    /// What it is to be called, if the caller knows that already.
    pub run: Option<RunId>,
    /// By the names of their handles.
    pub secrets: BTreeMap<String, String>,
    /// What the plan keeps beside itself, by hash.
    pub bodies: BTreeMap<String, Bytes>,
    /// On whom its teardown is, if it was set up.
    pub claimant: Option<OwnerId>,
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

/// Reads what was posted; `defaults` holds where it says nothing itself.
///
/// # Errors
/// What is wrong with it. The plan is checked where it is asked for, with everything else.
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
        let rule = "must be said of a run that was set up";
        return Err(Problem::new("run", rule, "nothing"));
    }
    let agents = form.agents.as_ref();
    let want = agents.map_or(defaults.agents, |agents| agents.want);
    let request = RunRequested {
        plan: form.plan,
        seed: form.seed.unwrap_or(defaults.seed & limits::SEED_MAX),
        agents: AgentsWanted {
            want,
            min: agents.and_then(|agents| agents.min).unwrap_or(want),
            wait_us: agents
                .and_then(|agents| agents.wait_us)
                .unwrap_or(defaults.wait_us),
        },
        owner: None,
        lead_us: form.lead_us.unwrap_or(defaults.lead_us),
        needs: form.needs,
        no_early_abort: form.no_early_abort,
    };
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

/// Reads anything else that is posted, no key twice and every mistake by its place.
///
/// # Errors
/// What is wrong with it.
pub fn form<T: DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    strict_json::keys(body).map_err(|error| problem("body", &error))?;
    parsed(body)
}

/// Reads bytes that stand at `place` as base64.
///
/// # Errors
/// When they are none, with `shown` in place of the text.
pub fn from_base64(place: &str, text: &str, shown: &str) -> Result<Bytes, Problem> {
    let bytes = STANDARD.decode(text);
    let bytes = bytes.map_err(|_| Problem::new(place, "must be base64", shown))?;
    Ok(Bytes::from(bytes))
}

/// Everything that is wrong with a request and with what was handed over for it.
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
    let rule = "must hold every handle of the plan";
    problems.extend(missing.map(|name| Problem::new("secrets", rule, name)));
    problems.extend(bodies::problems(&request.plan, bodies));
    problems
}

/// Parses `body`, and names the place where it fails.
fn parsed<T: DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    let mut reader = serde_json::Deserializer::from_slice(body);
    serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let place = error.path().to_string();
        match CONFIDENTIAL
            .into_iter()
            .find(|(part, _)| place.starts_with(part))
        {
            Some((part, rule)) => Problem::new(part, rule, "not shown"),
            None => problem(&place, error.inner()),
        }
    })
}

fn problem(place: &str, error: &serde_json::Error) -> Problem {
    let short = |text: &str| text.chars().take(QUOTED_CHARS_MAX).collect::<String>();
    let rule = format!("cannot be read: {}", short(&error.to_string()));
    let at = format!("line {}, column {}", error.line(), error.column());
    Problem::new(short(place), rule, at)
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

    /// Broken if a plan alone is no request, or what is said with it is not heard.
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
        let asked = read(body.as_bytes(), &RequestDefaults::for_fleet(1)).expect("a request");
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
