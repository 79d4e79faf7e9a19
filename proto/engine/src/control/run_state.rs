//! What the log says about one run, for deciding: the fold of its requests, decisions and facts.
//!
//! [`RunState::evolve`] is total: whatever is in the log has happened. It must never refuse,
//! panic, or know anything that is not in the log (who was heard lately is not).

use std::collections::{BTreeMap, BTreeSet};

use loadpilot_events::id::{AgentId, Holder, OwnerId};
use loadpilot_events::log::assign::{Generation, Holding, Loss};
use loadpilot_events::log::ctl::{Decision, RunCreated, StartScheduled, StopReason, StopScheduled};
use loadpilot_events::log::evt::{
    CapacityOffered, Fact, FailureCause, ShardsFinished, ShardsReady, TailReported, What,
};
use loadpilot_events::log::req::{Request, RunRequested};
use loadpilot_events::units::Timestamp;

use crate::control::steering::Steering;

/// Something the log says about a run.
#[derive(Debug, Clone, Copy)]
pub enum Record<'a> {
    /// Somebody asked.
    Request(&'a Request),
    /// A coordinator decided.
    Decision(&'a Decision),
    /// An agent, named by the subject, stated a fact.
    Fact(&'a AgentId, &'a Fact),
}

/// One run as the log tells it.
#[derive(Debug, Clone, Default)]
pub struct RunState {
    /// The request that asked for it.
    pub requested: Option<Box<RunRequested>>,
    /// What was created.
    pub created: Option<Box<RunCreated>>,
    /// Who offered capacity.
    pub offers: BTreeMap<Holder, CapacityOffered>,
    /// The current map; empty before the first assignment.
    pub holdings: Vec<Holding>,
    /// The number of the current assignment; 0 before the first.
    pub generation: Generation,
    /// Until when holders must be ready.
    pub ready_by: Option<Timestamp>,
    /// Everybody who ever held shards.
    pub ever_held: BTreeSet<Holder>,
    /// Who is ready.
    pub ready: BTreeMap<Holder, ShardsReady>,
    /// When it starts or started.
    pub start: Option<StartScheduled>,
    /// Why it will not start.
    pub cancelled: Option<String>,
    /// Who asked to stop it, first.
    pub stop_requested: Option<String>,
    /// How it was steered, and what is asked for.
    pub steering: Steering,
    /// When it stops or stopped before its end.
    pub stop: Option<StopScheduled>,
    /// Who said its last words.
    pub finished: BTreeMap<Holder, ShardsFinished>,
    /// Who was killed, and what it left as a later process of its agent reported it.
    pub tails: BTreeMap<Holder, TailReported>,
    /// Who said that it cannot go on, or leaves.
    pub resigned: BTreeMap<Holder, Resignation>,
    /// Whether a holder found no room in the log for its deltas.
    pub log_full: bool,
    /// Who was declared lost.
    pub lost: BTreeMap<Holder, Loss>,
    /// When the last holder was lost without a substitute.
    pub no_holder_since: Option<Timestamp>,
    /// Whether it is sealed or refused.
    pub over: bool,
    /// The last decision, as a stream sequence.
    pub ctl_seq: u64,
    /// The last fact, as a stream sequence.
    pub evt_seq: u64,
    /// The first tick of the current map.
    pub takeover_tick: u32,
    /// The latest time of a decision: `now` never runs behind it. The clocks of agents and users
    /// prove nothing here: one that is hours ahead must not make everybody look silent.
    pub latest_at: Timestamp,
}

/// Why a holder gave up its shards by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resignation {
    /// It cannot do them.
    Failed,
    /// Its operator ends it.
    Leaving,
    /// It had lost control.
    Isolated,
}

impl RunState {
    /// The state after one more record, stored at `seq` of LP_CTL with writer's time `at`.
    #[must_use]
    pub fn evolve(mut self, seq: u64, at: Timestamp, record: Record<'_>) -> Self {
        match record {
            Record::Request(request) => self.on_request(seq, request),
            Record::Decision(decision) => {
                self.ctl_seq = seq;
                self.latest_at = self.latest_at.max(at);
                self.on_decision(at, decision);
            }
            Record::Fact(agent, fact) => {
                self.evt_seq = seq;
                let holder = Holder {
                    agent: agent.clone(),
                    boot_id: fact.boot_id.clone(),
                };
                self.on_fact(holder, &fact.what);
            }
        }
        self
    }

    /// The owner that keeps it alive, if it has one.
    #[must_use]
    pub fn owner(&self) -> Option<&OwnerId> {
        self.created
            .as_ref()
            .and_then(|created| created.owner.as_ref())
    }

    /// Whether this process holds shards now.
    #[must_use]
    pub fn holds(&self, holder: &Holder) -> bool {
        self.holdings
            .iter()
            .any(|holding| holding.holder == *holder)
    }

    fn on_request(&mut self, seq: u64, request: &Request) {
        self.steering.on_request(seq, request);
        match request {
            // The first request makes the run; a second one under the same id is a retry.
            Request::RunRequested(run) if self.requested.is_none() => {
                self.requested = Some(run.clone());
            }
            Request::RunRequested(_) => {}
            Request::StopRequested(stop) => {
                self.stop_requested.get_or_insert_with(|| stop.by.clone());
            }
            Request::RateChangeRequested(_)
            | Request::PauseRequested(_)
            | Request::ResumeRequested(_)
            | Request::SetupClaimed(_)
            | Request::SetupKept(_)
            | Request::TeardownClaimed(_)
            | Request::TeardownFinished(_) => {}
        }
    }

    fn on_decision(&mut self, at: Timestamp, decision: &Decision) {
        match decision {
            Decision::RunCreated(created) => self.created = Some(created.clone()),
            Decision::RunRefused(_) | Decision::RunSealed(_) => self.over = true,
            Decision::ShardsAssigned(assigned) => {
                self.ready_by = Some(assigned.ready_by);
                self.hand_over(assigned.generation, &assigned.holdings);
            }
            Decision::ShardsReassigned(next) => {
                self.lose(&next.losses);
                self.takeover_tick = next.takeover_tick;
                self.hand_over(next.generation, &next.holdings);
            }
            Decision::CapacityReduced(reduced) => {
                self.lose(&reduced.losses);
                if self.holdings.is_empty() {
                    self.no_holder_since.get_or_insert(at);
                }
            }
            Decision::StartScheduled(start) => self.start = Some(start.clone()),
            Decision::StartCancelled(cancelled) => self.cancelled = Some(cancelled.reason.clone()),
            Decision::RateChanged(changed) => {
                self.steering.on_rate_changed(changed);
                self.takeover_tick = changed.from_tick;
                self.generation = changed.generation;
                self.holdings.clone_from(&changed.holdings);
            }
            Decision::Paused(paused) => self.steering.on_paused(paused),
            Decision::Resumed(resumed) => self.steering.on_resumed(resumed),
            Decision::SteeringRefused(refused) => self.steering.on_refused(refused),
            Decision::StopScheduled(stop) => self.stop = Some(stop.clone()),
        }
    }

    fn hand_over(&mut self, generation: Generation, holdings: &[Holding]) {
        self.generation = generation;
        self.holdings = holdings.to_vec();
        self.ever_held
            .extend(holdings.iter().map(|holding| holding.holder.clone()));
        self.no_holder_since = None;
    }

    fn lose(&mut self, losses: &[Loss]) {
        for loss in losses {
            self.lost.insert(loss.holder.clone(), loss.clone());
        }
        let gone: BTreeSet<&Holder> = losses.iter().map(|loss| &loss.holder).collect();
        self.holdings
            .retain(|holding| !gone.contains(&holding.holder));
    }

    fn on_fact(&mut self, holder: Holder, what: &What) {
        match what {
            What::CapacityOffered(offer) => {
                self.offers.insert(holder, offer.clone());
            }
            What::ShardsReady(ready) => {
                self.ready.insert(holder, ready.clone());
            }
            What::ShardsStarted(_) => {}
            What::ShardsFinished(finished) => {
                self.finished.insert(holder, finished.clone());
            }
            What::ShardsFailed(failed) => {
                self.log_full |= failed.cause == FailureCause::LogFull;
                self.resigned.insert(holder, Resignation::Failed);
            }
            What::AgentLeaving => {
                self.resigned.insert(holder, Resignation::Leaving);
            }
            What::IsolationStop(_) => {
                self.resigned.insert(holder, Resignation::Isolated);
            }
            // Whoever says it again may have found less than the first.
            What::TailReported(tail) => {
                self.tails.entry(holder).or_insert_with(|| tail.clone());
            }
        }
    }

    /// Why it stopped, when it was not its profile that ended it.
    #[must_use]
    pub fn stop_reason(&self) -> Option<&StopReason> {
        self.stop.as_ref().map(|stop| &stop.reason)
    }
}
