//! Rules about the decisions of a run, judged from the decisions and the plan alone.
//!
//! Must never depend on what a coordinator knew: the log alone decides whether a decision is
//! allowed.

use std::collections::BTreeSet;

use loadpilot_events::id::{AgentId, Holder};
use loadpilot_events::log::assign::{Holding, Loss};
use loadpilot_events::log::ctl::{Decision, RunCreated, RunSealed, ShardsReassigned};
use loadpilot_events::log::steer::RateChanged;
use loadpilot_events::units::Timestamp;

use crate::control::created_run::{CreatedRun, RequestedPlan};
use crate::fold::invariants::{Breaches, Invariant};

/// A decision and its position in the log.
#[derive(Debug, Clone, Copy)]
pub struct Decided<'a> {
    /// Its subject.
    pub subject: &'a str,
    /// Its stream sequence in LP_CTL.
    pub seq: u64,
    /// When it was decided, by its writer's clock.
    pub at: Timestamp,
    /// The decision.
    pub decision: &'a Decision,
}

/// Judges the decisions of one run, in the order of the log; `request` is that for the run.
#[must_use]
pub fn decisions<'a>(
    request: Option<RequestedPlan<'a>>,
    log: impl IntoIterator<Item = Decided<'a>>,
) -> Breaches {
    let mut state = State {
        request,
        ..State::default()
    };
    for decided in log {
        state.take(decided);
        state.last_seq = decided.seq;
    }
    state.breaches
}

/// The state after the decisions so far.
#[derive(Debug, Default)]
struct State<'a> {
    request: Option<RequestedPlan<'a>>,
    breaches: Breaches,
    /// Subject and sequence of the current decision.
    position: (String, u64),
    last_seq: u64,
    /// The latest time of a decision: no later decision is for an earlier time.
    now: Timestamp,
    created: Option<Box<CreatedRun>>,
    generation: u32,
    takeover_tick: u32,
    held_now: BTreeSet<Holder>,
    ever_held: BTreeSet<Holder>,
    /// Whether there was a decision other than the place of a run that waits.
    has_begun: bool,
    lost: BTreeSet<Holder>,
    start_at: Option<Timestamp>,
    /// Requests to steer that were answered.
    answered: BTreeSet<u64>,
    paused: bool,
    stopped: bool,
    cancelled: bool,
    over: bool,
}

impl State<'_> {
    fn rule(&mut self, holds: bool, invariant: Invariant, what: impl Into<String>) {
        if !holds {
            self.breaches
                .note(invariant, &self.position.0, self.position.1, what);
        }
    }

    fn take(&mut self, decided: Decided<'_>) {
        self.position = (decided.subject.to_owned(), decided.seq);
        self.now = self.now.max(decided.at);
        let rises = decided.seq > self.last_seq;
        self.rule(
            rises,
            Invariant::Created,
            "it stands before what it follows",
        );
        if self.over {
            return self.rule(false, Invariant::End, "the run was over");
        }
        self.over = is_end(decided.decision);
        let begins = matches!(
            decided.decision,
            Decision::RunQueued(_) | Decision::RunCreated(_) | Decision::RunRefused(_)
        );
        let known = begins || self.created.is_some();
        self.rule(known, Invariant::Created, "the run was not created yet");
        self.judge(decided.decision);
        self.has_begun |= !matches!(decided.decision, Decision::RunQueued(_));
    }

    fn judge(&mut self, decision: &Decision) {
        match decision {
            Decision::RunQueued(queued) => {
                let early = !self.has_begun;
                self.rule(early, Invariant::Created, "a run that exists waits");
                let sound = (1..=queued.waiting).contains(&queued.place);
                self.rule(sound, Invariant::Created, "a place outside of the queue");
            }
            Decision::RunCreated(created) => {
                let first = !self.has_begun;
                self.rule(
                    first,
                    Invariant::Created,
                    "RunCreated is not the first decision",
                );
                self.created(created);
            }
            Decision::RunRefused(refused) => {
                let early = self.generation == 0;
                let says_why = !refused.problems.is_empty();
                self.rule(
                    early,
                    Invariant::Created,
                    "a run that was assigned is refused",
                );
                self.rule(says_why, Invariant::Created, "a refusal does not say why");
            }
            Decision::ShardsAssigned(assigned) => {
                let first = assigned.generation == 1;
                self.rule(
                    first,
                    Invariant::Generations,
                    "the first one is not generation 1",
                );
                self.hand_over(assigned.generation, &assigned.holdings);
            }
            Decision::ShardsReassigned(next) => self.reassigned(next),
            Decision::CapacityReduced(reduced) => {
                let has_losses = !reduced.losses.is_empty();
                self.rule(has_losses, Invariant::Holdings, "nobody was lost");
                self.lose(&reduced.losses);
            }
            Decision::StartScheduled(start) => self.started(start.start_at),
            Decision::StartCancelled(_) => {
                let open = self.start_at.is_none() && !self.cancelled;
                self.rule(open, Invariant::Instants, "there is no start to cancel");
                self.cancelled = true;
            }
            Decision::StopScheduled(stop) => {
                let open = self.start_at.is_some() && !self.stopped;
                let ahead = stop.stop_at >= self.now;
                self.rule(open, Invariant::Instants, "there is nothing to stop");
                self.rule(ahead, Invariant::Instants, "the stop lies in the past");
                self.stopped = true;
            }
            Decision::RateChanged(changed) => {
                self.answers(changed.request);
                self.rate_changed(changed);
            }
            Decision::Paused(paused) => {
                self.answers(paused.request);
                let open = !self.paused && paused.paused_at >= self.now;
                self.rule(open, Invariant::Steering, "there is nothing to pause");
                self.paused = true;
            }
            Decision::Resumed(resumed) => {
                self.answers(resumed.request);
                let open = self.paused && resumed.resumed_at >= self.now;
                self.rule(open, Invariant::Steering, "there is nothing to resume");
                self.paused = false;
            }
            Decision::SteeringRefused(refused) => self.answers(refused.request),
            Decision::RunSealed(seal) => self.sealed(seal),
        }
    }

    /// Checks that the run has a plan: its own, or that of its request. The plan of a redacted run
    /// file is not the one that was hashed, so the hash is not judged here.
    fn created(&mut self, created: &RunCreated) {
        match CreatedRun::of(created, self.request) {
            Ok(run) => drop(self.created.get_or_insert_with(|| Box::new(run))),
            Err(why) => self.rule(false, Invariant::Created, why),
        }
    }

    /// Checks an answer to a request to steer: one per request, while the run goes on.
    fn answers(&mut self, request: u64) {
        let once = self.answered.insert(request);
        let what = format!("request {request} was answered before");
        self.rule(once, Invariant::Steering, what);
        let runs = self.start_at.is_some() && !self.stopped && !self.cancelled;
        self.rule(runs, Invariant::Steering, "the run does not run");
    }

    fn rate_changed(&mut self, changed: &RateChanged) {
        let before = self.held_now.clone();
        self.hand_over(changed.generation, &changed.holdings);
        let same = before == self.held_now;
        self.rule(
            same,
            Invariant::Steering,
            "a change of the rate moves shards",
        );
        self.begins(changed.from_tick);
    }

    fn started(&mut self, start_at: Timestamp) {
        let open = self.generation > 0 && self.start_at.is_none() && !self.cancelled;
        self.rule(open, Invariant::Instants, "there is nothing to start");
        let lead_us = self.created.as_ref().map_or(0, |created| created.lead_us);
        let led = start_at >= self.now.plus_us(lead_us);
        self.rule(led, Invariant::Instants, "the start lacks its lead");
        self.start_at.get_or_insert(start_at);
    }

    fn reassigned(&mut self, next: &ShardsReassigned) {
        let is_assigned = self.generation > 0;
        self.rule(
            is_assigned,
            Invariant::Generations,
            "there is no assignment to change",
        );
        self.lose(&next.losses);
        self.hand_over(next.generation, &next.holdings);
        self.begins(next.takeover_tick);
    }

    /// Checks the tick from which the current map is in force.
    fn begins(&mut self, tick: u32) {
        let in_order = tick >= self.takeover_tick;
        let what = format!("it begins at tick {tick}, before the one it follows");
        self.rule(in_order, Invariant::Generations, what);
        self.takeover_tick = tick;
        let Some(start_at) = self.start_at else {
            let whole = tick == 0;
            let what = "before the start the whole run changes hands";
            return self.rule(whole, Invariant::Generations, what);
        };
        let Some(plan) = self.created.as_ref().map(|created| &created.plan) else {
            return;
        };
        let from_us = u64::from(tick).saturating_mul(plan.tick_us);
        let (ahead, inside) = (
            start_at.plus_us(from_us) > self.now,
            from_us < plan.profile.duration_us(),
        );
        self.rule(
            ahead,
            Invariant::Generations,
            format!("tick {tick} has begun"),
        );
        self.rule(
            inside,
            Invariant::Generations,
            format!("there is no tick {tick}"),
        );
    }

    fn hand_over(&mut self, generation: u32, holdings: &[Holding]) {
        let next = self.generation.saturating_add(1);
        let what = format!("generation {generation} follows {}", self.generation);
        self.rule(generation == next, Invariant::Generations, what);
        let goes_on = !self.stopped && !self.cancelled;
        let what = "shards move in a run that has ended";
        self.rule(goes_on, Invariant::Generations, what);
        let shards = self.created.as_ref().map_or(0, |created| created.shards);
        let mut assigned = BTreeSet::new();
        let mut agents: BTreeSet<&AgentId> = BTreeSet::new();
        self.held_now.clear();
        for holding in holdings {
            let holder = &holding.holder;
            let was_lost = self.lost.contains(holder);
            let what = format!("{holder} was lost, and gets shards");
            self.rule(!was_lost, Invariant::Holdings, what);
            let one = agents.insert(&holder.agent);
            let what = format!("agent {} stands in it twice", holder.agent);
            self.rule(one, Invariant::Holdings, what);
            let sound = !holding.shards.is_empty() && holding.shards.is_sorted();
            let what = format!("{holder} holds no list of shards");
            self.rule(sound, Invariant::Holdings, what);
            self.held_now.insert(holder.clone());
            for &shard in &holding.shards {
                let once = shard < shards && assigned.insert(shard);
                let what = format!("shard {shard} of {shards} is given to {holder}, too");
                self.rule(once, Invariant::Holdings, what);
            }
        }
        let all = assigned.len() == shards as usize;
        let what = format!("{} of {shards} shards have a holder", assigned.len());
        self.rule(all, Invariant::Holdings, what);
        self.ever_held.extend(self.held_now.iter().cloned());
        self.generation = self.generation.max(generation);
    }

    fn lose(&mut self, losses: &[Loss]) {
        for loss in losses {
            let held = self.held_now.remove(&loss.holder);
            let what = format!("{} loses shards and has none", loss.holder);
            self.rule(held, Invariant::Holdings, what);
            self.lost.insert(loss.holder.clone());
        }
    }

    fn sealed(&mut self, seal: &RunSealed) {
        let follows = seal.ctl_seq == self.last_seq;
        let what = format!(
            "it names decision {}, and follows {}",
            seal.ctl_seq, self.last_seq
        );
        self.rule(follows, Invariant::Seal, what);
        if seal.unnamed.is_some() {
            // The counts are judged together with the facts.
            return;
        }
        let finals = seal.finals.iter().map(|last| &last.holder);
        let named: Vec<&Holder> = finals.chain(&seal.missing).collect();
        let once: BTreeSet<&Holder> = named.iter().copied().collect();
        self.rule(
            once.len() == named.len(),
            Invariant::Seal,
            "it names somebody twice",
        );
        let omitted = self.ever_held.iter().find(|holder| !once.contains(holder));
        let what = omitted.map(|holder| format!("{holder} held shards and is not named"));
        self.rule(omitted.is_none(), Invariant::Seal, what.unwrap_or_default());
        let unknown = once
            .into_iter()
            .find(|holder| !self.ever_held.contains(*holder));
        let what = unknown.map(|holder| format!("{holder} never held shards"));
        self.rule(what.is_none(), Invariant::Seal, what.unwrap_or_default());
    }
}

/// Whether a decision ends the run.
pub(crate) fn is_end(decision: &Decision) -> bool {
    matches!(decision, Decision::RunSealed(_) | Decision::RunRefused(_))
}
