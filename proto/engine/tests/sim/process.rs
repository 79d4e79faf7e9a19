//! One process of an agent in one run: it paces its shards, counts what ends, and publishes deltas
//! until they are stored.

use std::collections::{BTreeMap, VecDeque};

use loadpilot_engine::control::agent_view::{AgentView, Applied, Stage};
use loadpilot_engine::tally::crash_recovery::{Checkpoint, InFlight, TallyEvent, Thread};
use loadpilot_engine::tally::{CallEnd, Ledger, Phases, RowKey, Rows, Tally};
use loadpilot_events::id::Holder;
use loadpilot_events::log::delta::Gauges;
use loadpilot_events::log::evt::{
    CapacityOffered, Fact, FinishReason, IsolationStop, ShardsFinished, ShardsReady, What,
};
use loadpilot_events::log::outcome::{DropReason, Outcome};
use loadpilot_events::log::start::ClockEstimate;
use loadpilot_events::units::{Rate, Timestamp};
use loadpilot_events::wire::heartbeat::News;

use crate::crash_files::Remains;
use crate::log::encode;
use crate::rules::dice::Dice;
use crate::steer::KnownSchedule;
use crate::world::{Run, Sent};

/// Interval between deltas, in µs.
const CLOSE_EVERY_US: u64 = 500_000;

/// Time for others to take over the shards of a process that leaves, in µs.
const HAND_OVER_US: u64 = 6_000_000;

/// Maximum number of unacknowledged deltas; beyond it, rows are merged into a later delta.
const OUTBOX_MAX: usize = 6;

/// A call in flight.
#[derive(Debug)]
struct Flight {
    /// Whether its end is counted. Histograms are slow, so that calls are counted in some worlds
    /// only.
    counts: bool,
    end: CallEnd,
    key: RowKey,
    n: u64,
    ends_at: Timestamp,
    due_at: Timestamp,
    began_at: Timestamp,
}

/// One process.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) me: Holder,
    pub(crate) view: AgentView,
    known: KnownSchedule,
    /// The time until which it serves its shards after its operator has asked it to end.
    pub(crate) leaves_by: Option<Timestamp>,
    isolated: bool,
    behind_since: Option<Timestamp>,
    offered: bool,
    ready_for: u32,
    /// The generation in which the pacer reached each arrival.
    reached: BTreeMap<u64, u32>,
    /// When it paced last: how many decisions it had seen, and how far it had paced.
    paced: (u64, u64),
    flights: Vec<Flight>,
    tally: Tally,
    /// Events counted since the last delta; they survive a kill.
    ring: Vec<TallyEvent>,
    pending: Rows,
    ledger: Ledger,
    /// Where the window of its last delta ends.
    closed_us: u64,
    /// Offset of its clock from that of the coordinators, which it does not know.
    pub(crate) astray_us: i64,
    close_at: Timestamp,
    pub(crate) outbox: VecDeque<Vec<u8>>,
    pub(crate) facts: VecDeque<Fact>,
    closed: bool,
    finished: bool,
    /// Whether it fires after a freeze before it has checked whether it may.
    pub(crate) thawed: bool,
}

impl Process {
    pub(crate) fn new(me: Holder, now: Timestamp) -> Self {
        Self {
            view: AgentView::new(me.clone()),
            known: KnownSchedule::default(),
            ledger: Ledger::new(me.boot_id.clone()),
            me,
            leaves_by: None,
            isolated: false,
            behind_since: None,
            offered: false,
            ready_for: 0,
            reached: BTreeMap::new(),
            paced: (0, 0),
            flights: Vec::new(),
            tally: Tally::new(),
            ring: Vec::new(),
            pending: Rows::default(),
            closed_us: 0,
            astray_us: 0,
            close_at: now.plus_us(CLOSE_EVERY_US),
            outbox: VecDeque::new(),
            facts: VecDeque::new(),
            closed: false,
            finished: false,
            thawed: false,
        }
    }

    /// Applies a decision; decisions come in any order.
    pub(crate) fn receive(&mut self, news: &News, now: Timestamp) {
        match self.view.apply(news) {
            Applied::Applied => self.behind_since = None,
            Applied::Gap => {
                self.behind_since.get_or_insert(now);
            }
            Applied::Duplicate => {}
        }
    }

    /// Whether it has known for `limit_us` that it lacks decisions.
    pub(crate) fn is_behind(&self, now: Timestamp, limit_us: u64) -> bool {
        self.behind_since
            .is_some_and(|since| now.since_us(since) >= limit_us)
    }

    /// It fences itself.
    pub(crate) fn isolate(&mut self, now: Timestamp) {
        if self.isolated || self.finished || self.view.holds().is_empty() {
            return;
        }
        self.isolated = true;
        self.say(What::IsolationStop(IsolationStop {
            fenced_at: now,
            ctl_seq: self.view.ctl_seq(),
            reason: "alone".to_owned(),
        }));
    }

    /// Its operator ends it: it serves its shards until others take them over, for a limited time.
    pub(crate) fn leave(&mut self, now: Timestamp) {
        if self.leaves_by.is_none() && self.view.created().is_some() && !self.finished {
            self.leaves_by = Some(now.plus_us(HAND_OVER_US));
            self.say(What::AgentLeaving);
        }
    }

    /// Whether it no longer waits for others to take over its shards.
    fn drains(&self, now: Timestamp) -> bool {
        self.leaves_by.is_some_and(|by| now >= by)
    }

    fn say(&mut self, what: What) {
        let boot_id = self.me.boot_id.clone();
        self.facts.push_back(Fact { boot_id, what });
    }

    /// Reacts to the decisions that it has applied.
    pub(crate) fn answer(&mut self, now: Timestamp) {
        let gathering = self.view.stage() == Stage::Gathering && self.view.created().is_some();
        if gathering && !self.offered {
            self.offered = true;
            self.say(What::CapacityOffered(CapacityOffered {
                rate: Rate::per_second(100),
                cores: 1,
                expires: now.plus_us(20_000_000),
                version: "1".to_owned(),
            }));
        }
        let generation = self.view.generation();
        let may_fire = matches!(self.view.stage(), Stage::Assigned | Stage::Scheduled { .. });
        if may_fire && generation > self.ready_for && !self.view.holds().is_empty() {
            self.ready_for = generation;
            let clock = ClockEstimate {
                offset_us: 0,
                bound_us: 1,
            };
            self.say(What::ShardsReady(ShardsReady {
                generation,
                clock,
                max_in_flight: 10,
            }));
        }
    }

    fn start_at(&self) -> Option<Timestamp> {
        match self.view.stage() {
            Stage::Scheduled { start_at } => Some(start_at),
            Stage::Stopping { start_at, .. } => start_at,
            Stage::Gathering | Stage::Assigned | Stage::Over => None,
        }
    }

    /// The coordinators' time by its own clock.
    fn believed(&self, now: Timestamp) -> Timestamp {
        Timestamp(now.0.saturating_add_signed(self.astray_us))
    }

    /// Starts the arrivals that are due and held, and drops the late ones.
    pub(crate) fn pace(
        &mut self,
        run: &Run,
        now: Timestamp,
        sent: &mut Vec<Sent>,
        dice: &mut Dice,
    ) {
        let drains = self.drains(now);
        let now = self.believed(now);
        let Some(start_at) = self.start_at() else {
            return;
        };
        if self.isolated || drains || self.closed || now < start_at {
            return;
        }
        let until = match self.view.stage() {
            Stage::Stopping { stop_at, .. } => now.min(stop_at.max(start_at)),
            _ => now,
        };
        self.known.learn(run, self.view.rates());
        let known = std::mem::take(&mut self.known);
        let dues_us = known.dues_us(run);
        let end = dues_us.partition_point(|&due_us| start_at.plus_us(due_us) < until) as u64;
        // It skips the arrivals that it has paced before, unless it has seen new decisions.
        let (seen, paced) = self.paced;
        let from = if seen == self.view.ctl_seq() {
            paced
        } else {
            0
        };
        self.paced = (self.view.ctl_seq(), end);
        for hold in self.view.holds() {
            for n in from..end {
                let due_us = dues_us[n as usize];
                let tick = run.workload.tick_of(due_us);
                let in_hold = tick >= hold.from_tick
                    && hold.until_tick.is_none_or(|until| tick < until)
                    && hold
                        .shards
                        .binary_search(&run.workload.shard_of(n, run.shards))
                        .is_ok();
                if in_hold {
                    let key = RowKey {
                        tick,
                        generation: hold.generation,
                        task: run.workload.task_of(n),
                    };
                    self.reach(run, n, key, start_at.plus_us(due_us), now, sent, dice);
                }
            }
        }
        self.known = known;
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "an arrival and the world that it meets"
    )]
    fn reach(
        &mut self,
        run: &Run,
        n: u64,
        key: RowKey,
        due_at: Timestamp,
        now: Timestamp,
        sent: &mut Vec<Sent>,
        dice: &mut Dice,
    ) {
        let before = self.reached.insert(n, key.generation);
        if before == Some(key.generation) {
            return;
        }
        let late = now.since_us(due_at) > run.plan.max_lateness_us;
        if late || before.is_some() {
            // An arrival that was reached in an older generation is never sent again.
            self.record(TallyEvent::Dropped(key, DropReason::Late));
            return;
        }
        if self.view.paused() {
            self.record(TallyEvent::Dropped(key, DropReason::Paused));
            return;
        }
        self.record(TallyEvent::Started(key));
        sent.push(Sent {
            n,
            tick: key.tick,
            generation: key.generation,
            holder: self.me.clone(),
            at: now,
            thawed: self.thawed,
        });
        let task = usize::from(key.task);
        let first: usize = run.plan.tasks[..task]
            .iter()
            .map(|task| task.steps.len())
            .sum();
        let mut began_at = now;
        for place in 0..run.plan.tasks[task].steps.len() {
            let ends_at = began_at.plus_us(dice.pick(1_000..400_000));
            let outcome = if dice.chance(95) {
                Outcome::Ok
            } else {
                Outcome::Http5xx
            };
            let end = CallEnd {
                tick: key.tick,
                generation: key.generation,
                call: (first + place) as u16,
                outcome,
                response_us: 0,
                service_us: 0,
                status: Some(200),
                cause: None,
                sent_bytes: 1,
                received_bytes: 1,
                phases: Phases::default(),
            };
            self.flights.push(Flight {
                counts: run.counts_calls,
                end,
                key,
                n,
                ends_at,
                due_at,
                began_at,
            });
            began_at = ends_at;
        }
    }

    /// Counts the calls that ended, closes a delta if one is due, and publishes the last words.
    pub(crate) fn count(&mut self, run: &Run, now: Timestamp) {
        let (ended, flying): (Vec<Flight>, Vec<Flight>) = self
            .flights
            .drain(..)
            .partition(|flight| flight.ends_at <= now);
        self.flights = flying;
        for flight in ended.into_iter().filter(|flight| flight.counts) {
            let response_us = flight.ends_at.since_us(flight.due_at);
            let service_us = flight.ends_at.since_us(flight.began_at);
            self.record(TallyEvent::Call(CallEnd {
                response_us,
                service_us,
                ..flight.end
            }));
            if flight.end.outcome != Outcome::Ok {
                self.record(TallyEvent::TaskError(flight.key));
            }
        }
        let started = self.start_at().is_some_and(|start_at| now >= start_at);
        let holds = !self.view.holds().is_empty();
        if started && holds && now >= self.close_at && !self.closed {
            self.close_at = now.plus_us(CLOSE_EVERY_US);
            self.close(now, self.outbox.len() < OUTBOX_MAX);
        }
        self.finish(run, now);
    }

    /// Counts an event, and copies it to the ring.
    fn record(&mut self, event: TallyEvent) {
        match &event {
            TallyEvent::Started(key) => self.tally.started(*key),
            TallyEvent::Dropped(key, reason) => self.tally.dropped(*key, *reason),
            TallyEvent::Call(end) => self.tally.call(end),
            TallyEvent::TaskError(key) => self.tally.task_error(*key),
            other => unreachable!("no simulated process records {other:?}"),
        }
        self.ring.push(event);
    }

    /// The files that a kill leaves, if the process takes part in the run.
    pub(crate) fn remains(&self, now: Timestamp) -> Option<Remains> {
        if self.view.holds().is_empty() || self.finished && self.facts.is_empty() {
            return None;
        }
        let flying = self.flights.iter();
        let flying = flying.filter(|flight| flight.counts && flight.began_at <= now);
        let in_flight = flying.map(|flight| InFlight {
            key: flight.key,
            arrival: (flight.n, 0),
            call: flight.end.call,
            waited_us: flight.began_at.since_us(flight.due_at),
            schedule_lag_us: None,
        });
        let since_us = |start_at: Timestamp| now.since_us(start_at);
        Some(Remains {
            boot_id: self.me.boot_id.clone(),
            spool: self.outbox.clone(),
            books: Checkpoint {
                last_seq: self.ledger.last_seq(),
                to_us: self.closed_us,
                totals: self.ledger.totals().clone(),
                marks: Vec::new(),
            },
            ring: Thread {
                events: self.ring.clone(),
                in_flight: in_flight.collect(),
                unrecorded: 0,
                last_us: self.start_at().map_or(0, since_us),
            },
        })
    }

    fn close(&mut self, now: Timestamp, has_room: bool) {
        let rows = self.tally.take();
        self.pending.merge(rows);
        if has_room {
            let rows = std::mem::take(&mut self.pending);
            let from_us = self.closed_us;
            self.closed_us = self.start_at().map_or(0, |start_at| now.since_us(start_at));
            let deltas = self
                .ledger
                .close(rows, from_us, self.closed_us, Gauges::default());
            self.ring.clear();
            self.outbox
                .extend(deltas.iter().map(|delta| encode(now, delta)));
        }
    }

    fn finish(&mut self, run: &Run, now: Timestamp) {
        let Some(reason) = self.reason_to_finish(run, now).filter(|_| !self.finished) else {
            return;
        };
        if !self.closed && self.flights.is_empty() {
            self.closed = true;
            self.close(now, true);
        }
        if self.closed && self.outbox.is_empty() {
            self.finished = true;
            self.say(What::ShardsFinished(ShardsFinished {
                reason,
                final_seq: self.ledger.last_seq(),
                totals: self.ledger.totals().clone(),
                on_stop_failed: None,
            }));
        }
    }

    fn reason_to_finish(&self, run: &Run, now: Timestamp) -> Option<FinishReason> {
        let drains = self.drains(now);
        let now = self.believed(now);
        let holds = self.view.holds();
        let last = holds.last()?;
        if self.isolated {
            return Some(FinishReason::Isolated);
        }
        if drains {
            return Some(FinishReason::Left);
        }
        let start_at = self.start_at()?;
        if self.view.superseded() {
            let until_us = last
                .until_tick
                .map(|tick| u64::from(tick) * run.plan.tick_us);
            let over = until_us.is_none_or(|us| now >= start_at.plus_us(us));
            return over.then_some(FinishReason::Superseded);
        }
        if let Stage::Stopping { stop_at, .. } = self.view.stage() {
            return (now >= stop_at).then_some(FinishReason::Stopped);
        }
        let ends_at = start_at.plus_us(run.workload.duration_us());
        (now >= ends_at).then_some(FinishReason::Completed)
    }
}
