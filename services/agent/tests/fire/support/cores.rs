//! A run of the load engine in a test: a plan, its cores, and everything that they counted.

use std::collections::BTreeMap;
use std::sync::Arc;

use loadpilot_agent::fire::{
    ConnectionQuota, Core, CoreHold, CoreSetup, Harvest, Lease, MonoTime, Program, Ring,
};
use loadpilot_engine::check::target_policy::TargetPolicy;
use loadpilot_engine::schedule::share::Share;
use loadpilot_engine::schedule::workload::Workload;
use loadpilot_engine::tally::Ledger;
use loadpilot_engine::tally::aggregates::add_counts;
use loadpilot_events::id::{BootId, RunId};
use loadpilot_events::log::delta::{DeltaReported, Gauges, Phase};
use loadpilot_events::log::exchange::ExchangeSeen;
use loadpilot_events::log::hist::{self, Hist};
use loadpilot_events::plan::connections::Connections;
use loadpilot_events::plan::{Arrivals, Method, Piece, Plan, PlanSchema, Profile, Shape};
use loadpilot_events::plan::{PhaseTimeouts, Step, Task};
use loadpilot_events::units::Rate;
use loadpilot_events::{Cause, DropReason, Outcome, Timestamp};

pub(crate) const SHARDS: u32 = 256;
pub(crate) const RUN: &str = "01run";

pub(crate) fn step(path: &str) -> Step {
    Step {
        name: format!("GET {path}"),
        method: Method::Get,
        path: path.to_owned(),
        target: 0,
        headers: Vec::new(),
        body: None,
        timeout_us: None,
        stream: None,
        tokens_max: None,
        listen_us: None,
    }
}

pub(crate) fn task(name: &str, weight: u32, steps: Vec<Step>) -> Task {
    Task {
        name: name.to_owned(),
        weight,
        steps,
    }
}

/// A constant rate for some ms; ticks of 200 ms, time-out 5 s, requests with ids.
pub(crate) fn plan(target: String, rps: u64, duration_ms: u64, tasks: Vec<Task>) -> Plan {
    let rate = Rate::per_second(rps);
    Plan {
        schema: PlanSchema::V1,
        scenario: "Story".to_owned(),
        target,
        profile: Profile {
            shape: Shape::Constant,
            pieces: vec![Piece {
                duration_us: duration_ms * 1_000,
                from: rate,
                to: rate,
            }],
        },
        arrivals: Arrivals::Uniform,
        users: None,
        user_stages: None,
        rest: None,
        session: None,
        types: Vec::new(),
        paired: false,
        hold: Vec::new(),
        tasks,
        warm_up_us: 0,
        timeout_us: 5_000_000,
        timeouts: PhaseTimeouts::default(),
        max_wait_us: 5_000_000,
        max_lateness_us: 5_000_000,
        tick_us: 200_000,
        max_in_flight: None,
        thresholds: Vec::new(),
        id_header: Some("X-Id".to_owned()),
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

/// Cores that share a run evenly.
pub(crate) struct Cores {
    pub(crate) workload: Arc<Workload>,
    pub(crate) cores: Vec<Core>,
    /// The time until which the cores may start anything.
    pub(crate) lease: Lease,
    ledger: Ledger,
    deltas: Vec<DeltaReported>,
}

impl Cores {
    pub(crate) fn new(plan: Plan, cores: u32, max_in_flight: u32) -> Self {
        Self::with_secrets(plan, &BTreeMap::new(), cores, max_in_flight)
    }

    pub(crate) fn with_secrets(
        plan: Plan,
        secrets: &BTreeMap<String, String>,
        cores: u32,
        max_in_flight: u32,
    ) -> Self {
        Self::with_rings(plan, secrets, cores, max_in_flight, |_, _| None)
    }

    /// Cores whose rings for the open tick are made by `ring`.
    pub(crate) fn with_rings(
        plan: Plan,
        secrets: &BTreeMap<String, String>,
        cores: u32,
        max_in_flight: u32,
        ring: impl Fn(&Plan, u32) -> Option<Ring>,
    ) -> Self {
        let run = RunId::parse(RUN).expect("a token");
        let program = Program::compile(&plan, &run, secrets).expect("a sendable plan");
        Self::of(plan, program, cores, max_in_flight, ring)
    }

    /// One core with one arrival at a time, which may connect to the addresses that `policy` opens.
    pub(crate) fn under(plan: Plan, policy: TargetPolicy) -> Self {
        let run = RunId::parse(RUN).expect("a token");
        let (secrets, bodies) = (BTreeMap::new(), BTreeMap::new());
        let program = Program::compile_with(&plan, &run, &secrets, &bodies, policy);
        Self::of(plan, program.expect("a sendable plan"), 1, 1, |_, _| None)
    }

    fn of(
        plan: Plan,
        program: Program,
        cores: u32,
        max_in_flight: u32,
        ring: impl Fn(&Plan, u32) -> Option<Ring>,
    ) -> Self {
        let plan = Arc::new(plan);
        let workload = Arc::new(Workload::new(&plan, 7));
        let run = RunId::parse(RUN).expect("a token");
        let program = Arc::new(program);
        let lease = Lease::unlimited();
        let setup = |core| CoreSetup {
            run: run.clone(),
            plan: Arc::clone(&plan),
            workload: Arc::clone(&workload),
            program: Arc::clone(&program),
            max_in_flight,
            quota: ConnectionQuota::part(&plan.connections, core, cores),
            name: format!("fire-{core}"),
            place: (core, cores),
            ring: ring(&plan, core),
            users_setup: None,
            lease: lease.clone(),
        };
        let cores: Vec<Core> = (0..cores)
            .map(|core| Core::spawn(setup(core)).expect("a thread"))
            .collect();
        let boot = BootId::parse("boot").expect("a token");
        Self {
            workload,
            cores,
            lease,
            ledger: Ledger::new(boot),
            deltas: Vec::new(),
        }
    }

    /// Assigns everything to the cores of this test, from now on.
    pub(crate) fn start(self) -> Self {
        let now = MonoTime::now();
        self.start_at(now)
    }

    pub(crate) fn start_at(self, start: MonoTime) -> Self {
        let all = Share::new(SHARDS, (0..SHARDS).collect());
        let cores = u32::try_from(self.cores.len()).expect("few");
        for (core, share) in self.cores.iter().zip(all.split(cores)) {
            core.hold(vec![hold(1, (0, None), share)], [].into());
            core.start(start, Timestamp(0));
        }
        self
    }

    pub(crate) async fn harvest(&mut self) -> Vec<Harvest> {
        let mut harvests = Vec::new();
        for core in &self.cores {
            let mut harvest = core.harvest().await.expect("a living core");
            let rows = std::mem::take(&mut harvest.rows);
            let closed = self.ledger.close(rows, 0, 0, Gauges::default());
            self.deltas.extend(closed);
            harvests.push(harvest);
        }
        harvests
    }

    /// Waits for the end of all cores and returns everything that they counted.
    pub(crate) async fn finish(&mut self) -> Counted {
        for core in &self.cores {
            core.idle().await;
        }
        for harvest in self.harvest().await {
            assert_eq!((harvest.in_flight, harvest.waiting), (0, 0));
        }
        self.counted()
    }

    pub(crate) fn counted(&self) -> Counted {
        Counted(self.deltas.clone())
    }
}

pub(crate) fn hold(
    generation: u32,
    (from_tick, until_tick): (u32, Option<u32>),
    share: Share,
) -> CoreHold {
    CoreHold {
        generation,
        from_tick,
        until_tick,
        share,
    }
}

/// Everything that was counted.
pub(crate) struct Counted(Vec<DeltaReported>);

impl Counted {
    pub(crate) fn started(&self) -> u64 {
        self.0
            .iter()
            .flat_map(|d| &d.arrivals)
            .map(|row| row.started)
            .sum()
    }

    pub(crate) fn started_of(&self, task: u16) -> u64 {
        let rows = self.0.iter().flat_map(|d| &d.arrivals);
        rows.filter(|row| row.task == task)
            .map(|row| row.started)
            .sum()
    }

    pub(crate) fn dropped(&self, reason: DropReason) -> u64 {
        let rows = self.0.iter().flat_map(|d| &d.arrivals);
        rows.filter_map(|row| row.dropped.get(&reason)).sum()
    }

    pub(crate) fn task_errors(&self) -> u64 {
        self.0
            .iter()
            .flat_map(|d| &d.arrivals)
            .map(|row| row.task_errors)
            .sum()
    }

    pub(crate) fn outcomes(&self) -> BTreeMap<Outcome, u64> {
        let mut outcomes = BTreeMap::new();
        for row in self.0.iter().flat_map(|d| &d.calls) {
            *outcomes.entry(row.outcome).or_default() += row.count;
        }
        outcomes
    }

    pub(crate) fn causes(&self) -> BTreeMap<Cause, u64> {
        let mut causes = BTreeMap::new();
        for row in self.0.iter().flat_map(|d| &d.calls) {
            add_counts(&mut causes, &row.causes);
        }
        causes
    }

    pub(crate) fn exchanges(&self) -> Vec<ExchangeSeen> {
        let all = self.0.iter().flat_map(|d| d.exchanges.iter().cloned());
        let mut all: Vec<_> = all.collect();
        all.sort();
        all
    }

    /// Examples of failed calls.
    pub(crate) fn failures(&self) -> Vec<ExchangeSeen> {
        self.0.iter().flat_map(|d| d.failures.clone()).collect()
    }

    pub(crate) fn calls_of(&self, call: u16) -> u64 {
        let rows = self.0.iter().flat_map(|d| &d.calls);
        rows.filter(|row| row.call == call)
            .map(|row| row.count)
            .sum()
    }

    pub(crate) fn bytes(&self) -> (u64, u64) {
        let rows = self.0.iter().flat_map(|d| &d.calls);
        rows.fold((0, 0), |(sent, received), row| {
            (sent + row.sent_bytes, received + row.received_bytes)
        })
    }

    /// Response and service times of one call.
    pub(crate) fn times(&self, call: u16) -> (Hist, Hist) {
        let (mut response, mut service) = (hist::latency(), hist::latency());
        let rows = self.0.iter().flat_map(|d| &d.calls);
        for row in rows.filter(|row| row.call == call) {
            response += hist::decode(&row.response).expect("a histogram");
            service += hist::decode(&row.service).expect("a histogram");
        }
        (response, service)
    }

    pub(crate) fn phase(&self, call: u16, phase: Phase) -> Hist {
        let mut sum = hist::anatomy();
        let rows = self.0.iter().flat_map(|d| &d.anatomy);
        for row in rows.filter(|row| row.call == call) {
            if let Some(hist) = row.phases.get(&phase) {
                sum += hist::decode(hist).expect("a histogram");
            }
        }
        sum
    }

    /// Number of connections opened, and number of calls that found one open.
    pub(crate) fn connections(&self) -> (u64, u64) {
        let rows = self.0.iter().flat_map(|d| &d.anatomy);
        rows.fold((0, 0), |(opened, reused), row| {
            (
                opened + row.connections_opened,
                reused + row.connections_reused,
            )
        })
    }

    /// Requests that were sent a second time.
    pub(crate) fn resent(&self) -> u64 {
        let rows = self.0.iter().flat_map(|d| &d.anatomy);
        rows.map(|row| row.resent).sum()
    }

    /// Number of redirects followed, and number of calls that ended with one.
    pub(crate) fn redirects(&self) -> (u64, u64) {
        let rows = self.0.iter().flat_map(|d| &d.anatomy);
        rows.fold((0, 0), |(followed, left), row| {
            (followed + row.redirects, left + row.redirects_not_followed)
        })
    }

    /// Number of responses by status.
    pub(crate) fn statuses(&self) -> BTreeMap<u16, u64> {
        let mut statuses = BTreeMap::new();
        for row in self.0.iter().flat_map(|d| &d.calls) {
            add_counts(&mut statuses, &row.status);
        }
        statuses
    }

    /// The ticks in which each generation started something.
    pub(crate) fn ticks(&self) -> Vec<(u32, u32)> {
        let rows = self.0.iter().flat_map(|d| &d.arrivals);
        rows.filter(|row| row.started > 0)
            .map(|row| (row.generation, row.tick))
            .collect()
    }

    pub(crate) fn generations(&self) -> BTreeMap<u32, u64> {
        let mut generations = BTreeMap::new();
        for row in self.0.iter().flat_map(|d| &d.arrivals) {
            *generations.entry(row.generation).or_default() += row.started;
        }
        generations
    }
}
