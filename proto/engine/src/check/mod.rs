//! Checks a plan and a request for a run, and reports all problems at once.
//!
//! The same code runs in the command line, where a plan is made, and in the coordinator, where it
//! is accepted. Must never change what it checks; [`changes`] makes another request out of one.

use std::collections::BTreeSet;

use loadpilot_events::limits;
use loadpilot_events::log::req::RunRequested;
use loadpilot_events::plan::{Header, Plan, PlanSchema, Profile, Shape, Step, Task, Text};
use loadpilot_events::refusal::{Problem, Refusal};

use self::checker::Checker;
pub use self::checker::ENGINE_HEADERS;
pub use self::secrecy::is_secret_name;
use crate::schedule::pace::Pace;

mod body;
pub mod changes;
mod checker;
mod closed_loop;
mod code;
mod connections;
mod hold;
mod inputs;
pub mod pairs;
mod requests;
mod script;
mod secrecy;
mod target;
pub mod target_policy;
mod thresholds;
mod user_types;

/// Maximum wait for agents, in µs: every state of a run has an end.
const WAIT_US_MAX: u64 = 86_400_000_000;

/// Maximum time from the decision to start to the start, in µs.
const LEAD_US_MAX: u64 = 600_000_000;

/// Parses a plan and checks it.
///
/// # Errors
/// All problems of the plan.
pub fn parse_plan(json: &str) -> Result<Plan, Refusal> {
    if json.len() > limits::PLAN_BYTES_MAX {
        let rule = format!("must be at most {} bytes of JSON", limits::PLAN_BYTES_MAX);
        return Err(refusal(vec![Problem::new("plan", rule, json.len())]));
    }
    let parsed = serde_json::from_str::<Plan>(json);
    let plan = parsed.map_err(|error| {
        refusal(vec![Problem::new(
            "plan",
            format!("must be a plan: {error}"),
            "invalid JSON",
        )])
    })?;
    let problems = self::plan(&plan);
    if problems.is_empty() {
        Ok(plan)
    } else {
        Err(refusal(problems))
    }
}

/// All problems of a request for a run; empty when it is sound.
#[must_use]
pub fn request(run: &RunRequested) -> Vec<Problem> {
    let mut problems = plan(&run.plan);
    let mut checker = Checker {
        problems: &mut problems,
    };
    let agents = &run.agents;
    let want_range = 1..=limits::AGENTS_MAX;
    checker.require(
        want_range.contains(&agents.want),
        "agents.want",
        "must be 1 to 10000",
        agents.want,
    );
    hold::request(&mut checker, run);
    closed_loop::agents(&mut checker, &run.plan, agents.want);
    script::agents(&mut checker, &run.plan, agents.want);
    script::rows_beyond_warm_up(&mut checker, &run.plan, run.seed);
    let min_fits = agents.min >= 1 && agents.min <= agents.want;
    checker.require(
        min_fits,
        "agents.min",
        "must be at least 1 and at most agents.want",
        agents.min,
    );
    checker.require(
        agents.wait_us <= WAIT_US_MAX,
        "agents.wait_us",
        "must be at most 24 h",
        format!("{} µs", agents.wait_us),
    );
    checker.require(
        run.lead_us <= LEAD_US_MAX,
        "lead_us",
        "must be at most 10 min",
        format!("{} µs", run.lead_us),
    );
    checker.require(
        run.needs.len() <= limits::NEEDS_MAX,
        "needs",
        "must be at most 20",
        run.needs.len(),
    );
    checker.require(
        run.seed <= limits::SEED_MAX,
        "seed",
        "must be below 2^53",
        run.seed,
    );
    let bytes = run.plan.to_json().len();
    checker.require(
        bytes <= limits::PLAN_BYTES_MAX,
        "plan",
        "must be at most 512 KiB of JSON",
        bytes,
    );
    problems
}

/// Problems that a sound plan has with this seed.
#[must_use]
pub fn with_seed(plan: &Plan, seed: u64) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut checker = Checker {
        problems: &mut problems,
    };
    script::rows_beyond_warm_up(&mut checker, plan, seed);
    problems
}

/// All problems of a plan; empty when it is sound.
#[must_use]
pub fn plan(plan: &Plan) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut checker = Checker {
        problems: &mut problems,
    };
    checker.name("scenario", &plan.scenario);
    let is_known = plan.schema != PlanSchema::V1 || plan.profile.shape.is_of_first_version();
    let rule = "must be loadpilot.plan/2: the first version does not have this shape";
    checker.require(is_known, "schema", rule, "loadpilot.plan/1");
    let is_known = plan.schema != PlanSchema::V1 || plan.user_stages.is_none();
    let rule = "must be loadpilot.plan/2: the first version does not have user_stages";
    checker.require(is_known, "schema", rule, "loadpilot.plan/1");
    let is_known =
        plan.schema != PlanSchema::V1 || plan.rest.is_none_or(|rest| rest.is_of_first_version());
    let rule = "must be loadpilot.plan/2: the first version does not have this think time";
    checker.require(is_known, "schema", rule, "loadpilot.plan/1");
    target::url(&mut checker, "target", &plan.target);
    if profile(&mut checker, &plan.profile) {
        let duration_us = plan.profile.duration_us();
        let planned = Pace::new(&plan.profile).planned();
        checker.require(
            planned > 0 || plan.users.is_some(),
            "profile",
            "must offer at least one arrival",
            planned,
        );
        let rule = format!(
            "must, rounded up to a whole tick, be below the length of the run ({duration_us} µs)"
        );
        let ticks = plan.warm_up_us.div_ceil(plan.tick_us.max(1));
        checker.require(
            ticks.saturating_mul(plan.tick_us) < duration_us,
            "warm_up_us",
            &rule,
            plan.warm_up_us,
        );
    }
    closed_loop::plan(&mut checker, plan);
    user_types::plan(&mut checker, plan);
    pairs::plan(&mut checker, plan);
    hold::plan(&mut checker, plan);
    connections::plan(&mut checker, plan);
    times(&mut checker, plan);
    let fits = plan.max_in_flight != Some(0);
    checker.require(fits, "max_in_flight", "must be at least 1", 0);
    inputs::inputs(&mut checker, plan);
    tasks(&mut checker, plan);
    script::script(&mut checker, plan);
    requests::plan(&mut checker, plan);
    code::code(&mut checker, plan);
    debug_requests(&mut checker, plan);
    body::objects(&mut checker, plan);
    thresholds::thresholds(&mut checker, plan);
    if let Some(name) = &plan.id_header {
        checker.header_name("id_header", name);
    }
    problems
}

fn refusal(problems: Vec<Problem>) -> Refusal {
    Refusal { problems }
}

fn profile(checker: &mut Checker<'_>, profile: &Profile) -> bool {
    let before = checker.problems.len();
    let count = profile.pieces.len();
    let (max, rule) = match profile.shape {
        Shape::Replay => (limits::CURVE_VALUES_MAX, "must be 1 to 950400 pieces"),
        _ => (limits::PIECES_MAX, "must be 1 to 10000 pieces"),
    };
    let fits = (1..=max).contains(&count);
    checker.require(fits, "profile.pieces", rule, count);
    let mut total_us: u64 = 0;
    for (index, piece) in profile.pieces.iter().enumerate() {
        // A curve has very many pieces, and each may break a rule.
        if checker.problems.len() - before > limits::PROBLEMS_MAX {
            break;
        }
        let field = format!("profile.pieces[{index}]");
        let duration = format!("{field}.duration_us");
        checker.require(
            piece.duration_us > 0,
            duration,
            "must be at least 1 µs",
            piece.duration_us,
        );
        for (end, rate) in [("from", piece.from), ("to", piece.to)] {
            let field = format!("{field}.{end}");
            let sound = rate.0 <= limits::RATE_MAX_URPS;
            checker.require(
                sound,
                field,
                "must be at most 10,000,000 per second",
                rate.as_rps(),
            );
        }
        total_us = total_us.saturating_add(piece.duration_us);
    }
    let fits = total_us <= limits::PROFILE_US_MAX;
    checker.require(
        fits,
        "profile",
        "must last at most 11 days",
        format!("{total_us} µs"),
    );
    checker.problems.len() == before
}

fn times(checker: &mut Checker<'_>, plan: &Plan) {
    let max = limits::TIMEOUT_US_MAX;
    let phases = [
        ("timeouts.connect_us", plan.timeouts.connect_us),
        ("timeouts.first_byte_us", plan.timeouts.first_byte_us),
    ];
    for (field, value) in phases {
        let value = value.unwrap_or(1_000);
        checker.require(
            (1_000..=plan.timeout_us.max(1_000)).contains(&value),
            field,
            "must be 1 ms to the time-out of the whole call (timeout_us)",
            format!("{value} µs"),
        );
    }
    let ranged = [
        (
            "timeout_us",
            plan.timeout_us,
            1_000..=max,
            "must be 1 ms to 10 min",
        ),
        (
            "max_wait_us",
            plan.max_wait_us,
            0..=max,
            "must be at most 10 min",
        ),
        (
            "max_lateness_us",
            plan.max_lateness_us,
            1_000..=max,
            "must be 1 ms to 10 min",
        ),
        (
            "tick_us",
            plan.tick_us,
            100_000..=60_000_000,
            "must be 100 ms to 60 s",
        ),
    ];
    checker.require(
        plan.samples_ppm
            .is_none_or(|ppm| (1..=1_000_000).contains(&ppm)),
        "samples_ppm",
        "must be 1 to 1000000 millionths",
        plan.samples_ppm.unwrap_or_default(),
    );
    for (field, value, range, rule) in ranged {
        checker.require(range.contains(&value), field, rule, format!("{value} µs"));
    }
}

fn tasks(checker: &mut Checker<'_>, plan: &Plan) {
    let tasks: &[Task] = &plan.tasks;
    let count = (1..=limits::TASKS_MAX).contains(&tasks.len());
    checker.require(count, "tasks", "must be 1 to 1000 tasks", tasks.len());
    let calls: usize = tasks.iter().map(|task| task.steps.len()).sum();
    checker.require(
        calls <= limits::CALLS_MAX,
        "tasks",
        "must have at most 2000 calls in all",
        calls,
    );
    let weights: u64 = tasks.iter().map(|task| u64::from(task.weight)).sum();
    let sum = weights <= limits::WEIGHT_SUM_MAX;
    checker.require(
        sum,
        "tasks",
        "must have weights that add up to at most 1048576",
        weights,
    );
    let mut names = BTreeSet::new();
    for (index, task) in tasks.iter().enumerate() {
        let field = format!("tasks[{index}]");
        checker.name(&format!("{field}.name"), &task.name);
        let unique = names.insert(&task.name);
        checker.require(
            unique,
            format!("{field}.name"),
            "must be unique in the plan",
            &task.name,
        );
        let weight = task.weight > 0;
        checker.require(
            weight,
            format!("{field}.weight"),
            "must be at least 1",
            task.weight,
        );
        let (range, rule) = match (&plan.script, &plan.code) {
            (None, None) => (1..=limits::STEPS_MAX, "must be 1 to 100 calls"),
            (Some(_), _) => (0..=0, "must be empty: the scenario runs in Python"),
            (None, Some(_)) => (0..=0, "must be empty: the scenario is code"),
        };
        let count = range.contains(&task.steps.len());
        let steps = format!("{field}.steps");
        checker.require(count, steps, rule, task.steps.len());
        for (index, step) in task.steps.iter().enumerate() {
            self::step(
                checker,
                &format!("{field}.steps[{index}]"),
                step,
                plan.timeout_us,
            );
        }
    }
}

fn step(checker: &mut Checker<'_>, field: &str, step: &Step, timeout_us: u64) {
    checker.name(&format!("{field}.name"), &step.name);
    let path = &step.path;
    let sound = path.starts_with('/')
        && !path.starts_with("//")
        && path.len() <= limits::PATH_BYTES_MAX
        && path.bytes().all(|b| b.is_ascii_graphic() && b != b'#');
    const PATH: &str = "must begin with one / and hold only printable ASCII without # (relative \
                        to the target; encode the rest)";
    checker.require(sound, format!("{field}.path"), PATH, path);
    let count = step.headers.len() <= limits::HEADERS_MAX;
    let headers = format!("{field}.headers");
    checker.require(count, headers, "must be at most 64", step.headers.len());
    for (index, header) in step.headers.iter().enumerate() {
        self::header(checker, &format!("{field}.headers[{index}]"), header);
    }
    if let Some(body) = &step.body {
        body::body(checker, &format!("{field}.body"), body);
    }
    if let Some(us) = step.timeout_us {
        let sound = (1_000..=limits::TIMEOUT_US_MAX).contains(&us);
        checker.require(
            sound,
            format!("{field}.timeout_us"),
            "must be 1 ms to 10 min",
            us,
        );
    }
    if let Some(most) = step.tokens_max {
        let sound = step.stream.is_some() && most > 0;
        const RULE: &str = "must be at least 1, of a streamed answer";
        checker.require(sound, format!("{field}.tokens_max"), RULE, most);
    }
    if let Some(us) = step.listen_us {
        let sound = step.stream.is_some() && us < step.timeout_us.unwrap_or(timeout_us) && us > 0;
        const RULE: &str = "must be above 0 and below the call's time-out, of a streamed answer";
        checker.require(sound, format!("{field}.listen_us"), RULE, us);
    }
}

fn header(checker: &mut Checker<'_>, field: &str, header: &Header) {
    checker.header_name(&format!("{field}.name"), &header.name);
    let secret = is_secret_name(&header.name.to_ascii_lowercase());
    let value_field = format!("{field}.value");
    match &header.value {
        Text::Literal(_) if secret => {
            let rule = "must be a secret handle: its value would be stored in the log";
            checker.require(false, value_field, rule, "a literal value");
        }
        Text::Literal(value) => {
            let sound = value.len() <= limits::HEADER_VALUE_BYTES_MAX
                && value
                    .bytes()
                    .all(|b| b == b'\t' || (0x20..0x7f).contains(&b));
            let rule = "must be printable ASCII of at most 16 KiB, without line breaks";
            checker.require(sound, value_field, rule, value.escape_debug());
        }
        Text::Secret { secret } => checker.name(&format!("{field}.value.secret"), secret),
    }
}

fn debug_requests(checker: &mut Checker<'_>, plan: &Plan) {
    let calls = u32::try_from(plan.steps_per_arrival().max(1)).unwrap_or(u32::MAX);
    let most = limits::DEBUG_REQUESTS_MAX / calls;
    let rule = format!("must be at most {most}: an arrival may make {calls} requests");
    let fits = plan.debug_requests <= most;
    checker.require(fits, "debug_requests", &rule, plan.debug_requests);
}
