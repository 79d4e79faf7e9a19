//! Random histories of a run: what its holders really did, and the log of it.
//!
//! The deeds are generated one by one and counted by the real tally and ledger; the dice decide
//! which deltas the log lacks. The history keeps the truth, to compare a report with it.

use std::collections::BTreeMap;

use loadpilot_engine::control::assign::{deal, shard_count, take_over};
use loadpilot_engine::schedule::workload::Workload;
use loadpilot_engine::tally::{CallEnd, Ledger, Phases, RowKey, Tally};
use loadpilot_events::Envelope;
use loadpilot_events::id::{EventId, Holder, RunId};
use loadpilot_events::log::assign::{Holding, Loss, LossReason};
use loadpilot_events::log::ctl::{
    Decision, Ending, RunCreated, RunSealed, ShardsAssigned, ShardsReassigned, StartScheduled,
    StopReason, StopScheduled,
};
use loadpilot_events::log::delta::{Gauges, LastCall};
use loadpilot_events::log::evt::{Fact, ShardsReady, What};
use loadpilot_events::log::outcome::{DropReason, Outcome};
use loadpilot_events::log::req::{Request, RunRequested};
use loadpilot_events::log::samples::Sample;
use loadpilot_events::log::start::ClockEstimate;
use loadpilot_events::plan::Plan;
use loadpilot_events::rules::Rules;
use loadpilot_events::units::Timestamp;
use loadpilot_events::wire::subject::{Kind, Subjects};
use serde::Serialize;

use crate::rules::dice::Dice;
use crate::rules::plans;
use crate::tally::metrics;

/// When every history starts.
const START: Timestamp = Timestamp(1_800_000_000_000_000);

/// One record of the log.
#[derive(Debug, Clone)]
pub(crate) struct Record {
    pub(crate) subject: String,
    pub(crate) kind: Kind,
    pub(crate) seq: u64,
    pub(crate) payload: Vec<u8>,
}

/// What one holder did with one arrival.
#[derive(Debug, Clone)]
pub(crate) struct Deed {
    pub(crate) n: u64,
    pub(crate) tick: u32,
    pub(crate) task: u16,
    pub(crate) holder: Holder,
    pub(crate) generation: u32,
    /// Whether another process held the arrival.
    pub(crate) excess: bool,
    /// The window of its holder in which it was counted.
    pub(crate) window: u64,
    /// Whether its task raised, and after which call.
    pub(crate) raised: Option<LastCall>,
    pub(crate) what: Act,
}

/// Started, with its calls, or not.
#[derive(Debug, Clone)]
pub(crate) enum Act {
    Started(Vec<Call>),
    Dropped(DropReason),
}

/// One call.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) number: u16,
    pub(crate) outcome: Outcome,
    pub(crate) response_us: u64,
    /// The window of its holder in which it was counted.
    pub(crate) window: u64,
}

/// The holders of the shards from a tick on.
#[derive(Debug, Clone)]
pub(crate) struct Map {
    pub(crate) generation: u32,
    pub(crate) from_tick: u32,
    pub(crate) holdings: Vec<Holding>,
    losses: Vec<Loss>,
}

/// A run, what really happened in it, and its log.
#[derive(Debug)]
pub(crate) struct History {
    pub(crate) run: RunId,
    pub(crate) plan: Plan,
    pub(crate) workload: Workload,
    /// When each arrival is due, in µs after the start.
    pub(crate) dues_us: Vec<u64>,
    pub(crate) maps: Vec<Map>,
    pub(crate) deeds: Vec<Deed>,
    pub(crate) stop_us: Option<u64>,
    pub(crate) shards: u32,
    pub(crate) control: Vec<Record>,
    pub(crate) data: Vec<Record>,
    /// Windows of holders that the seal covers.
    pub(crate) stored: BTreeMap<(Holder, u64), bool>,
    pub(crate) subjects: Subjects,
}

impl Map {
    /// The holder of arrival `n`.
    pub(crate) fn owner(&self, n: u64, of: &History) -> Option<&Holder> {
        let unit = if of.plan.paired { n / 2 } else { n };
        let shard = u32::try_from(unit % u64::from(of.shards)).expect("below the shard count");
        let mut holdings = self.holdings.iter();
        holdings
            .find(|holding| holding.shards.contains(&shard))
            .map(|holding| &holding.holder)
    }
}

impl History {
    /// The history of a seed.
    pub(crate) fn new(seed: u64) -> Self {
        Self::of(seed, |dice| plans::some(dice, seed))
    }

    /// The history of a seed with a plan of its own.
    pub(crate) fn of(seed: u64, plan: impl FnOnce(&mut Dice) -> Plan) -> Self {
        let dice = &mut Dice::new(seed);
        let agents = dice.pick(1..5);
        let plan = plan(dice);
        let request = plans::request(plan, agents as u32, 1, dice);
        let workload = Workload::new(&request.plan, request.seed);
        let shards = shard_count(request.agents.want, None);
        let maps = maps(dice, shards, agents, workload.ticks());
        let mut history = Self {
            run: RunId::parse("01run").expect("a token"),
            plan: request.plan.clone(),
            stop_us: dice
                .chance(30)
                .then(|| dice.pick(0..workload.duration_us())),
            dues_us: (0..workload.planned())
                .map(|n| workload.due_us(n))
                .collect(),
            workload,
            maps,
            deeds: Vec::new(),
            shards,
            control: Vec::new(),
            data: Vec::new(),
            stored: BTreeMap::new(),
            subjects: Subjects::new("lp", "local").expect("tokens"),
        };
        history.act(dice);
        history.report(dice);
        history.decide(&request);
        history
    }

    /// The map in force for a due tick.
    pub(crate) fn in_force(&self, tick: u32) -> &Map {
        let begun = self.maps.iter().filter(|map| map.from_tick <= tick);
        begun
            .max_by_key(|map| map.generation)
            .expect("the first one begins at 0")
    }

    /// The last sequence of LP_DATA that the seal covers.
    pub(crate) fn data_seq(&self) -> u64 {
        self.data.len() as u64 * 9 / 10
    }

    fn act(&mut self, dice: &mut Dice) {
        for n in 0..self.workload.planned() {
            let due_us = self.dues_us[n as usize];
            if self.stop_us.is_some_and(|stop_us| due_us >= stop_us) {
                break;
            }
            let tick = self.workload.tick_of(due_us);
            let map = self.in_force(tick).clone();
            if let Some(holder) = map.owner(n, self) {
                let deed = self.deed(dice, n, tick, holder, map.generation, false);
                self.deeds.push(deed);
            }
            // A holder that does not yet know that it was superseded continues for a while.
            let older = self
                .maps
                .iter()
                .rfind(|older| older.generation + 1 == map.generation);
            let before = older.and_then(|older| Some((older.owner(n, self)?, older)));
            if let Some((holder, older)) = before
                && tick < map.from_tick + 2
                && dice.chance(20)
            {
                let deed = self.deed(dice, n, tick, holder, older.generation, true);
                self.deeds.push(deed);
            }
        }
    }

    fn deed(
        &self,
        dice: &mut Dice,
        n: u64,
        tick: u32,
        holder: &Holder,
        generation: u32,
        excess: bool,
    ) -> Deed {
        let task = self.workload.task_of(n);
        let window = u64::from(tick) + dice.pick(0..2);
        let first: usize = self.plan.tasks[..usize::from(task)]
            .iter()
            .map(|t| t.steps.len())
            .sum();
        let steps = self.plan.tasks[usize::from(task)].steps.len();
        let mut call = |place: usize| Call {
            number: (first + place) as u16,
            outcome: if dice.chance(80) {
                Outcome::Ok
            } else {
                dice.one_of(&Outcome::ALL)
            },
            response_us: dice.pick(1..2_000_000),
            window: window + dice.pick(0..2),
        };
        let calls = (0..steps).map(&mut call).collect();
        let what = if dice.chance(90) {
            Act::Started(calls)
        } else {
            Act::Dropped(dice.one_of(&[DropReason::Late, DropReason::NoSlot]))
        };
        Deed {
            n,
            tick,
            task,
            holder: holder.clone(),
            generation,
            excess,
            window,
            raised: dice.chance(10).then(|| dice.one_of(&LastCall::ALL)),
            what,
        }
    }

    /// Counts the deeds with the real tally, closes them with the real ledger, stores most deltas.
    fn report(&mut self, dice: &mut Dice) {
        let holders: std::collections::BTreeSet<Holder> = self
            .maps
            .iter()
            .flat_map(|map| map.holdings.iter().map(|holding| holding.holder.clone()))
            .collect();
        let windows = u64::from(self.workload.ticks()) + 4;
        let mut records = Vec::new();
        for holder in holders {
            let dies = if dice.chance(20) {
                dice.pick(0..windows)
            } else {
                windows
            };
            let mut ledger = Ledger::new(holder.boot_id.clone());
            for window in 0..windows {
                let deltas = {
                    let mut tally = Tally::new();
                    self.deeds
                        .iter()
                        .filter(|deed| deed.holder == holder)
                        .for_each(|deed| {
                            count(&mut tally, deed, window);
                        });
                    let (from_us, to_us) = (window * 1_000_000, (window + 1) * 1_000_000);
                    ledger.close(tally.take(), from_us, to_us, Gauges::default())
                };
                assert_eq!(deltas.len(), 1, "small windows are not split");
                let copies = if window >= dies {
                    0
                } else {
                    dice.one_of(&[0, 1, 1, 1, 1, 1, 1, 2])
                };
                let payload = encode(&deltas[0]);
                records.extend((0..copies).map(|_| (holder.clone(), window, payload.clone())));
            }
        }
        dice.shuffle(&mut records);
        for (place, (holder, _, payload)) in records.iter().enumerate() {
            self.data.push(Record {
                subject: self.subjects.delta(&self.run, &holder.agent),
                kind: Kind::Delta(holder.agent.clone()),
                seq: place as u64 + 1,
                payload: payload.clone(),
            });
        }
        let covered = self.data_seq() as usize;
        for (holder, window, _) in records.into_iter().take(covered) {
            self.stored.insert((holder, window), true);
        }
    }

    fn decide(&mut self, request: &RunRequested) {
        let created = RunCreated {
            plan: None,
            request: Some(self.control.len() as u64 + 1),
            plan_hash: request.plan.hash(),
            seed: request.seed,
            agents: request.agents.clone(),
            owner: None,
            lead_us: request.lead_us,
            shards: self.shards,
            gather_by: START,
            needs: Vec::new(),
            targets: None,
            proof: None,
            rules: Rules::CURRENT,
        };
        self.push(Kind::Req, &Request::RunRequested(Box::new(request.clone())));
        self.push(Kind::Ctl, &Decision::RunCreated(Box::new(created)));
        for map in self.maps.clone() {
            if map.generation > 1 {
                let decision = Decision::ShardsReassigned(ShardsReassigned {
                    generation: map.generation,
                    holdings: map.holdings,
                    takeover_tick: map.from_tick,
                    losses: map.losses,
                });
                self.push(Kind::Ctl, &decision);
            } else {
                self.start(map);
            }
        }
        if let Some(stop_us) = self.stop_us {
            let reason = StopReason::Requested {
                by: "a user".to_owned(),
            };
            let stop_at = START.plus_us(stop_us);
            self.push(
                Kind::Ctl,
                &Decision::StopScheduled(StopScheduled {
                    stop_at,
                    reason,
                    unanswered: None,
                }),
            );
        }
        let seal = RunSealed {
            ending: Ending::Completed,
            ctl_seq: self.control.len() as u64,
            evt_seq: self.control.len() as u64,
            data_seq: self.data_seq(),
            finals: Vec::new(),
            missing: Vec::new(),
            unnamed: None,
        };
        self.push(Kind::Ctl, &Decision::RunSealed(seal));
    }

    /// The first assignment, its holders ready, and the start.
    fn start(&mut self, map: Map) {
        let assigned = ShardsAssigned {
            generation: map.generation,
            holdings: map.holdings.clone(),
            ready_by: START,
        };
        self.push(Kind::Ctl, &Decision::ShardsAssigned(assigned));
        for holding in map.holdings {
            let what = What::ShardsReady(ShardsReady {
                generation: map.generation,
                clock: ClockEstimate {
                    offset_us: 0,
                    bound_us: 100,
                },
                max_in_flight: 10,
            });
            let boot_id = holding.holder.boot_id;
            self.push(Kind::Evt(holding.holder.agent), &Fact { boot_id, what });
        }
        self.push(
            Kind::Ctl,
            &Decision::StartScheduled(StartScheduled { start_at: START }),
        );
    }

    fn push<E: Serialize>(&mut self, kind: Kind, event: &E) {
        let subject = match &kind {
            Kind::Req => self.subjects.req(&self.run),
            Kind::Ctl => self.subjects.ctl(&self.run),
            Kind::Evt(agent) => self.subjects.evt(&self.run, agent),
            Kind::Delta(agent) => self.subjects.delta(&self.run, agent),
        };
        let seq = self.control.len() as u64 + 1;
        let payload = encode(event);
        self.control.push(Record {
            subject,
            kind,
            seq,
            payload,
        });
    }
}

/// Successive assignments: holders are lost and replaced, and some shards are left without a
/// holder.
fn maps(dice: &mut Dice, shards: u32, agents: u64, ticks: u32) -> Vec<Map> {
    let first: Vec<Holder> = (0..agents).map(|number| plans::holder(number, 0)).collect();
    let mut maps = vec![Map {
        generation: 1,
        from_tick: 0,
        holdings: deal(shards, &first),
        losses: Vec::new(),
    }];
    for boot in 1..dice.pick(1..4) {
        let last = &maps[maps.len() - 1];
        let lost = dice.one_of(&last.holdings).holder;
        let newcomer = Holder {
            agent: lost.agent.clone(),
            boot_id: plans::holder(0, boot).boot_id,
        };
        let gone = [lost.clone()].into();
        let heirs = if last.holdings.len() == 1 || dice.chance(50) {
            [(lost.clone(), newcomer)].into()
        } else {
            BTreeMap::new()
        };
        let (held, none) = (&last.holdings, [].into());
        let mut holdings = take_over(shards, held, &gone, &heirs, &none, &none);
        if dice.chance(20) {
            // No coordinator leaves shards without a holder, but the fold must name such shards.
            holdings[0].shards.retain(|shard| shard % 3 != 0);
        }
        let reason = LossReason::Silent;
        maps.push(Map {
            generation: last.generation + 1,
            from_tick: dice.pick(u64::from(last.from_tick)..u64::from(ticks) + 1) as u32,
            holdings,
            losses: vec![Loss {
                holder: lost,
                reason,
            }],
        });
    }
    maps
}

/// Counts the parts of `deed` that belong to `window`.
fn count(tally: &mut Tally, deed: &Deed, window: u64) {
    let key = RowKey {
        tick: deed.tick,
        generation: deed.generation,
        task: deed.task,
    };
    match &deed.what {
        Act::Dropped(reason) if deed.window == window => tally.dropped(key, *reason),
        Act::Dropped(_) => {}
        Act::Started(calls) => {
            if deed.window == window {
                tally.started(key);
                if let Some(last) = deed.raised {
                    tally.task_raised(key, last);
                }
                metrics::count(tally, key, deed.n);
            }
            for call in calls.iter().filter(|call| call.window == window) {
                tally.call(&CallEnd {
                    tick: deed.tick,
                    generation: deed.generation,
                    call: call.number,
                    outcome: call.outcome,
                    response_us: call.response_us,
                    service_us: call.response_us.div_ceil(2),
                    status: None,
                    cause: None,
                    sent_bytes: 1,
                    received_bytes: 2,
                    phases: Phases::default(),
                });
                tally.sample(Sample {
                    user: None,
                    number: deed.n,
                    generation: deed.generation,
                    tick: deed.tick,
                    call: call.number,
                    outcome: call.outcome,
                    status: None,
                    due_us: u64::from(deed.tick),
                    response_us: call.response_us,
                    service_us: call.response_us.div_ceil(2),
                    first_byte_us: None,
                    sent_bytes: 1,
                    received_bytes: 2,
                    reused: None,
                });
            }
        }
    }
}

/// The JSON of an event in its envelope.
pub(crate) fn encode<E: Serialize>(event: &E) -> Vec<u8> {
    let id = EventId::parse("id").expect("a token");
    let (v, at) = (1, START);
    serde_json::to_vec(&Envelope { v, id, at, event }).expect("an event has a JSON form")
}
