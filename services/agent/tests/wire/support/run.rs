//! A run of one core against a server, and its counts, call by call.
//!
//! The check of a run does not depend on the target: each call ends exactly once, and all counts
//! add up.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{fs, thread};

use loadpilot_agent::fire::{ConnectionQuota, Core, CoreHold, CoreSetup, Lease, MonoTime, Program};
use loadpilot_agent::fire::{RING_BYTES_DEFAULT, Ring, RingOwner, RingSettings};
use loadpilot_engine::schedule::share::Share;
use loadpilot_engine::schedule::workload::Workload;
use loadpilot_engine::tally::Ledger;
use loadpilot_events::id::{AgentId, BootId, Holder, RunId};
use loadpilot_events::log::delta::{DeltaReported, Gauges};
use loadpilot_events::log::hist::{self, Hist};
use loadpilot_events::plan::connections::Connections;
use loadpilot_events::plan::{Arrivals, Body, Method, Piece, Plan, PlanSchema, Profile, Shape};
use loadpilot_events::plan::{PhaseTimeouts, Step, Task};
use loadpilot_events::units::Rate;
use loadpilot_events::{DropReason, Outcome, Timestamp};

use tempfile::TempDir;

use crate::support::server::Server;

/// Time-out of a call that should end before it.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(5);

/// Maximum time of a run; an engine that hangs must not make the tests hang.
const RUN_MAX: Duration = Duration::from_secs(20);

/// Name of the threads of cores in the system.
pub(crate) const CORE_NAME: &str = "wire-core";

const SHARDS: u32 = 256;
const ARRIVALS_PER_S: u64 = 10_000;

/// One call of a task.
#[derive(Debug, Clone)]
pub(crate) struct Ask {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) body_bytes: usize,
    pub(crate) timeout: Duration,
}

impl Ask {
    pub(crate) fn get(path: &str) -> Self {
        Self {
            method: Method::Get,
            path: path.to_owned(),
            body_bytes: 0,
            timeout: TIMEOUT,
        }
    }

    pub(crate) fn post(path: &str, body_bytes: usize) -> Self {
        Self {
            method: Method::Post,
            body_bytes,
            ..Self::get(path)
        }
    }

    pub(crate) fn within(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    fn step(&self) -> Step {
        Step {
            name: self.path.clone(),
            method: self.method,
            path: self.path.clone(),
            target: 0,
            headers: Vec::new(),
            body: (self.body_bytes > 0).then(|| Body::Text("x".repeat(self.body_bytes))),
            timeout_us: Some(u64::try_from(self.timeout.as_micros()).expect("seconds")),
            stream: None,
            tokens_max: None,
            listen_us: None,
        }
    }
}

/// The counts of one call of the plan.
#[derive(Debug)]
pub(crate) struct CallCount {
    pub(crate) outcomes: BTreeMap<Outcome, u64>,
    pub(crate) statuses: BTreeMap<u16, u64>,
    pub(crate) sent_bytes: u64,
    pub(crate) received_bytes: u64,
    pub(crate) opened: u64,
    pub(crate) reused: u64,
    pub(crate) service: Hist,
}

impl CallCount {
    fn new() -> Self {
        Self {
            outcomes: BTreeMap::new(),
            statuses: BTreeMap::new(),
            sent_bytes: 0,
            received_bytes: 0,
            opened: 0,
            reused: 0,
            service: hist::latency(),
        }
    }

    /// The outcome of a call that was made once.
    pub(crate) fn outcome(&self) -> Outcome {
        assert_eq!(
            self.ended(),
            1,
            "one call has one outcome: {:?}",
            self.outcomes
        );
        *self.outcomes.keys().next().expect("one")
    }

    fn ended(&self) -> u64 {
        self.outcomes.values().sum()
    }
}

/// Runs each of `tasks` once.
pub(crate) fn run_each(server: &Server, tasks: &[Vec<Ask>]) -> Vec<CallCount> {
    run_each_until(server, tasks, || {})
}

/// Runs each of `tasks` once; `at_rest` is called when the last call has ended, before the counts
/// are taken from the core.
pub(crate) fn run_each_until(
    server: &Server,
    tasks: &[Vec<Ask>],
    at_rest: impl FnOnce(),
) -> Vec<CallCount> {
    let arrivals = tasks.len() as u64;
    let max_in_flight = u32::try_from(arrivals).expect("few");
    run(server, tasks, arrivals, max_in_flight, at_rest)
}

/// Runs one task again and again, one arrival at a time.
pub(crate) fn run_in_turn(server: &Server, task: &[Ask], arrivals: u64) -> Vec<CallCount> {
    run_in_turn_until(server, task, arrivals, || {})
}

/// As [`run_in_turn`]; `at_rest` is called as by [`run_each_until`].
pub(crate) fn run_in_turn_until(
    server: &Server,
    task: &[Ask],
    arrivals: u64,
    at_rest: impl FnOnce(),
) -> Vec<CallCount> {
    run(server, &[task.to_vec()], arrivals, 1, at_rest)
}

/// Waits until the cores of earlier runs are gone, and with them their memory.
pub(crate) fn wait_for_earlier_cores() {
    let begin = Instant::now();
    while has_a_core() {
        assert!(begin.elapsed() < RUN_MAX, "a core outlives its handle");
        thread::yield_now();
    }
}

fn has_a_core() -> bool {
    let threads = fs::read_dir("/proc/self/task").expect("Linux lists threads");
    threads.flatten().any(|thread| {
        // A thread that has just ended has no name any more.
        let name = fs::read_to_string(thread.path().join("comm")).unwrap_or_default();
        name.trim_end() == CORE_NAME
    })
}

/// The counts of all calls, in the order of the tasks' steps.
fn run(
    server: &Server,
    tasks: &[Vec<Ask>],
    arrivals: u64,
    max_in_flight: u32,
    at_rest: impl FnOnce(),
) -> Vec<CallCount> {
    let plan = Arc::new(plan(server.url(), tasks, arrivals));
    let workload = Arc::new(Workload::new(&plan, 7));
    assert_eq!(workload.planned(), arrivals);
    let run = RunId::parse("01run").expect("a token");
    let program = Program::compile(&plan, &run, &BTreeMap::new()).expect("a sendable plan");
    let state = TempDir::new().expect("a folder");
    let owner = RingOwner {
        run: run.clone(),
        holder: Holder {
            agent: AgentId::parse("agent-1").expect("a token"),
            boot_id: BootId::parse("boot").expect("a token"),
        },
        core: 0,
    };
    let place = RingSettings {
        folder: state.path().to_owned(),
        bytes_max: RING_BYTES_DEFAULT,
    };
    let ring = Ring::create(&place, &owner, &plan, max_in_flight).expect("room");
    let core = Core::spawn(CoreSetup {
        run,
        plan,
        workload,
        program: Arc::new(program),
        max_in_flight,
        quota: ConnectionQuota::default(),
        name: CORE_NAME.to_owned(),
        place: (0, 1),
        ring: Some(ring),
        users_setup: None,
        lease: Lease::unlimited(),
    });
    let core = core.expect("a thread");
    core.hold(
        vec![CoreHold {
            generation: 1,
            from_tick: 0,
            until_tick: None,
            share: Share::new(SHARDS, (0..SHARDS).collect()),
        }],
        [].into(),
    );
    core.start(MonoTime::now(), Timestamp(0));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build();
    let runtime = runtime.expect("a runtime");
    let harvest = runtime.block_on(async {
        let idle = tokio::time::timeout(RUN_MAX, core.idle()).await;
        idle.expect("the core comes to rest: no call may outlive its time-out");
        at_rest();
        core.harvest()
            .await
            .expect("a living core: nothing may panic")
    });
    assert_eq!((harvest.in_flight, harvest.waiting), (0, 0));
    let mut ledger = Ledger::new(BootId::parse("boot").expect("a token"));
    let deltas = ledger.close(harvest.rows, 0, 0, Gauges::default());
    let calls = tasks.iter().map(Vec::len).sum();
    let counts = count(&deltas, calls);
    check(&deltas, &counts, tasks, arrivals);
    counts
}

fn plan(target: String, tasks: &[Vec<Ask>], arrivals: u64) -> Plan {
    const LONG_US: u64 = 60_000_000;
    let rate = Rate::per_second(ARRIVALS_PER_S);
    let tasks = tasks.iter().enumerate().map(|(number, asks)| Task {
        name: format!("task {number}"),
        weight: 1,
        steps: asks.iter().map(Ask::step).collect(),
    });
    Plan {
        schema: PlanSchema::V1,
        scenario: "Wire".to_owned(),
        target,
        profile: Profile {
            shape: Shape::Constant,
            pieces: vec![Piece {
                duration_us: arrivals * 1_000_000 / ARRIVALS_PER_S,
                from: rate,
                to: rate,
            }],
        },
        arrivals: Arrivals::Uniform,
        tasks: tasks.collect(),
        warm_up_us: 0,
        timeout_us: LONG_US,
        timeouts: PhaseTimeouts::default(),
        max_wait_us: LONG_US,
        max_lateness_us: LONG_US,
        tick_us: 1_000_000,
        max_in_flight: None,
        thresholds: Vec::new(),
        id_header: Some("X-Id".to_owned()),
        users: None,
        user_stages: None,
        rest: None,
        session: None,
        types: Vec::new(),
        paired: false,
        hold: Vec::new(),
        debug_requests: 0,
        connections: Connections::default(),
        samples_ppm: None,
        script: None,
        code: None,
        requests: None,
        parameters: BTreeMap::new(),
        tags: BTreeMap::new(),
    }
}

fn count(deltas: &[DeltaReported], calls: usize) -> Vec<CallCount> {
    let mut counts: Vec<CallCount> = (0..calls).map(|_| CallCount::new()).collect();
    for row in deltas.iter().flat_map(|delta| &delta.calls) {
        let sum = &mut counts[usize::from(row.call)];
        *sum.outcomes.entry(row.outcome).or_default() += row.count;
        for (status, times) in &row.status {
            *sum.statuses.entry(*status).or_default() += times;
        }
        sum.sent_bytes += row.sent_bytes;
        sum.received_bytes += row.received_bytes;
        sum.service += hist::decode(&row.service).expect("a histogram");
    }
    for row in deltas.iter().flat_map(|delta| &delta.anatomy) {
        let sum = &mut counts[usize::from(row.call)];
        sum.opened += row.connections_opened;
        sum.reused += row.connections_reused;
    }
    counts
}

/// Laws of every run that is not stopped.
fn check(deltas: &[DeltaReported], counts: &[CallCount], tasks: &[Vec<Ask>], arrivals: u64) {
    let rows = || deltas.iter().flat_map(|delta| &delta.arrivals);
    assert_eq!(rows().map(|row| row.started).sum::<u64>(), arrivals);
    let dropped: BTreeMap<DropReason, u64> = rows().flat_map(|row| row.dropped.clone()).collect();
    assert_eq!(dropped, BTreeMap::new());
    let each = arrivals / tasks.len() as u64;
    for sum in counts {
        assert_eq!(sum.ended(), each, "each call ends exactly once: {sum:?}");
        assert_eq!(sum.service.len(), each, "and is timed once");
        let answered = [Outcome::Ok, Outcome::Http4xx, Outcome::Http5xx];
        let answered = answered
            .iter()
            .filter_map(|outcome| sum.outcomes.get(outcome));
        let statuses: u64 = sum.statuses.values().sum();
        assert_eq!(
            statuses,
            answered.sum::<u64>(),
            "a status is an answer: {sum:?}"
        );
        assert!(
            sum.opened + sum.reused <= each,
            "one connection each: {sum:?}"
        );
    }
    let totals = &deltas.last().expect("at least one delta").totals;
    assert_eq!(totals.started, arrivals);
    let ended: u64 = counts.iter().map(CallCount::ended).sum();
    assert_eq!(totals.calls.values().sum::<u64>(), ended);
}
