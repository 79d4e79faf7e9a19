//! Admission to a shared fleet, in small worlds of tenants: never too many runs at once, fair
//! shares, no starvation, and the same log whichever coordinator decides.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;

use loadpilot_engine::control::admission::admissions::Admissions;
use loadpilot_engine::control::admission::admit::{Waiting, admit, places};
use loadpilot_engine::control::admission::rules::AdmissionRules;
use loadpilot_engine::control::decide::{NotAdmitted, Observations, Policy, deadline, decide};
use loadpilot_engine::control::run_state::{Record as RunRecord, RunState};
use loadpilot_engine::control::tenants::{TenantRules, Tenants};
use loadpilot_events::id::{RunId, TenantId};
use loadpilot_events::log::admission::{
    AdmissionDecision, RunAdmitted, RunQueued, RunReleased, WaitReason,
};
use loadpilot_events::log::ctl::Decision;
use loadpilot_events::log::req::Request;
use loadpilot_events::units::{SECOND_US, Timestamp};
use proptest::prelude::*;

use crate::rules::dice::Dice;
use crate::rules::plans;

const TENANTS: [&str; 3] = ["blue", "green", "red"];
const DAY_US: u64 = 86_400_000_000;

fn tenant(name: &str) -> TenantId {
    TenantId::parse(name).expect("a token")
}

fn run_id(number: usize) -> RunId {
    RunId::parse(&format!("run-{number:04}")).expect("a token")
}

/// One event in a world.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// A tenant requests a run with this number of agents.
    Request(usize, u32),
    /// The n-th of the running runs ends.
    End(usize),
    /// One of two coordinators reads the log up to its end.
    Read(usize),
    /// One of two coordinators decides by what it has read.
    Decide(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (0..TENANTS.len(), 1..5_u32).prop_map(|(who, agents)| Step::Request(who, agents)),
        2 => (0..8_usize).prop_map(Step::End),
        3 => (0..2_usize).prop_map(Step::Read),
        4 => (0..2_usize).prop_map(Step::Decide),
    ]
}

/// Tenants with these rules, on agents that serve at most `max_runs_per_agent` runs at a time.
fn tenants<'a>(
    rules: impl IntoIterator<Item = (&'a str, AdmissionRules)>,
    max_runs_per_agent: Option<u32>,
) -> Tenants {
    let rules = rules.into_iter().map(|(name, admission)| {
        let rules = TenantRules {
            admission,
            ..TenantRules::default()
        };
        (tenant(name), rules)
    });
    Tenants {
        file: "tenants.toml".to_owned(),
        rules: rules.collect(),
        max_runs_per_agent,
        ownership_key: None,
    }
}

/// All tenants without limits, on agents that serve one run at a time.
fn unlimited() -> Tenants {
    tenants(
        TENANTS.map(|name| (name, AdmissionRules::default())),
        Some(1),
    )
}

fn any_tenants(max_runs_per_agent: Option<u32>) -> impl Strategy<Value = Tenants> {
    let one = (prop::option::of(1..4_u32), 1..4_u32, 0..2_i32);
    prop::collection::vec(one, TENANTS.len()).prop_map(move |all| {
        let rules = all
            .into_iter()
            .map(|(max_runs, weight, priority)| AdmissionRules {
                max_runs,
                weight: NonZeroU32::new(weight).expect("positive"),
                priority,
                ..AdmissionRules::default()
            });
        tenants(TENANTS.into_iter().zip(rules), max_runs_per_agent)
    })
}

fn rules<'a>(tenants: &'a Tenants, tenant: &TenantId) -> &'a AdmissionRules {
    &tenants.rules[tenant].admission
}

/// A record of the one log, in order.
#[derive(Debug, Clone)]
enum Record {
    Requested(Waiting),
    Over(RunId),
    Decided(AdmissionDecision),
}

/// The records that a coordinator has read.
#[derive(Debug, Clone, Default)]
struct View {
    read: usize,
    state: Admissions,
    requested: BTreeMap<RunId, Waiting>,
    over: BTreeSet<RunId>,
}

impl View {
    fn read(&mut self, log: &[Record]) {
        for (place, record) in log.iter().enumerate().skip(self.read) {
            match record {
                Record::Requested(run) => {
                    self.requested.insert(run.run.clone(), run.clone());
                }
                Record::Over(run) => {
                    self.over.insert(run.clone());
                }
                Record::Decided(decision) => {
                    let seq = place as u64 + 1;
                    self.state.evolve(seq, Timestamp(seq), decision);
                }
            }
        }
        self.read = log.len();
    }

    fn waiting(&self) -> Vec<Waiting> {
        let waits = |run: &&Waiting| {
            !self.over.contains(&run.run) && !self.state.admitted.contains_key(&run.run)
        };
        self.requested.values().filter(waits).cloned().collect()
    }

    fn decide(&self, tenants: &Tenants, agents: u32) -> Option<AdmissionDecision> {
        let is_open = |run: &RunId| self.requested.contains_key(run) && !self.over.contains(run);
        admit(&self.state, &self.waiting(), is_open, tenants, agents)
    }
}

/// The last sequence of the admission decisions in the log, as its server knows it.
fn last_seq(log: &[Record]) -> u64 {
    let is_decision = |record: &Record| matches!(record, Record::Decided(_));
    log.iter()
        .rposition(is_decision)
        .map_or(0, |at| at as u64 + 1)
}

/// A log and its server. Runs that were admitted and are not over are counted without the fold.
#[derive(Debug, Default)]
struct World {
    log: Vec<Record>,
    runs: usize,
    running: BTreeMap<RunId, RunAdmitted>,
}

impl World {
    fn request(&mut self, who: usize, agents: u32) {
        self.runs += 1;
        self.log.push(Record::Requested(Waiting {
            run: run_id(self.runs),
            tenant: tenant(TENANTS[who]),
            seq: self.log.len() as u64 + 1,
            agents,
        }));
    }

    fn end(&mut self, nth: usize) {
        if let Some(run) = self.running.keys().nth(nth).cloned() {
            self.running.remove(&run);
            self.log.push(Record::Over(run));
        }
    }

    /// Appends a decision if its writer has read the one before it.
    fn append(&mut self, view: &View, decision: AdmissionDecision) -> bool {
        if view.state.last_seq != last_seq(&self.log) {
            return false;
        }
        if let AdmissionDecision::RunAdmitted(run) = &decision {
            let before = self.running.insert(run.run.clone(), run.clone());
            assert_eq!(before, None, "admitted twice");
        }
        self.log.push(Record::Decided(decision));
        true
    }

    fn running(&self, who: &TenantId) -> usize {
        let own = self.running.values();
        own.filter(|run| run.tenant == *who).count()
    }
}

proptest! {
    /// Broken if two coordinators, each behind the log by any distance, together admit one run too
    /// many, use an agent twice, or admit a tenant's runs out of order.
    #[test]
    fn racing_coordinators_never_admit_too_many(
        steps in prop::collection::vec(step(), 1..120),
        tenants in prop::option::of(1..3_u32).prop_flat_map(any_tenants),
        agents in 0..6_u32,
    ) {
        let mut world = World::default();
        let mut views = [View::default(), View::default()];
        let mut admitted: BTreeMap<TenantId, RunId> = BTreeMap::new();
        for step in steps {
            match step {
                Step::Request(who, agents) => world.request(who, agents),
                Step::End(nth) => world.end(nth),
                Step::Read(who) => views[who].read(&world.log),
                Step::Decide(who) => {
                    let Some(decision) = views[who].decide(&tenants, agents) else { continue };
                    let is_stored = world.append(&views[who], decision.clone());
                    let AdmissionDecision::RunAdmitted(run) = decision else { continue };
                    if !is_stored { continue }
                    if let Some(max) = rules(&tenants, &run.tenant).max_runs {
                        prop_assert!(world.running(&run.tenant) <= max as usize);
                    }
                    let used: u32 = world.running.values()
                        .map(|run| run.agents.min(agents).max(1)).sum();
                    if let Some(runs) = tenants.max_runs_per_agent {
                        prop_assert!(world.running.len() == 1 || used <= agents * runs);
                    }
                    let before = admitted.insert(run.tenant.clone(), run.run.clone());
                    prop_assert!(before.is_none_or(|before| before < run.run), "out of order");
                }
            }
        }
        // Both coordinators reach the same state, and then decide the same.
        views.iter_mut().for_each(|view| view.read(&world.log));
        prop_assert_eq!(&views[0].state, &views[1].state);
        prop_assert_eq!(views[0].decide(&tenants, agents), views[1].decide(&tenants, agents));
    }

    /// Broken if small runs keep a large one waiting: a tenant with a long run of its own waits for
    /// the whole fleet, while another one requests a small run whenever one of its own ends.
    #[test]
    fn a_large_run_is_not_starved(small in 1..3_u32, at_once in 1..8_usize, ends in 0..4_usize) {
        let (tenants, agents) = (unlimited(), 8);
        let (mut world, mut view) = (World::default(), View::default());
        world.request(0, 2);
        view.read(&world.log);
        let first = view.decide(&tenants, agents).expect("it fits");
        world.append(&view, first);
        let large = run_id(world.runs + 1);
        world.request(0, 5);
        (0..at_once).for_each(|_| world.request(1, small));
        for round in 0.. {
            prop_assert!(round < 100, "starved");
            view.read(&world.log);
            while let Some(decision) = view.decide(&tenants, agents) {
                prop_assert!(world.append(&view, decision));
                view.read(&world.log);
            }
            if world.running.contains_key(&large) { break }
            // One small run ends and the next one is requested; the long run goes on.
            let own = world.running.iter().enumerate();
            let own: Vec<usize> = own.filter(|(_, (_, run))| run.tenant == tenant(TENANTS[1]))
                .map(|(place, _)| place).collect();
            if let Some(&nth) = own.get(ends % own.len().max(1)) { world.end(nth) }
            world.request(1, small);
        }
    }

    /// Broken if a tenant gets an agent while another one of its priority has a smaller share and
    /// waits: shares stay within one run.
    #[test]
    fn shares_differ_by_one_run_at_most(
        steps in prop::collection::vec(step(), 1..120),
        tenants in any_tenants(Some(1)),
        agents in 1..9_u32,
    ) {
        let (mut world, mut view) = (World::default(), View::default());
        for step in steps {
            match step {
                Step::Request(who, agents) => world.request(who, agents),
                Step::End(nth) => world.end(nth),
                Step::Read(_) | Step::Decide(_) => {}
            }
            view.read(&world.log);
            let Some(decision) = view.decide(&tenants, agents) else { continue };
            let AdmissionDecision::RunAdmitted(run) = &decision else {
                world.append(&view, decision);
                continue;
            };
            let share = |who: &TenantId| {
                let own = world.running.values().filter(|run| run.tenant == *who);
                let used: u32 = own.map(|run| run.agents.min(agents).max(1)).sum();
                f64::from(used) / f64::from(rules(&tenants, who).weight.get())
            };
            for other in view.waiting() {
                let (its, ours) = (rules(&tenants, &other.tenant), rules(&tenants, &run.tenant));
                let running = world.running(&other.tenant);
                let may = its.max_runs.is_none_or(|max| running < max as usize);
                if !may || view.state.reserved.as_ref() == Some(&run.run) { continue }
                prop_assert!(its.priority <= ours.priority, "priority");
                let peers = its.priority == ours.priority;
                prop_assert!(!peers || share(&run.tenant) <= share(&other.tenant), "share");
            }
            world.append(&view, decision);
        }
    }
}

/// Broken if a run's place in the queue, or the reason that it waits, differs from a count by hand.
#[test]
fn places_say_what_a_run_waits_for() {
    let two = AdmissionRules {
        max_runs: Some(2),
        ..AdmissionRules::default()
    };
    let tenants = tenants([("blue", two), ("red", AdmissionRules::default())], Some(1));
    let agents = 3;
    let mut world = World::default();
    let mut view = View::default();
    (0..4).for_each(|_| world.request(0, 1));
    world.request(2, 2);
    view.read(&world.log);
    while let Some(decision) = view.decide(&tenants, agents) {
        world.append(&view, decision);
        view.read(&world.log);
    }
    let places = places(&view.state, &view.waiting(), &tenants, agents);
    let words: Vec<String> = places.values().map(|queued| queued.words()).collect();
    assert_eq!(
        words,
        [
            "waiting: place 1 of 3 of tenant blue; 3 of 3 agents in use",
            "waiting: place 2 of 3 of tenant blue; 3 of 3 agents in use",
            "waiting: place 3 of 3 of tenant blue; 3 of 3 agents in use",
        ],
        "red has the smaller share after the first run of blue"
    );
    world.end(1);
    view.read(&world.log);
    while let Some(decision) = view.decide(&tenants, agents) {
        world.append(&view, decision);
        view.read(&world.log);
    }
    let places = self::places(&view.state, &view.waiting(), &tenants, agents);
    let reasons: Vec<&WaitReason> = places.values().map(|queued| &queued.reason).collect();
    let limit = WaitReason::MaxRuns {
        running: 2,
        max_runs: 2,
    };
    assert_eq!(reasons, [&limit, &limit]);
}

/// Broken if a day lasts longer or shorter than 24 hours, or if a repeated record counts twice.
#[test]
fn a_day_has_24_hours() {
    let mut state = Admissions::default();
    let admitted = |number| {
        AdmissionDecision::RunAdmitted(RunAdmitted {
            run: run_id(number),
            tenant: tenant("blue"),
            agents: 1,
        })
    };
    let released = |number| {
        AdmissionDecision::RunReleased(RunReleased {
            run: run_id(number),
            tenant: tenant("blue"),
        })
    };
    state.evolve(1, Timestamp(1), &admitted(1));
    state.evolve(2, Timestamp(2), &admitted(1));
    state.evolve(3, Timestamp(3), &released(1));
    state.evolve(4, Timestamp(10), &admitted(2));
    let today = |now| state.today(&tenant("blue"), Timestamp(now));
    assert_eq!([today(10), today(DAY_US), today(DAY_US + 1)], [2, 2, 1]);
    assert_eq!([today(DAY_US + 9), today(DAY_US + 10)], [1, 0]);
    assert_eq!(state.running(&tenant("blue")), 1);
    assert_eq!(state.last_seq, 4);
}

/// Broken if a limit lets through what it forbids, forbids what it allows, or is not named.
#[test]
fn a_refusal_names_limit_and_value() {
    let rules = AdmissionRules {
        max_waiting: 3,
        max_runs_per_day: Some(5),
        ..AdmissionRules::default()
    };
    let of = |place, today| -> Vec<String> {
        let problems = rules.exceeded(&tenant("shop"), place, today);
        problems.iter().map(ToString::to_string).collect()
    };
    assert_eq!(of(Some(3), 4), [""; 0]);
    assert_eq!(of(None, 0), [""; 0]);
    assert_eq!(
        of(Some(4), 5),
        [
            "waiting runs: must be at most 3 of tenant shop (got \"4\")",
            "runs in 24 hours: must be at most 5 of tenant shop (got \"6\")",
        ]
    );
}

/// Broken if two coordinators that disagree about the reason for which a run waits write to the log
/// without end, or if a run that moves up learns of it late.
#[test]
fn coordinators_that_disagree_about_a_reason_write_it_rarely() {
    let policy = Policy {
        tenants: Some(unlimited()),
        ..Policy::default()
    };
    let mut request = plans::request(plans::plan(&mut Dice::new(1)), 1, 1, &mut Dice::new(1));
    request.owner = None;
    let request = Request::RunRequested(Box::new(request));
    let mut now = Timestamp(SECOND_US);
    let mut state = RunState::default().evolve(1, now, RunRecord::Request(&request));
    let judged_by = |coordinator: u64, place: u32| {
        let reason = match coordinator % 2 {
            0 => WaitReason::Turn,
            _ => WaitReason::Agents {
                in_use: 1,
                agents: 1,
            },
        };
        let queued = RunQueued {
            tenant: tenant("blue"),
            place,
            waiting: 2,
            reason,
        };
        let not_admitted = NotAdmitted {
            queued,
            today: 0,
            must_wait: true,
        };
        Observations {
            tenant: Some(tenant("blue")),
            not_admitted: Some(not_admitted),
            ..Observations::default()
        }
    };
    let mut written = Vec::new();
    for step in 0..1_200 {
        let place = if step < 600 { 2 } else { 1 };
        let observed = judged_by(step, place);
        if let Some(decision) = decide(&state, &observed, &policy, now) {
            assert!(matches!(decision, Decision::RunQueued(_)), "{decision:?}");
            written.push(step);
            state = state.evolve(2 + step, now, RunRecord::Decision(&decision));
        } else if step % 2 != written[written.len() - 1] % 2 {
            let due = deadline(&state, &observed, &policy, now).expect("the reason is another");
            assert!(due > now);
        }
        now = now.plus_us(SECOND_US / 10);
    }
    assert!(
        written.contains(&0) && written.contains(&600),
        "{written:?}"
    );
    assert!((4..=8).contains(&written.len()), "{written:?}");
}
