//! Deciding: every decision keeps the invariants, and every run ends without help.

use std::collections::BTreeSet;

use loadpilot_engine::control::decide::{LastSeen, Observations, Policy, deadline, decide};
use loadpilot_engine::control::run_state::{Record, RunState};
use loadpilot_events::id::{AgentId, BootId, Holder, OwnerId};
use loadpilot_events::log::ctl::{Decision, Ending, StartCancelled, StartScheduled, StopReason};
use loadpilot_events::log::delta::Totals;
use loadpilot_events::log::evt::{
    CapacityOffered, Fact, FailureCause, FinishReason, IsolationStop, ShardsFailed, ShardsFinished,
    ShardsReady, What,
};
use loadpilot_events::log::req::{Request, StopRequested};
use loadpilot_events::log::start::ClockEstimate;
use loadpilot_events::plan::{Body, Method, Object, Step};
use loadpilot_events::units::{Rate, Timestamp};
use proptest::prelude::*;

use crate::rules::dice::Dice;
use crate::rules::invariants::{Stored, check};
use crate::rules::{plans, steering};

/// A record in LP_CTL.
#[derive(Debug, Clone)]
enum Entry {
    Request(Request),
    Decision(Decision),
    Fact(AgentId, Fact),
}

/// A coordinator: how far it has read the log, and the signs of life that it received.
#[derive(Debug, Clone)]
struct Coordinator {
    read: usize,
    state: RunState,
    hearing: Observations,
    /// How far its clock is ahead of the true time, in µs. At the beginning all clocks are equally
    /// slow.
    ahead_us: u64,
}

/// A run that is disturbed in every way that the log allows.
struct World {
    dice: Dice,
    policy: Policy,
    now: Timestamp,
    log: Vec<(Timestamp, Entry)>,
    coordinators: Vec<Coordinator>,
    decided: Vec<Stored>,
    /// Maximum number of processes that each agent has had so far.
    boots: u64,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        let (want, min) = (dice.pick(1..4) as u32, 1);
        let mut plan = plans::plan(&mut dice);
        // Long enough for many takeovers: this test computes no arrivals.
        plan.profile
            .pieces
            .iter_mut()
            .for_each(|piece| piece.duration_us *= 10);
        let mut request = plans::request(plan, want, min, &mut dice);
        if dice.chance(10) {
            request.agents.min = 0;
        }
        request.owner = dice
            .chance(15)
            .then(|| OwnerId::parse("owner").expect("a token"));
        let now = Timestamp(1_800_000_000_000_000);
        let coordinator = |ahead_us| Coordinator {
            read: 0,
            state: RunState::default(),
            hearing: Observations {
                since: now,
                ..Observations::default()
            },
            ahead_us,
        };
        let count = dice.pick(1..4);
        let coordinators = (0..count)
            .map(|_| coordinator(dice.pick(0..200_000)))
            .collect();
        let request = Request::RunRequested(Box::new(request));
        let mut world = Self {
            dice,
            policy: Policy::default(),
            now,
            log: vec![(now, Entry::Request(request))],
            coordinators,
            decided: Vec::new(),
            boots: 1,
        };
        if world.dice.chance(85) {
            // All agents offer capacity and are ready at the beginning: otherwise few runs start.
            for number in 0..4 {
                let holder = plans::holder(number, 0);
                world.hear(&holder, 100);
                let (offer, ready) = (world.offer(), world.ready());
                world.state_fact(&holder, offer);
                world.state_fact(&holder, ready);
            }
        }
        world
    }

    fn check(&self) {
        let Some((_, Entry::Request(Request::RunRequested(request)))) = self.log.first() else {
            panic!("a request is first");
        };
        check(&self.policy, (1, request), &self.decided);
    }

    /// A random process of a random agent, among the boots so far.
    fn any_process(&mut self) -> Holder {
        let (number, boot) = (self.dice.pick(0..4), self.dice.pick(0..self.boots));
        plans::holder(number, boot)
    }

    fn offer(&mut self) -> What {
        What::CapacityOffered(CapacityOffered {
            rate: Rate::per_second(100),
            cores: 1,
            expires: self.now.plus_us(self.dice.pick(1_000_000..30_000_000)),
            version: "1".to_owned(),
        })
    }

    fn ready(&mut self) -> What {
        let clock = ClockEstimate {
            offset_us: 0,
            bound_us: 1,
        };
        What::ShardsReady(ShardsReady {
            generation: 1,
            clock,
            max_in_flight: 1,
        })
    }

    /// One random event happens.
    fn step(&mut self) {
        match self.dice.pick(0..20) {
            0..5 => self.now = self.now.plus_us(self.dice.pick(0..600_000)),
            5 if self.dice.chance(20) => {
                self.now = self.now.plus_us(self.dice.pick(0..15_000_000));
            }
            6..11 => {
                let holder = self.any_process();
                self.hear(&holder, 80);
            }
            11 => {
                let (holder, what) = (self.any_process(), self.any_fact());
                self.state_fact(&holder, what);
            }
            12 => self.boots += u64::from(self.dice.chance(30)),
            13 if self.dice.chance(30) => self.restart(),
            14 if self.dice.chance(10) => self.ask_to_stop(),
            15 if self.dice.chance(40) => {
                let request = steering::request(&mut self.dice);
                self.log.push((self.now, Entry::Request(request)));
            }
            _ => self.decide(),
        }
    }

    /// A process sends a heartbeat, which reaches each coordinator with a chance of `percent`.
    fn hear(&mut self, holder: &Holder, percent: u64) {
        for coordinator in &mut self.coordinators {
            let at = self.now.plus_us(coordinator.ahead_us);
            let predecessor_dead = self.dice.chance(50);
            if self.dice.chance(percent) {
                let seen = LastSeen {
                    at,
                    predecessor_dead,
                    has: BTreeSet::new(),
                    recovering: BTreeSet::new(),
                };
                coordinator.hearing.agents.insert(holder.clone(), seen);
            }
            if self.dice.chance(90) {
                let owner = OwnerId::parse("owner").expect("a token");
                coordinator.hearing.owners.insert(owner, at);
            }
        }
    }

    /// A random fact of a process.
    fn any_fact(&mut self) -> What {
        match self.dice.pick(0..20) {
            0..8 => self.offer(),
            8..16 => self.ready(),
            16 => What::ShardsFinished(ShardsFinished {
                reason: self
                    .dice
                    .one_of(&[FinishReason::Completed, FinishReason::Left]),
                final_seq: 1,
                totals: Totals::default(),
                on_stop_failed: None,
            }),
            17 => What::AgentLeaving,
            18 if self.dice.chance(20) => failure(FailureCause::LogFull),
            18 => failure(FailureCause::Broken),
            _ => What::IsolationStop(IsolationStop {
                fenced_at: self.now,
                ctl_seq: 1,
                reason: "alone".to_owned(),
            }),
        }
    }

    /// A process publishes a fact, stamped by a clock that may be hours ahead.
    fn state_fact(&mut self, holder: &Holder, what: What) {
        let at = self
            .now
            .plus_us(self.dice.one_of(&[0, 0, 0, 7_200_000_000]));
        let (agent, boot_id) = (holder.agent.clone(), holder.boot_id.clone());
        self.log
            .push((at, Entry::Fact(agent, Fact { boot_id, what })));
    }

    fn ask_to_stop(&mut self) {
        let by = "a user".to_owned();
        let stop = Request::StopRequested(StopRequested { by, breach: None });
        self.log.push((self.now, Entry::Request(stop)));
    }

    /// A coordinator restarts: it has read nothing and received no heartbeat.
    fn restart(&mut self) {
        let place = self.dice.pick(0..self.coordinators.len() as u64) as usize;
        let now = self.now;
        let coordinator = &mut self.coordinators[place];
        coordinator.read = 0;
        coordinator.state = RunState::default();
        coordinator.hearing = Observations {
            since: now.plus_us(coordinator.ahead_us),
            ..Observations::default()
        };
    }

    /// A coordinator reads a part of what it has not read, decides, and appends if no other writer
    /// was first.
    fn decide(&mut self) {
        let place = self.dice.pick(0..self.coordinators.len() as u64) as usize;
        let unread = self.log.len() - self.coordinators[place].read;
        let reads = match self.dice.pick(0..3) {
            0 => self.dice.pick(0..unread as u64 + 1) as usize,
            _ => unread,
        };
        self.read(place, reads);
        let coordinator = &self.coordinators[place];
        let now = self.now.plus_us(coordinator.ahead_us);
        let (state, hearing) = (&coordinator.state, &coordinator.hearing);
        let decision = decide(state, hearing, &self.policy, now);
        let again = decide(state, hearing, &self.policy, now);
        assert_eq!(
            format!("{decision:?}"),
            format!("{again:?}"),
            "deciding is deterministic"
        );
        let Some(decision) = decision else {
            self.nothing_before_the_deadline(place, now);
            return;
        };
        assert!(!state.over, "nothing is decided after the end");
        let last = self.decided.last().map_or(0, |stored| stored.seq);
        if state.ctl_seq == last {
            self.append(now, decision);
        }
    }

    fn append(&mut self, at: Timestamp, decision: Decision) {
        self.log.push((at, Entry::Decision(decision.clone())));
        let seq = self.log.len() as u64;
        self.decided.push(Stored { seq, at, decision });
    }

    fn read(&mut self, place: usize, count: usize) {
        let coordinator = &mut self.coordinators[place];
        for _ in 0..count {
            let (at, entry) = &self.log[coordinator.read];
            let record = match entry {
                Entry::Request(request) => Record::Request(request),
                Entry::Decision(decision) => Record::Decision(decision),
                Entry::Fact(agent, fact) => Record::Fact(agent, fact),
            };
            coordinator.read += 1;
            let seq = coordinator.read as u64;
            coordinator.state = std::mem::take(&mut coordinator.state).evolve(seq, *at, record);
        }
    }

    /// A coordinator that sleeps until its deadline misses no decision.
    fn nothing_before_the_deadline(&mut self, place: usize, now: Timestamp) {
        let Coordinator { state, hearing, .. } = &self.coordinators[place];
        let wakes = deadline(state, hearing, &self.policy, now);
        let room_us = wakes.map_or(100_000_000, |at| at.since_us(now));
        for _ in 0..4 {
            let between = now.plus_us(self.dice.pick(0..room_us.max(1)));
            let early = decide(state, hearing, &self.policy, between);
            assert!(
                early.is_none(),
                "{early:?} at {between:?}, woken at {wakes:?}"
            );
        }
    }

    /// All agents fall silent; one coordinator follows its own deadlines to the end.
    fn follow_deadlines(&mut self) {
        let place = 0;
        let mut now = self.now.plus_us(self.coordinators[place].ahead_us);
        for _ in 0..100 {
            let unread = self.log.len() - self.coordinators[place].read;
            self.read(place, unread);
            let Coordinator { state, hearing, .. } = &self.coordinators[place];
            if state.over {
                return;
            }
            match decide(state, hearing, &self.policy, now) {
                Some(decision) => self.append(now, decision),
                None => {
                    let next = deadline(state, hearing, &self.policy, now);
                    let next = next.expect("a run that is not over has a deadline");
                    assert!(next > now, "time goes on");
                    now = next;
                }
            }
        }
        panic!("no end after 100 steps: {:?}", self.decided.last());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    /// However facts, losses, stops and coordinators interleave, the control log stays sound, and
    /// a run without owner and agents still ends.
    #[test]
    fn decisions_keep_the_invariants_and_come_to_an_end(seed: u64, steps in 0..400_u32) {
        let mut world = World::new(seed);
        for _ in 0..steps {
            world.step();
        }
        world.check();
        world.follow_deadlines();
        world.check();
    }

    /// A run that an earlier stack left unfinished is ended by the first decision about it.
    #[test]
    fn what_was_left_over_ends_at_once(seed: u64, steps in 0..200_u32) {
        let mut world = World::new(seed);
        for _ in 0..steps {
            world.step();
        }
        world.read(0, world.log.len() - world.coordinators[0].read);
        let coordinator = &mut world.coordinators[0];
        coordinator.hearing.left_over = true;
        let decision = decide(&coordinator.state, &coordinator.hearing, &world.policy, world.now);
        let ends = matches!(decision, Some(Decision::RunSealed(_) | Decision::RunRefused(_)));
        prop_assert_eq!(ends, !coordinator.state.over);
    }
}

/// When the log takes no more deltas, the run ends as `log_full`, even while agents fire.
#[test]
fn a_full_log_ends_the_run_as_such() {
    let mut world = World::new(1);
    world.read(0, world.log.len());
    let Coordinator { state, hearing, .. } = &mut world.coordinators[0];
    let (policy, now) = (&world.policy, world.now);
    let created = decide(state, hearing, policy, now).expect("it is created");
    let start = Decision::StartScheduled(StartScheduled { start_at: now });
    let agent = AgentId::parse("agent-1").expect("a token");
    let boot_id = BootId::parse("boot-1").expect("a token");
    let fact = Fact {
        boot_id,
        what: failure(FailureCause::LogFull),
    };
    let records = [
        Record::Decision(&created),
        Record::Decision(&start),
        Record::Fact(&agent, &fact),
    ];
    let mut state = std::mem::take(state);
    for (seq, record) in (10..).zip(records) {
        state = state.evolve(seq, now, record);
    }
    let stop = decide(&state, hearing, policy, now).expect("it stops");
    let Decision::StopScheduled(scheduled) = &stop else {
        panic!("{stop:?}")
    };
    assert_eq!(scheduled.reason, StopReason::LogFull);
    let state = state.evolve(20, now, Record::Decision(&stop));
    let seal = decide(&state, hearing, policy, now).expect("no agent is waited for");
    let Decision::RunSealed(sealed) = &seal else {
        panic!("{seal:?}")
    };
    assert_eq!(sealed.ending, Ending::LogFull);
}

/// Large bodies take time: an agent that is fetching them is not late, but its time is limited.
#[test]
fn an_agent_that_fetches_bodies_has_time_for_it() {
    let mut dice = Dice::new(1);
    let large = |seed: u8, bytes| {
        let mut object = Object::of(&[seed]);
        object.bytes = bytes;
        Some(Body::Object(object))
    };
    let mut plan = plans::plan(&mut dice);
    let mut step = plan.tasks[0].steps[0].clone();
    step.method = Method::Post;
    // The first body is used by two calls and fetched once.
    let bodies = [large(1, 64 << 20), large(2, 1_000_000), large(1, 64 << 20)];
    plan.tasks[0].steps = bodies
        .map(|body| Step {
            body,
            ..step.clone()
        })
        .to_vec();
    let request = plans::request(plan, 1, 1, &mut dice);
    let (policy, now) = (Policy::default(), Timestamp(1_800_000_000_000_000));
    let holder = plans::holder(0, 0);
    let hearing_at = |at| Observations {
        since: now,
        agents: [(
            holder.clone(),
            LastSeen {
                at,
                predecessor_dead: false,
                has: BTreeSet::new(),
                recovering: BTreeSet::new(),
            },
        )]
        .into(),
        ..Observations::default()
    };
    let offer = Fact {
        boot_id: holder.boot_id.clone(),
        what: What::CapacityOffered(CapacityOffered {
            rate: Rate::per_second(100),
            cores: 1,
            expires: now.plus_us(30_000_000),
            version: "1".to_owned(),
        }),
    };
    let request = Request::RunRequested(Box::new(request));
    let state = RunState::default().evolve(1, now, Record::Request(&request));
    let created = decide(&state, &hearing_at(now), &policy, now).expect("it is created");
    let state = state.evolve(2, now, Record::Decision(&created));
    let state = state.evolve(3, now, Record::Fact(&holder.agent, &offer));
    let assigned = decide(&state, &hearing_at(now), &policy, now).expect("one suffices");
    let state = state.evolve(4, now, Record::Decision(&assigned));
    let fetch_us = (64 << 20) + 1_000_000;
    let ready_by = now.plus_us(policy.ready_us + fetch_us);
    assert_eq!(state.ready_by, Some(ready_by));
    let early = Timestamp(ready_by.0 - 1);
    assert!(decide(&state, &hearing_at(early), &policy, early).is_none());
    let late = decide(&state, &hearing_at(ready_by), &policy, ready_by);
    let Some(Decision::StartCancelled(StartCancelled { reason })) = late else {
        panic!("{late:?}");
    };
    let unready = format!("({} not ready)", holder.agent);
    assert!(reason.contains(&unready), "{reason}");
}

fn failure(cause: FailureCause) -> What {
    let reason = "no room".to_owned();
    What::ShardsFailed(ShardsFailed {
        generation: 1,
        cause,
        reason,
    })
}
