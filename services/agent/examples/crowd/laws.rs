//! How long the laws take for a fleet: one whole run of many agents, without a server.

use std::collections::BTreeSet;

use loadpilot_engine::control::decide::{LastSeen, Observations, Policy, deadline, decide};
use loadpilot_engine::control::run_state::RunState;
use loadpilot_engine::control::{ControlLog, Parsed};
use loadpilot_engine::fold::project::Projection;
use loadpilot_engine::report::report;
use loadpilot_engine::schedule::workload::Workload;
use loadpilot_events::log::ctl::Decision;
use loadpilot_events::log::delta::Totals;
use loadpilot_events::log::evt::{
    CapacityOffered, Fact, FinishReason, ShardsFinished, ShardsReady, What,
};
use loadpilot_events::log::req::Request;
use loadpilot_events::log::start::ClockEstimate;
use loadpilot_events::wire::subject::Kind;
use loadpilot_events::{AgentId, BootId, Envelope, EventId, Holder, Rate, RunId, Timestamp};
use serde::Serialize;
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use crate::Trouble;
use crate::plan::request;
use crate::rows::{Books, Rows};

/// One of this number of agents is lost.
const LOST_OF: usize = 10;

/// Length of the run, in seconds.
const SECS: u64 = 30;

/// A run, and the time of each step of it in µs.
struct Life {
    log: ControlLog,
    seq: u64,
    state: RunState,
    hearing: Observations,
    policy: Policy,
    now: Timestamp,
    took: Map<String, Value>,
}

/// Times the laws with `count` agents.
pub(crate) fn laws(count: u32) -> Result<Value, Trouble> {
    let agents: Vec<Holder> = (0..count).map(holder).collect::<Result<_, Trouble>>()?;
    let mut life = Life {
        log: ControlLog::new(RunId::parse("01run")?),
        seq: 0,
        state: RunState::default(),
        hearing: Observations::default(),
        policy: Policy::default(),
        now: Timestamp(1_800_000_000_000_000),
        took: Map::new(),
    };
    life.hearing.since = life.now;
    let run_requested = Request::RunRequested(Box::new(request(count, SECS)?));
    life.add(&Kind::Req, &run_requested)?;
    life.decide("create")?;
    life.hear(agents.iter());
    life.facts("fold of the offers", &agents, |_| {
        What::CapacityOffered(CapacityOffered {
            rate: Rate::per_second(1_000),
            cores: 1,
            expires: Timestamp(u64::MAX),
            version: "laws".to_owned(),
        })
    })?;
    life.decide("assign")?;
    life.facts("fold of the ready", &agents, |_| {
        What::ShardsReady(ShardsReady {
            generation: 1,
            clock: ClockEstimate {
                offset_us: 0,
                bound_us: 1,
            },
            max_in_flight: 1,
        })
    })?;
    life.decide("start")?;
    life.now = life.now.plus_us(4_000_000);
    life.hear(agents.iter());
    life.time("nothing to decide", |life| {
        decide(&life.state, &life.hearing, &life.policy, life.now)
    });
    life.time("deadline", |life| {
        deadline(&life.state, &life.hearing, &life.policy, life.now)
    });
    life.deltas(&agents)?;
    let (lost, stays): (Vec<_>, Vec<_>) = agents
        .iter()
        .enumerate()
        .partition(|(number, _)| number % LOST_OF == 0);
    life.now = life.now.plus_us(11_000_000);
    life.hear(stays.iter().map(|(_, holder)| *holder));
    life.decide("reassign")?;
    let news = (count..count + u32::try_from(lost.len())?).map(holder);
    let news: Vec<Holder> = news.collect::<Result<_, Trouble>>()?;
    life.now = life.now.plus_us(4_000_000);
    life.hear(stays.iter().map(|(_, holder)| *holder).chain(&news));
    life.decide("join")?;
    life.now = life.now.plus_us(60_000_000);
    let rest: Vec<Holder> = stays
        .into_iter()
        .map(|(_, holder)| holder.clone())
        .collect();
    life.hear(rest.iter().chain(&news));
    let ended: Vec<Holder> = rest.into_iter().chain(news).collect();
    life.facts("fold of the last words", &ended, |_| {
        What::ShardsFinished(ShardsFinished {
            reason: FinishReason::Completed,
            final_seq: 1,
            totals: Totals::default(),
            on_stop_failed: None,
        })
    })?;
    life.decide("seal")?;
    life.report()?;
    Ok(Value::Object(life.took))
}

fn holder(number: u32) -> Result<Holder, Trouble> {
    Ok(Holder {
        agent: AgentId::parse(&format!("agent-{number:05}"))?,
        boot_id: BootId::parse("01k0000000000000000000000a")?,
    })
}

impl Life {
    fn time<T>(&mut self, what: &str, law: impl FnOnce(&mut Self) -> T) -> T {
        let began = Instant::now();
        let result = law(self);
        let us = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.took.insert(what.to_owned(), json!(us));
        result
    }

    fn hear<'a>(&mut self, agents: impl Iterator<Item = &'a Holder>) {
        for holder in agents {
            let last_seen = LastSeen {
                at: self.now,
                predecessor_dead: false,
                has: BTreeSet::new(),
                recovering: BTreeSet::new(),
            };
            self.hearing.agents.insert(holder.clone(), last_seen);
        }
    }

    fn add<E: Serialize>(&mut self, kind: &Kind, event: &E) -> Result<(), Trouble> {
        let payload = encode(self.now, event)?;
        self.seq += 1;
        let parsed = Parsed::from_payload(kind, &payload)?;
        let (at, record) = parsed.record();
        self.state = std::mem::take(&mut self.state).evolve(self.seq, at, record);
        self.log.add("of the run", kind, self.seq, &payload);
        Ok(())
    }

    fn decide(&mut self, what: &str) -> Result<(), Trouble> {
        let decision = self.time(what, |life| {
            decide(&life.state, &life.hearing, &life.policy, life.now)
        });
        let decision: Decision = decision.ok_or_else(|| format!("{what}: nothing is decided"))?;
        self.add(&Kind::Ctl, &decision)
    }

    fn facts(
        &mut self,
        what: &str,
        agents: &[Holder],
        fact: impl Fn(&Holder) -> What,
    ) -> Result<(), Trouble> {
        self.time(what, |life| {
            agents.iter().try_for_each(|holder| {
                let stated = Fact {
                    boot_id: holder.boot_id.clone(),
                    what: fact(holder),
                };
                life.add(&Kind::Evt(holder.agent.clone()), &stated)
            })
        })
    }

    /// A tick of deltas, folded.
    fn deltas(&mut self, agents: &[Holder]) -> Result<(), Trouble> {
        let control = self.log.close();
        let created = control.state.created.as_deref().ok_or("it was created")?;
        let workload = Workload::new(&created.plan, created.seed);
        let map = control.assignments.first().ok_or("it was assigned")?;
        let (mut rows, mut deltas) = (Rows::default(), Vec::new());
        for holder in agents {
            let held = map.of(holder).ok_or("each agent holds shards")?;
            let mut books = Books::new(holder.boot_id.clone());
            let of = (&workload, created.shards);
            let delta = rows.delta(&mut books, of, 0, (1, &held.shards), (0, 1_000_000));
            deltas.push((&holder.agent, encode(self.now, &delta)?));
        }
        let mut data = Projection::default();
        self.time("fold of a tick of deltas", |_| {
            for (seq, (agent, payload)) in (1..).zip(&deltas) {
                data.add(&control, agent, "delta", seq, payload);
            }
        });
        Ok(())
    }

    /// The report of a run without any delta: it has to examine every tick.
    fn report(&mut self) -> Result<(), Trouble> {
        let control = self.time("fold of the control log", |life| life.log.close());
        let report = self.time("report, everything lost", |_| {
            report(&control, &Projection::default())
        })?;
        let text = self.time("report as JSON", |_| serde_json::to_vec(&report))?;
        std::hint::black_box(text);
        Ok(())
    }
}

fn encode<E: Serialize>(at: Timestamp, event: &E) -> Result<Vec<u8>, Trouble> {
    let id = EventId::parse("01k00000000000000000000000")?;
    Ok(serde_json::to_vec(&Envelope {
        v: 1,
        id,
        at,
        event,
    })?)
}
