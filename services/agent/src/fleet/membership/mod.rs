//! State of this agent over all runs that it serves. Pure: instants are arguments, and the agent's
//! loop performs the decisions made here.
//!
//! Agents have no consumer: they receive events live, at most once, and missing ones in the reply
//! to a heartbeat. An event whose predecessor is missing is not applied.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use loadpilot_engine::control::agent_view::{AgentView, Applied, Stage};
use loadpilot_engine::control::created_run::CreatedRun;
use loadpilot_events::log::evt::FinishReason;
use loadpilot_events::wire::heartbeat::{AgentBeat, HeartbeatReply, News, Seen};
use loadpilot_events::{BootId, Capability, Holder, Rate, RunId, TenantId, Timestamp};
use tokio::time::Instant;

use crate::fleet::capacity;
use crate::fleet::fence::{self, Contact};
use crate::process::timeouts::Timeouts;
use crate::runs::run_commands::{Fenced, RunCommands};

/// Maximum number of remembered runs that are over: a lagging coordinator may still mention them.
const OVER_RUNS_MAX: usize = 4_096;

/// All runs that this agent knows of.
#[derive(Debug)]
pub struct Membership {
    me: Holder,
    predecessor_dead: bool,
    capabilities: BTreeSet<Capability>,
    contact: Contact,
    /// Since when replies were too short to contain all missing events.
    more_since: Option<Instant>,
    leave: Leave,
    /// Killed processes of this agent that are not reported yet, by run.
    recovering: BTreeSet<(RunId, BootId)>,
    runs: BTreeMap<RunId, RunEntry>,
    over: VecDeque<RunId>,
}

/// Progress of leaving.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Leave {
    /// It stays.
    No,
    /// It takes no new runs, and serves its shards until others take them over.
    HandsOver,
    /// It starts no more arrivals.
    Drains,
}

/// One run.
#[derive(Debug)]
struct RunEntry {
    /// Tenant of the run; `None`: the agent's own.
    tenant: Option<TenantId>,
    view: AgentView,
    behind_since: Option<Instant>,
    offered: Option<Rate>,
    isolated: Option<Fenced>,
    halted: bool,
    /// Its final event is published: the agent holds nothing of it any more, whatever the
    /// assignment says.
    finished: bool,
    /// The agent was replaced in it or stopped by itself, and could continue under another boot id.
    must_rejoin: bool,
    /// Whether its log contains that the agent leaves.
    knows_leave: bool,
}

/// Capacity to be offered to one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// The run.
    pub run: RunId,
    /// The rate.
    pub rate: Rate,
    /// When its wait for agents ends, on the coordinators' clock.
    pub gather_by: Timestamp,
}

impl Membership {
    /// State of an agent that has just started, with its capabilities.
    #[must_use]
    pub fn new(
        me: Holder,
        predecessor_dead: bool,
        capabilities: BTreeSet<Capability>,
        now: Instant,
    ) -> Self {
        Self {
            me,
            predecessor_dead,
            capabilities,
            contact: Contact::new(now),
            more_since: None,
            leave: Leave::No,
            recovering: BTreeSet::new(),
            runs: BTreeMap::new(),
            over: VecDeque::new(),
        }
    }

    /// The heartbeat: the agent's identity, the last event seen of each run, and whether any of its
    /// `capacity` is left.
    #[must_use]
    pub fn beat(&self, capacity: Rate) -> AgentBeat {
        let seen = self.runs.iter().map(|(run, entry)| Seen {
            run: run.clone(),
            ctl_seq: entry.view.ctl_seq(),
        });
        // Coordinators report the end of a run only to agents that list it.
        let runs: BTreeSet<&RunId> = self.recovering.iter().map(|(run, _)| run).collect();
        let unknown = runs.into_iter().filter(|run| !self.runs.contains_key(run));
        let seen = seen.chain(unknown.map(|run| Seen {
            run: run.clone(),
            ctl_seq: 0,
        }));
        let boots: BTreeSet<&BootId> = self.recovering.iter().map(|(_, boot)| boot).collect();
        AgentBeat {
            boot_id: self.me.boot_id.clone(),
            predecessor_dead: self.predecessor_dead,
            seen: seen.collect(),
            has: self.capabilities.clone(),
            recovering: boots.into_iter().cloned().collect(),
            unreached: Vec::new(),
            about: None,
            full: self.leaves() || self.left(capacity) == Rate(0),
        }
    }

    /// Capacity that is promised to no run.
    fn left(&self, capacity: Rate) -> Rate {
        capacity::left(capacity, self.runs.values().map(RunEntry::claim))
    }

    /// Applies one event, live or from a reply.
    pub fn apply(&mut self, news: &News, now: Instant) -> Applied {
        if self.over.contains(&news.run) {
            return Applied::Duplicate;
        }
        let entry = self
            .runs
            .entry(news.run.clone())
            .or_insert_with(|| RunEntry {
                tenant: news.tenant.clone(),
                view: AgentView::new(self.me.clone()),
                behind_since: None,
                offered: None,
                isolated: None,
                halted: false,
                finished: false,
                must_rejoin: false,
                knows_leave: false,
            });
        if entry.tenant != news.tenant {
            let (run, known, named) = (&news.run, &entry.tenant, &news.tenant);
            tracing::warn!(%run, ?known, ?named, "event of another tenant left out");
            return Applied::Duplicate;
        }
        let applied = entry.view.apply(news);
        match applied {
            Applied::Gap => {
                entry.behind_since.get_or_insert(now);
            }
            Applied::Applied => entry.behind_since = None,
            Applied::Duplicate => {}
        }
        applied
    }

    /// Applies the reply to the heartbeat sent at `sent_at`; returns whether to send another now.
    pub fn on_reply(&mut self, reply: &HeartbeatReply, sent_at: Instant, now: Instant) -> bool {
        self.contact.on_reply(sent_at);
        for news in &reply.news {
            self.apply(news, now);
        }
        if reply.more {
            self.more_since.get_or_insert(now);
        } else {
            self.more_since = None;
        }
        reply.more && !reply.news.is_empty()
    }

    /// NATS answered the heartbeat sent at `sent_at` with "no responders".
    pub fn on_no_responder(&mut self, sent_at: Instant) {
        self.contact.on_no_responder(sent_at);
    }

    /// The kill switch of `run` was used by `tenant`; `None` is the agent's own tenant. The kill
    /// switch of another tenant's run has no effect.
    pub fn halt(&mut self, tenant: Option<&TenantId>, run: &RunId) {
        let entry = self.runs.get_mut(run);
        match entry.filter(|entry| entry.tenant.as_ref() == tenant) {
            Some(entry) => entry.halted = true,
            None => tracing::info!(%run, ?tenant, "halt of an unknown or another tenant's run"),
        }
    }

    /// Tenant of a run that is not over; `None`: the agent's own, or unknown.
    #[must_use]
    pub fn tenant(&self, run: &RunId) -> Option<&TenantId> {
        self.runs.get(run)?.tenant.as_ref()
    }

    /// The other tenants of which it knows runs.
    pub fn tenants(&self) -> impl Iterator<Item = &TenantId> {
        self.runs.values().filter_map(|entry| entry.tenant.as_ref())
    }

    /// A killed process of this agent left files of a run.
    pub fn add_recovering(&mut self, run: RunId, boot_id: BootId) {
        self.recovering.insert((run, boot_id));
    }

    /// Its files are reported or removed.
    pub fn recovered(&mut self, run: &RunId, boot_id: &BootId) {
        self.recovering.remove(&(run.clone(), boot_id.clone()));
    }

    /// Definition of a run, if known and not over.
    #[must_use]
    pub fn created(&self, run: &RunId) -> Option<&CreatedRun> {
        self.runs.get(run)?.view.created()
    }

    /// Whether a run is known to be over.
    #[must_use]
    pub fn is_over(&self, run: &RunId) -> bool {
        self.over.contains(run)
    }

    /// The agent leaves: it takes no new runs, and serves its shards until others take them over.
    pub fn leave(&mut self) {
        if !self.leaves() {
            self.leave = Leave::HandsOver;
        }
    }

    /// The agent ends the wait for others to take its shards over.
    pub fn drain(&mut self) {
        self.leave = Leave::Drains;
    }

    /// Whether the agent leaves.
    #[must_use]
    pub fn leaves(&self) -> bool {
        self.leave != Leave::No
    }

    /// Whether it has shards to fire, now or later, of any run.
    #[must_use]
    pub fn is_holder(&self) -> bool {
        self.runs.values().any(RunEntry::is_held)
    }

    /// The worker of `run` has ended; `reason` is absent if it failed.
    pub fn finished(&mut self, run: &RunId, reason: Option<FinishReason>) {
        use FinishReason::{Isolated, Superseded};
        if let Some(entry) = self.runs.get_mut(run) {
            entry.finished = true;
            entry.must_rejoin = matches!(reason, Some(Isolated | Superseded)) && !entry.halted;
        }
    }

    /// When the agent must stop unless NATS answers.
    #[must_use]
    pub fn cut_off_at(&self, timeouts: &Timeouts) -> Instant {
        self.contact.server + timeouts.fence
    }

    /// Whether a run continues that this agent could join under another boot id: a boot that has
    /// published its final event gets no more shards.
    #[must_use]
    pub fn must_rejoin(&self) -> bool {
        self.runs.values().any(|entry| entry.must_rejoin)
    }

    /// Fences every run in which the agent still holds shards and must stop by itself. `wall` is
    /// `now` by the wall clock.
    pub fn fence(&mut self, now: Instant, wall: Timestamp, timeouts: &Timeouts) {
        let (contact, more_since) = (self.contact, self.more_since);
        for entry in self.runs.values_mut().filter(|entry| entry.is_held()) {
            let behind = earlier(entry.behind_since, more_since);
            let isolation = fence::isolation(&contact, behind, now, timeouts);
            let ctl_seq = entry.view.ctl_seq();
            entry.isolated = entry.isolated.or(isolation.map(|why| Fenced {
                why,
                at: wall,
                ctl_seq,
            }));
        }
    }

    /// The next instant at which [`Membership::fence`] may act without a new event.
    #[must_use]
    pub fn fence_at(&self, timeouts: &Timeouts) -> Option<Instant> {
        let held = self
            .runs
            .values()
            .filter(|entry| entry.is_held() && entry.isolated.is_none());
        held.map(|entry| {
            let behind = earlier(entry.behind_since, self.more_since);
            fence::deadline(&self.contact, behind, timeouts)
        })
        .min()
    }

    /// Offers to make now, one for each run whose needs this agent meets. They count as promised
    /// capacity.
    pub fn offers(&mut self, capacity: Rate) -> Vec<Offer> {
        if self.leaves() {
            return Vec::new();
        }
        let mut left = self.left(capacity);
        let mut offers = Vec::new();
        for (run, entry) in &mut self.runs {
            let wanted = entry
                .wants_offer()
                .filter(|_| entry.meets_needs(&self.capabilities));
            let Some((peak, gather_by)) = wanted else {
                continue;
            };
            if let Some(rate) = capacity::offer(left, peak) {
                left = capacity::left(left, std::iter::once(rate));
                entry.offered = Some(rate);
                offers.push(Offer {
                    run: run.clone(),
                    rate,
                    gather_by,
                });
            }
        }
        offers
    }

    /// Commands and view of each run that is not finished here.
    pub fn commands(&self) -> impl Iterator<Item = (&RunId, &AgentView, RunCommands)> {
        let runs = self.runs.iter().filter(|(_, entry)| !entry.finished);
        let drains = self.leave == Leave::Drains;
        runs.map(move |(run, entry)| (run, &entry.view, entry.commands(drains)))
    }

    /// Runs whose logs have to record now that the agent leaves; each is returned once. The agent
    /// has offered to them or holds their shards, and has not finished.
    pub fn runs_to_notify(&mut self) -> Vec<RunId> {
        if !self.leaves() {
            return Vec::new();
        }
        let known = |entry: &RunEntry| entry.offered.is_some() || !entry.view.holds().is_empty();
        let runs = self.runs.iter_mut().filter_map(|(run, entry)| {
            let is_due = known(entry) && !entry.finished && !entry.knows_leave;
            entry.knows_leave |= is_due;
            is_due.then(|| run.clone())
        });
        runs.collect()
    }

    /// Removes the runs that are over and returns them.
    pub fn remove_over(&mut self) -> Vec<RunId> {
        let over = |entry: &RunEntry| entry.view.stage() == Stage::Over;
        let gone: Vec<RunId> = self
            .runs
            .iter()
            .filter(|(_, entry)| over(entry))
            .map(|(run, _)| run.clone())
            .collect();
        for run in &gone {
            self.runs.remove(run);
            self.over.push_back(run.clone());
            if self.over.len() > OVER_RUNS_MAX {
                self.over.pop_front();
            }
        }
        gone
    }
}

impl RunEntry {
    /// Whether it has shards to fire, now or later.
    fn is_held(&self) -> bool {
        !self.finished && !self.view.holds().is_empty() && self.view.stage() != Stage::Over
    }

    /// Capacity that this run takes: its shards, or the offer that may become shards.
    fn claim(&self) -> Rate {
        let Some(created) = self.view.created() else {
            return Rate(0);
        };
        match (self.view.stage(), self.view.holds().last()) {
            (Stage::Gathering, _) => self.offered.unwrap_or_default(),
            (_, Some(hold)) if self.is_held() => capacity::share(
                self.view.peak().unwrap_or_default(),
                hold.shards.len(),
                created.shards,
            ),
            _ => Rate(0),
        }
    }

    fn meets_needs(&self, has: &BTreeSet<Capability>) -> bool {
        let created = self.view.created();
        created.is_some_and(|created| created.needed().is_subset(has))
    }

    /// Peak of a run that still gathers agents and has no offer of this one, and the end of its
    /// wait.
    fn wants_offer(&self) -> Option<(Rate, Timestamp)> {
        let open = self.view.stage() == Stage::Gathering && self.offered.is_none();
        let created = self.view.created().filter(|_| open && !self.halted)?;
        Some((created.plan.profile.peak(), created.gather_by))
    }

    fn commands(&self, drains: bool) -> RunCommands {
        RunCommands {
            generation: self.view.generation(),
            holds: self.view.holds(),
            rates: self.view.rates().to_vec(),
            paused: self.view.paused(),
            stage: self.view.stage(),
            superseded: self.view.superseded(),
            isolated: self.isolated,
            leaving: drains,
            halted: self.halted,
        }
    }
}

fn earlier(one: Option<Instant>, other: Option<Instant>) -> Option<Instant> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests;
