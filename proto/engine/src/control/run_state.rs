//! The state of one run, for deciding: the fold of its requests, decisions and facts.
//!
//! [`RunState::evolve`] is total, since every record in the log has happened. It must never refuse
//! or panic, nor hold anything that is not in the log; heartbeats are not.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use loadpilot_events::id::{AgentId, Holder, OwnerId};
use loadpilot_events::log::admission::RunQueued;
use loadpilot_events::log::assign::{Generation, Holding, Loss};
use loadpilot_events::log::ctl::{Decision, StartScheduled, StopReason, StopScheduled};
use loadpilot_events::log::evt::{
    CapacityOffered, Fact, FailureCause, ShardsFinished, ShardsReady, TailReported, What,
};
use loadpilot_events::log::req::{Breach, Request, RunRequested, StopRequested};
use loadpilot_events::units::Timestamp;

use crate::check;
use crate::control::created_run::{CreatedRun, RequestedPlan};
use crate::control::steering::Steering;
use crate::schedule::workload::Workload;

/// A record of the log.
#[derive(Debug, Clone, Copy)]
pub enum Record<'a> {
    /// A request.
    Request(&'a Request),
    /// A decision of a coordinator.
    Decision(&'a Decision),
    /// A fact of the agent that the subject names.
    Fact(&'a AgentId, &'a Fact),
}

/// One run according to its log.
#[derive(Debug, Clone, Default)]
pub struct RunState {
    /// The request for the run.
    pub requested: Option<Box<RunRequested>>,
    /// Stream sequence of this request; 0 before it.
    pub request_seq: u64,
    /// The newest place of the run while it waits for its admission.
    pub queued: Option<RunQueued>,
    /// When that was decided.
    pub queued_at: Timestamp,
    /// The run as it was created. Absent, too, where the log lacks the request with its plan.
    pub created: Option<Box<CreatedRun>>,
    /// The workload as planned, where a feed may end the run.
    pub ended_by_rows: Option<Arc<Workload>>,
    /// Holders that offered capacity.
    pub offers: BTreeMap<Holder, CapacityOffered>,
    /// The current map; empty before the first assignment.
    pub holdings: Vec<Holding>,
    /// The number of the current assignment; 0 before the first.
    pub generation: Generation,
    /// Until when holders must be ready.
    pub ready_by: Option<Timestamp>,
    /// All processes that ever held shards.
    pub ever_held: BTreeSet<Holder>,
    /// Newest `ShardsReady` of each holder that is ready.
    pub ready: BTreeMap<Holder, ShardsReady>,
    /// The start, once scheduled.
    pub start: Option<StartScheduled>,
    /// Why the start was cancelled.
    pub cancelled: Option<String>,
    /// First request to stop.
    pub stop_requested: Option<StopRequested>,
    /// Changes of the rate and pauses, and unanswered requests.
    pub steering: Steering,
    /// The stop, once scheduled.
    pub stop: Option<StopScheduled>,
    /// Holders that finished, with their final totals.
    pub finished: BTreeMap<Holder, ShardsFinished>,
    /// Killed processes, with the tail that a later process of their agent reported.
    pub tails: BTreeMap<Holder, TailReported>,
    /// Holders that gave up, and agents that leave.
    pub resigned: BTreeMap<Holder, Resignation>,
    /// Whether a holder could not store its deltas since the log was full.
    pub log_full: bool,
    /// Holders that were declared lost.
    pub lost: BTreeMap<Holder, Loss>,
    /// Since when the run has no holder.
    pub no_holder_since: Option<Timestamp>,
    /// Whether the run is sealed or refused.
    pub over: bool,
    /// Stream sequence of the last decision.
    pub ctl_seq: u64,
    /// Stream sequence of the last fact.
    pub evt_seq: u64,
    /// The first tick of the current map.
    pub takeover_tick: u32,
    /// The first tick of each holder: of the map since which it holds shards.
    pub held_from: BTreeMap<Holder, u32>,
    /// The latest time of a decision: `now` never runs behind it. Clocks of agents and users do not
    /// count: a clock that is hours ahead must not make every holder look silent.
    pub latest_at: Timestamp,
}

/// Why a holder gave up its shards itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resignation {
    /// The agent failed.
    Failed,
    /// The operator ends the agent. It serves its shards until others take them over.
    Leaving,
    /// The agent lost contact and fenced itself.
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

    /// The owner whose heartbeats keep the run alive, if it has one.
    #[must_use]
    pub fn owner(&self) -> Option<&OwnerId> {
        self.created
            .as_ref()
            .and_then(|created| created.owner.as_ref())
    }

    /// The plan of the request for the run, with the sequence of the request.
    #[must_use]
    pub fn requested_plan(&self) -> Option<RequestedPlan<'_>> {
        let requested = self.requested.as_deref()?;
        Some(RequestedPlan {
            seq: self.request_seq,
            plan: &requested.plan,
        })
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
            // The first request creates the run; another one under the same id is a retry.
            Request::RunRequested(run) if self.requested.is_none() => {
                self.requested = Some(run.clone());
                self.request_seq = seq;
            }
            Request::RunRequested(_) => {}
            Request::StopRequested(stop) => {
                self.stop_requested.get_or_insert_with(|| stop.clone());
            }
            Request::RateChangeRequested(_)
            | Request::PauseRequested(_)
            | Request::ResumeRequested(_)
            | Request::RunAnnotated(_)
            | Request::SetupClaimed(_)
            | Request::SetupKept(_)
            | Request::TeardownClaimed(_)
            | Request::TeardownFinished(_) => {}
        }
    }

    fn on_decision(&mut self, at: Timestamp, decision: &Decision) {
        match decision {
            Decision::RunQueued(queued) => {
                self.queued = Some(queued.clone());
                self.queued_at = at;
            }
            Decision::RunCreated(created) => {
                let Ok(created) = CreatedRun::of(created, self.requested_plan()) else {
                    return;
                };
                // A log may hold any plan: an invalid one has no workload.
                let is_ended = created.plan.feeds().iter().any(|feed| feed.stops)
                    && check::plan(&created.plan).is_empty();
                let workload = || Arc::new(Workload::new(&created.plan, created.seed));
                self.ended_by_rows = is_ended.then(workload);
                self.created = Some(Box::new(created));
            }
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
        let takeover_tick = self.takeover_tick;
        let mut before = std::mem::take(&mut self.held_from);
        let first_tick = |Holding { holder, .. }: &Holding| {
            let tick = before.remove(holder).unwrap_or(takeover_tick);
            (holder.clone(), tick)
        };
        self.held_from = holdings.iter().map(first_tick).collect();
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
            // One that failed or fenced itself serves nothing any more.
            What::AgentLeaving => {
                let resigned = self.resigned.entry(holder);
                resigned.or_insert(Resignation::Leaving);
            }
            What::IsolationStop(_) => {
                self.resigned.insert(holder, Resignation::Isolated);
            }
            // A later report may have found less than the first.
            What::TailReported(tail) => {
                self.tails.entry(holder).or_insert_with(|| tail.clone());
            }
        }
    }

    /// Gate whose breach stopped the run before the end of its profile.
    #[must_use]
    pub fn breach(&self) -> Option<&Breach> {
        let is_by_request = matches!(self.stop_reason(), Some(StopReason::Requested { .. }));
        let request = self.stop_requested.as_ref().filter(|_| is_by_request)?;
        request.breach.as_ref()
    }

    /// Why the run was stopped before the end of its profile.
    #[must_use]
    pub fn stop_reason(&self) -> Option<&StopReason> {
        self.stop.as_ref().map(|stop| &stop.reason)
    }
}
