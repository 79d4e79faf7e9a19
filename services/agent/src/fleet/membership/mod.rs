//! What this agent knows of all runs of its tenant, and what it makes of it. Pure: instants are
//! arguments; the shell sends what is decided here.
//!
//! Agents have no consumer: events come live, at most once, and whatever is missing comes in a
//! heartbeat's reply. It must never act on an event whose predecessor it has not seen.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use loadpilot_engine::control::agent_view::{AgentView, Applied, Stage};
use loadpilot_events::log::ctl::RunCreated;
use loadpilot_events::log::evt::FinishReason;
use loadpilot_events::wire::heartbeat::{AgentBeat, HeartbeatReply, News, Seen};
use loadpilot_events::{BootId, Capability, Holder, Rate, RunId, Timestamp};
use tokio::time::Instant;

use crate::fleet::capacity;
use crate::fleet::fence::{self, Contact};
use crate::process::timeouts::Timeouts;
use crate::runs::run_commands::{Fenced, RunCommands};

/// Runs that are over and may still be mentioned by a coordinator that has not heard of it.
const OVER_RUNS_MAX: usize = 4_096;

/// All runs that this agent knows of.
#[derive(Debug)]
pub struct Membership {
    me: Holder,
    predecessor_dead: bool,
    capabilities: BTreeSet<Capability>,
    contact: Contact,
    /// Since when the last reply did not hold everything.
    more_since: Option<Instant>,
    leaving: bool,
    /// What killed processes of this agent left, by run.
    recovering: BTreeSet<(RunId, BootId)>,
    runs: BTreeMap<RunId, RunEntry>,
    over: VecDeque<RunId>,
}

/// One run.
#[derive(Debug)]
struct RunEntry {
    view: AgentView,
    behind_since: Option<Instant>,
    offered: Option<Rate>,
    isolated: Option<Fenced>,
    halted: bool,
    /// It has said its last words: it holds nothing any more, whatever the map says.
    finished: bool,
    /// It could have gone on, had others not taken its place, or had it not stopped by itself.
    must_rejoin: bool,
}

/// Capacity to be offered to one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// To which.
    pub run: RunId,
    /// How much.
    pub rate: Rate,
    /// When its wait for agents ends, on the coordinators' clock.
    pub gather_by: Timestamp,
}

impl Membership {
    /// Of an agent that has just started and has what other agents may lack.
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
            leaving: false,
            recovering: BTreeSet::new(),
            runs: BTreeMap::new(),
            over: VecDeque::new(),
        }
    }

    /// The sign of life: who it is, how far it has seen each run, and whether anything is left of
    /// its `capacity`.
    #[must_use]
    pub fn beat(&self, capacity: Rate) -> AgentBeat {
        let seen = self.runs.iter().map(|(run, entry)| Seen {
            run: run.clone(),
            ctl_seq: entry.view.ctl_seq(),
        });
        // To be told of a run that is over, one has to ask for it.
        let runs: BTreeSet<&RunId> = self.recovering.iter().map(|(run, _)| run).collect();
        let unheard = runs.into_iter().filter(|run| !self.runs.contains_key(run));
        let seen = seen.chain(unheard.map(|run| Seen {
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
            full: self.leaving || self.left(capacity) == Rate(0),
        }
    }

    /// What is promised to no run.
    fn left(&self, capacity: Rate) -> Rate {
        capacity::left(capacity, self.runs.values().map(RunEntry::claim))
    }

    /// One event, live or from a reply.
    pub fn apply(&mut self, news: &News, now: Instant) -> Applied {
        if self.over.contains(&news.run) {
            return Applied::Duplicate;
        }
        let entry = self
            .runs
            .entry(news.run.clone())
            .or_insert_with(|| RunEntry {
                view: AgentView::new(self.me.clone()),
                behind_since: None,
                offered: None,
                isolated: None,
                halted: false,
                finished: false,
                must_rejoin: false,
            });
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

    /// The reply to the heartbeat that left at `sent_at`; returns whether to ask again at once.
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

    /// NATS said that nobody listens to the heartbeat that left at `sent_at`.
    pub fn on_no_responder(&mut self, sent_at: Instant) {
        self.contact.on_no_responder(sent_at);
    }

    /// Somebody pulled the kill switch of `run`.
    pub fn halt(&mut self, run: &RunId) {
        if let Some(entry) = self.runs.get_mut(run) {
            entry.halted = true;
        }
    }

    /// A killed process of this agent left something of a run.
    pub fn add_recovering(&mut self, run: RunId, boot_id: BootId) {
        self.recovering.insert((run, boot_id));
    }

    /// Nothing is left of it any more.
    pub fn recovered(&mut self, run: &RunId, boot_id: &BootId) {
        self.recovering.remove(&(run.clone(), boot_id.clone()));
    }

    /// What a run is, once that is known and unless it is over.
    #[must_use]
    pub fn created(&self, run: &RunId) -> Option<&RunCreated> {
        self.runs.get(run)?.view.created()
    }

    /// Whether a run is known to be over.
    #[must_use]
    pub fn is_over(&self, run: &RunId) -> bool {
        self.over.contains(run)
    }

    /// Its operator ends this agent.
    pub fn leave(&mut self) {
        self.leaving = true;
    }

    /// The worker of `run` has said its last words, or that it cannot do its shards.
    pub fn finished(&mut self, run: &RunId, reason: Option<FinishReason>) {
        use FinishReason::{Isolated, Superseded};
        if let Some(entry) = self.runs.get_mut(run) {
            entry.finished = true;
            entry.must_rejoin = matches!(reason, Some(Isolated | Superseded)) && !entry.halted;
        }
    }

    /// When the fence falls for want of any answer.
    #[must_use]
    pub fn cut_off_at(&self, timeouts: &Timeouts) -> Instant {
        self.contact.server + timeouts.fence
    }

    /// Whether a run goes on without this process that might go on with it, were it another one:
    /// nobody gets shards back who has said its last words.
    #[must_use]
    pub fn must_rejoin(&self) -> bool {
        self.runs.values().any(|entry| entry.must_rejoin)
    }

    /// Fences every run in which it still holds shards and must stop by itself. `wall` is `now` by
    /// the wall clock.
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

    /// The next instant at which [`Membership::fence`] may find something by time alone.
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

    /// Runs to which capacity is to be offered now, each once. Counted as promised from here on.
    /// Only to those whose needs this agent meets.
    pub fn offers(&mut self, capacity: Rate) -> Vec<Offer> {
        if self.leaving {
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

    /// What to tell the worker of each run that is not finished here, and what the run is.
    pub fn commands(&self) -> impl Iterator<Item = (&RunId, &AgentView, RunCommands)> {
        let runs = self.runs.iter().filter(|(_, entry)| !entry.finished);
        runs.map(|(run, entry)| (run, &entry.view, entry.commands(self.leaving)))
    }

    /// Runs that know of this agent: it has offered to them or holds their shards.
    pub fn runs_to_notify(&self) -> impl Iterator<Item = &RunId> {
        let known = |entry: &RunEntry| entry.offered.is_some() || !entry.view.holds().is_empty();
        self.runs
            .iter()
            .filter(move |(_, entry)| known(entry))
            .map(|(run, _)| run)
    }

    /// Forgets the runs that are over and returns them.
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
    /// Whether it is bound to fire, now or later.
    fn is_held(&self) -> bool {
        !self.finished && !self.view.holds().is_empty() && self.view.stage() != Stage::Over
    }

    /// What this run takes from the capacity: its shards, or the offer that may become some.
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

    /// Peak and end of the wait of a run that still gathers and has no offer of ours.
    fn wants_offer(&self) -> Option<(Rate, Timestamp)> {
        let open = self.view.stage() == Stage::Gathering && self.offered.is_none();
        let created = self.view.created().filter(|_| open && !self.halted)?;
        Some((created.plan.profile.peak(), created.gather_by))
    }

    fn commands(&self, leaving: bool) -> RunCommands {
        RunCommands {
            generation: self.view.generation(),
            holds: self.view.holds(),
            rates: self.view.rates().to_vec(),
            paused: self.view.paused(),
            stage: self.view.stage(),
            superseded: self.view.superseded(),
            isolated: self.isolated,
            leaving,
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
