//! The world of one run: time, processes and their faults, all from one random seed.

use loadpilot_engine::check::target_policy::TargetPolicy;
use loadpilot_engine::control::assign::shard_count;
use loadpilot_engine::control::decide::Policy;
use loadpilot_engine::schedule::workload::Workload;
use loadpilot_events::Envelope;
use loadpilot_events::id::{Holder, OwnerId};
use loadpilot_events::log::ctl::Decision;
use loadpilot_events::log::evt::{Fact, What};
use loadpilot_events::log::req::{Request, RunRequested, StopRequested};
use loadpilot_events::plan::Plan;
use loadpilot_events::units::Timestamp;
use loadpilot_events::wire::subject::Kind;

use crate::agent::Agent;
use crate::coordinator::Coordinator;
use crate::log::{Log, Write};
use crate::process::Process;
use crate::rules::dice::Dice;
use crate::rules::{plans, steering};
use crate::steer;

/// One step of time, in µs.
const STEP_US: u64 = 50_000;

/// Time of the last fault, in µs: after it the run must end.
const TROUBLE_US: u64 = 25_000_000;

/// Maximum time to the end of the run, in µs.
const END_BY_US: u64 = 120_000_000;

/// Maximum number of kills of an agent in a world without other faults, so that each tail is
/// reported in time.
const KILLS_MAX: u64 = 2;

/// Plan and schedule of the run, which all agents share.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) plan: Plan,
    pub(crate) workload: std::sync::Arc<Workload>,
    /// When each arrival is due, in µs after the start.
    pub(crate) dues_us: Vec<u64>,
    pub(crate) shards: u32,
    /// Whether calls are counted in this world, not only arrivals.
    pub(crate) counts_calls: bool,
}

/// A request that was really sent.
#[derive(Debug)]
pub(crate) struct Sent {
    pub(crate) n: u64,
    pub(crate) tick: u32,
    pub(crate) generation: u32,
    pub(crate) holder: Holder,
    /// When it was sent.
    pub(crate) at: Timestamp,
    /// Whether it was sent by a thread that woke before the one that fences.
    pub(crate) thawed: bool,
}

/// The kind of a world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Weather {
    /// Nothing breaks.
    Fair,
    /// Agents are killed and soon started again, and nothing else breaks.
    Kills,
    /// Anything breaks.
    Foul,
}

/// The faults of a world; each figure is a probability in percent.
#[derive(Debug, Clone, Default)]
pub(crate) struct Faults {
    /// A message or its answer is lost or late.
    pub(crate) lose_pct: u64,
    /// Once a second: a coordinator falls asleep or dies.
    pub(crate) coordinator_pct: u64,
    /// Once a second: an agent dies, freezes, is cut off in one way or both, or leaves.
    agent_pct: u64,
    /// Once a second: an agent leaves, and another one stays.
    pub(crate) leave_pct: u64,
    /// An agent is absent at the beginning.
    late_pct: u64,
    /// The files of a killed agent are lost with it.
    files_pct: u64,
    /// Once a second: the server dies, or the stream has no leader for a while.
    server_pct: u64,
    /// Whether there are three servers.
    replicated: bool,
    /// Once a second: a request to stop.
    stop_pct: u64,
    /// Once a second: a request for another rate, a pause or its end.
    steer_pct: u64,
    /// Once a second: the owner is gone for good.
    owner_pct: u64,
}

/// A run and everything around it.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) seed: u64,
    pub(crate) log: Log,
    pub(crate) run: Run,
    pub(crate) policy: Policy,
    pub(crate) weather: Weather,
    pub(crate) faults: Faults,
    /// Every request that was really sent.
    pub(crate) sent: Vec<Sent>,
    dice: Dice,
    begin: Timestamp,
    pub(crate) now: Timestamp,
    coordinators: Vec<Coordinator>,
    pub(crate) agents: Vec<Agent>,
    owner: Option<OwnerId>,
    owner_gone: bool,
}

impl World {
    /// Plays a run to its end.
    pub(crate) fn played(seed: u64) -> Self {
        let mut world = Self::new(seed);
        while !world.log.is_over() {
            let age_us = world.now.since_us(world.begin);
            assert!(age_us < END_BY_US, "no end: {:?}", world.log.decided.last());
            world.step(age_us < TROUBLE_US);
        }
        // Writes that are still on their way arrive after the seal.
        for _ in 0..40 {
            world.step(false);
        }
        world
    }

    fn new(seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        let begin = Timestamp(1_800_000_000_000_000);
        let count = dice.pick(1..6);
        // In some worlds the run waits in vain for one more agent, while agents come and go.
        let in_vain = seed % 7 == 3 && weather(seed) == Weather::Foul;
        let want = match in_vain {
            true => count as u32 + 1,
            false => dice.pick(1..count + 1) as u32,
        };
        let plan = plans::some(&mut dice, seed);
        let mut request = plans::request(plan, want, 1, &mut dice);
        request.agents.wait_us += 2_000_000;
        // Long enough that agents learn of the start before it, unless something breaks.
        request.lead_us += 500_000;
        request.owner = dice
            .chance(30)
            .then(|| OwnerId::parse("owner").expect("a token"));
        let workload = std::sync::Arc::new(Workload::new(&request.plan, request.seed));
        let run = Run {
            plan: request.plan.clone(),
            dues_us: steer::dues_us(&workload),
            workload,
            shards: shard_count(want, None),
            counts_calls: seed.is_multiple_of(8),
        };
        let weather = weather(seed);
        let ahead_us = if weather == Weather::Foul {
            200_000
        } else {
            20_000
        };
        let coordinators = (0..dice.pick(1..4))
            .map(|_| dice.pick(0..ahead_us))
            .collect::<Vec<_>>();
        let mut log = Log::new();
        let owner = request.owner.clone();
        let faults = faults(weather, &mut dice);
        let agents = (0..count).map(|number| agent(number, begin, &mut dice));
        let mut agents: Vec<Agent> = agents.collect();
        for agent in &mut agents {
            // Some agents come while the run goes on.
            let late_us = dice
                .chance(faults.late_pct)
                .then(|| dice.pick(0..20_000_000));
            agent.dead_until = late_us.map(|us| begin.plus_us(us));
        }
        let request = Request::RunRequested(Box::new(request));
        log.store(Write::request(begin, &request), begin);
        Self {
            seed,
            log,
            run,
            policy: policy(),
            weather,
            faults,
            sent: Vec::new(),
            dice,
            begin,
            now: begin,
            coordinators: coordinators
                .iter()
                .map(|us| Coordinator::new(*us, begin))
                .collect(),
            agents,
            owner,
            owner_gone: false,
        }
    }

    /// A world without faults, with `count` agents, one coordinator and a requested run.
    pub(crate) fn crowd(seed: u64, count: u64, request: RunRequested) -> Self {
        let mut dice = Dice::new(seed);
        let begin = Timestamp(1_800_000_000_000_000);
        let workload = std::sync::Arc::new(Workload::new(&request.plan, request.seed));
        let run = Run {
            plan: request.plan.clone(),
            dues_us: steer::dues_us(&workload),
            workload,
            shards: shard_count(request.agents.want, None),
            counts_calls: false,
        };
        let agents = (0..count).map(|number| agent(number, begin, &mut dice));
        let agents = agents.collect();
        let mut log = Log::new();
        let request = Request::RunRequested(Box::new(request));
        log.store(Write::request(begin, &request), begin);
        Self {
            seed,
            log,
            run,
            policy: policy(),
            weather: Weather::Kills,
            faults: Faults::default(),
            sent: Vec::new(),
            dice,
            begin,
            now: begin,
            coordinators: vec![Coordinator::new(0, begin)],
            agents,
            owner: None,
            owner_gone: false,
        }
    }

    /// Plays on until `done`.
    pub(crate) fn play_until(&mut self, done: impl Fn(&Self) -> bool) {
        while !done(self) {
            let age_us = self.now.since_us(self.begin);
            assert!(
                age_us < END_BY_US,
                "no end: {} decisions",
                self.log.decided.len()
            );
            self.step(false);
        }
    }

    /// The processes that exist at the end.
    pub(crate) fn processes(&self) -> impl Iterator<Item = &Process> {
        self.agents.iter().map(|agent| &agent.process)
    }

    /// The facts of agents, up to the last one that the seal counts.
    pub(crate) fn facts_that_count(&self) -> Vec<(Holder, What)> {
        let seal = self
            .log
            .decided
            .iter()
            .find_map(|stored| match &stored.decision {
                Decision::RunSealed(seal) => Some(seal.evt_seq as usize),
                _ => None,
            });
        let records = self.log.ctl.iter().take(seal.unwrap_or(usize::MAX));
        let facts = records.filter_map(|record| match &record.kind {
            Kind::Evt(agent) => {
                let fact: Envelope<Fact> =
                    serde_json::from_slice(&record.payload).expect("our own fact");
                let (agent, boot_id) = (agent.clone(), fact.event.boot_id);
                Some((Holder { agent, boot_id }, fact.event.what))
            }
            _ => None,
        });
        facts.collect()
    }

    fn step(&mut self, trouble: bool) {
        self.now = self.now.plus_us(STEP_US);
        if trouble && self.now.since_us(self.begin).is_multiple_of(1_000_000) {
            self.befall();
        }
        let (now, dice) = (self.now, &mut self.dice);
        let faults = if trouble {
            self.faults.clone()
        } else {
            Faults::default()
        };
        let world = (&self.run, &self.policy, &faults);
        self.log.settle(now);
        let up = now >= self.log.down_until;
        if let Some(owner) = self.owner.as_ref().filter(|_| !self.owner_gone) {
            let awake = self
                .coordinators
                .iter_mut()
                .filter(|c| up && c.is_awake(now));
            awake.for_each(|coordinator| coordinator.hear_owner(owner, now));
        }
        for agent in &mut self.agents {
            let moment = (now, &mut *dice);
            agent.act(
                world,
                &mut self.coordinators,
                &mut self.log,
                &mut self.sent,
                moment,
            );
        }
        for coordinator in &mut self.coordinators {
            let log = &mut self.log;
            let Some(news) = coordinator.act(log, &self.policy, &faults, now, dice) else {
                continue;
            };
            for agent in &mut self.agents {
                if !dice.chance(faults.lose_pct) {
                    agent.receive(&news, now);
                }
            }
        }
    }

    /// Applies the random faults of one second.
    fn befall(&mut self) {
        let (now, dice, faults) = (self.now, &mut self.dice, &self.faults);
        if dice.chance(faults.leave_pct) {
            // At least one other agent stays.
            let stays = |agent: &&mut Agent| agent.process.leaves_by.is_none();
            let mut staying: Vec<&mut Agent> = self.agents.iter_mut().filter(stays).collect();
            if let [leaver, _, ..] = &mut staying[..] {
                leaver.process.leave(now);
            }
        }
        for coordinator in &mut self.coordinators {
            if dice.chance(faults.coordinator_pct) {
                coordinator.asleep_until = now.plus_us(dice.pick(0..5_000_000));
                coordinator.remembers = dice.chance(50);
            }
        }
        for agent in &mut self.agents {
            if !dice.chance(faults.agent_pct) {
                continue;
            }
            if self.weather == Weather::Kills {
                // The agent restarts before it could be called lost, a limited number of times.
                if !agent.runs(now) || agent.boots == KILLS_MAX {
                    continue;
                }
                let back = now.plus_us(dice.pick(100_000..1_400_000));
                agent.kill(now, back, false);
                continue;
            }
            let until = now.plus_us(dice.pick(100_000..4_000_000));
            match dice.pick(0..9) {
                0 | 1 => agent.kill(now, until, dice.chance(faults.files_pct)),
                2 | 3 => agent.freeze(until),
                4 | 5 => (agent.mute_until, agent.deaf_until) = (until, until),
                6 => agent.mute_until = until,
                7 => agent.deaf_until = until,
                _ => agent.process.leave(now),
            }
        }
        if dice.chance(faults.server_pct) {
            // The world runs five times as fast as a fleet: this is 4 to 9 s without a leader.
            match faults.replicated {
                true => self.log.no_leader_until = now.plus_us(dice.pick(800_000..1_800_000)),
                false => self.log.down_until = now.plus_us(dice.pick(200_000..2_500_000)),
            }
        }
        if dice.chance(faults.stop_pct) {
            let by = "a user".to_owned();
            let stop = Request::StopRequested(StopRequested { by, breach: None });
            self.log.store(Write::request(now, &stop), now);
        }
        if dice.chance(faults.steer_pct) {
            let request = steering::request(dice);
            self.log.store(Write::request(now, &request), now);
        }
        self.owner_gone |= dice.chance(faults.owner_pct);
    }
}

/// The times of a fleet, five times as fast; only their order matters.
fn policy() -> Policy {
    Policy {
        tenants: None,
        lost_us: 2_000_000,
        fence_us: 1_400_000,
        behind_us: 400_000,
        takeover_us: 300_000,
        owner_us: 2_000_000,
        ready_us: 3_000_000,
        finish_us: 3_000_000,
        no_holder_us: 6_000_000,
        compiled_only: false,
        targets: TargetPolicy::local(),
    }
}

/// In one of five worlds nothing breaks; in some of these, users steer. In another one of five,
/// agents are killed and nothing else breaks.
fn weather(seed: u64) -> Weather {
    match seed % 5 {
        0 => Weather::Fair,
        1 => Weather::Kills,
        _ => Weather::Foul,
    }
}

/// An agent whose wall clock is off by up to 300 s, and whose estimate of the coordinators' clock
/// is off by up to 20 ms.
fn agent(number: u64, begin: Timestamp, dice: &mut Dice) -> Agent {
    let within = |us: i64, dice: &mut Dice| dice.pick(0..2 * us.unsigned_abs() + 1) as i64 - us;
    let (astray_us, wall_us) = (within(20_000, dice), within(300_000_000, dice));
    Agent::new(number, begin, astray_us, wall_us)
}

fn faults(weather: Weather, dice: &mut Dice) -> Faults {
    match weather {
        Weather::Fair => {
            return Faults {
                steer_pct: dice.one_of(&[0, 60]),
                leave_pct: dice.one_of(&[0, 30]),
                ..Faults::default()
            };
        }
        Weather::Kills => {
            return Faults {
                agent_pct: 15,
                leave_pct: dice.one_of(&[0, 15]),
                ..Faults::default()
            };
        }
        Weather::Foul => {}
    }
    Faults {
        lose_pct: dice.one_of(&[0, 5, 30]),
        coordinator_pct: dice.one_of(&[0, 10, 40]),
        agent_pct: dice.one_of(&[0, 5, 15]),
        leave_pct: 0,
        late_pct: dice.one_of(&[0, 30, 70]),
        files_pct: dice.one_of(&[0, 0, 30]),
        server_pct: dice.one_of(&[0, 5, 20]),
        replicated: dice.chance(50),
        stop_pct: dice.one_of(&[0, 0, 5]),
        steer_pct: dice.one_of(&[0, 20, 60]),
        owner_pct: dice.one_of(&[0, 0, 5]),
    }
}
