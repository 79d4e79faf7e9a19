//! The state of a coordinator: folds of all open runs, heartbeats, and the effects that are due.
//! Pure: it takes events with their times and returns effects, which the shell performs.
//!
//! - `admission`: which runs a shared fleet serves at the same time

mod admission;

use std::collections::{BTreeMap, BTreeSet};

use loadpilot_engine::control::created_run::with_plan;
use loadpilot_engine::control::decide::Observations;
use loadpilot_engine::control::{Parsed, is_newer};
use loadpilot_events::log::admission::AdmissionDecision;
use loadpilot_events::wire::heartbeat::{AgentBeat, News, Seen};
use loadpilot_events::wire::subject::Kind;
use loadpilot_events::{AgentId, Envelope, Holder, OwnerId, RunId, TenantId, Timestamp};
use thiserror::Error;

use crate::append::Outcome;
use crate::config::Settings;
use crate::coordinator::admission::AdmissionQueue;
use crate::feed;
use crate::finished::Finished;
use crate::http::Facts;
use crate::liveness;
use crate::run_state::{Effect, LogPresence, OpenRun};

/// Maximum delay in µs between a heartbeat that may change a decision and that decision. Heartbeats
/// that arrive meanwhile share it: when a whole fleet starts at once, that costs one decision.
const HEARTBEAT_BATCH_US: u64 = 20_000;

/// A record of the log that cannot be read. A report lists it, and the coordinator skips it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{subject} at {seq} cannot be read: {reason}")]
pub struct Poison {
    /// Its subject.
    pub subject: String,
    /// Its stream sequence.
    pub seq: u64,
    /// Why it cannot be read.
    pub reason: String,
}

/// The state of a coordinator; all of it can be rebuilt from the log and from heartbeats.
#[derive(Debug)]
pub struct Coordinator {
    settings: Settings,
    observations: Observations,
    /// When each owner was last seen, by the tenant on whose subject its heartbeat came.
    owners: BTreeMap<TenantId, BTreeMap<OwnerId, Timestamp>>,
    open_runs: BTreeMap<RunId, OpenRun>,
    /// The admission of runs before they are created; `None` in a fleet without it.
    admission: Option<AdmissionQueue>,
    finished: Finished,
    caught_up: bool,
    linked: bool,
    /// Effects that are due without a decision.
    ready: Vec<Effect>,
    /// Runs that ended before the log was read to its end; their secrets may still exist.
    unshredded: BTreeSet<(TenantId, RunId)>,
}

impl Coordinator {
    /// A coordinator that has listened since `now` and has read no record.
    #[must_use]
    pub fn new(settings: Settings, now: Timestamp) -> Self {
        let admission = settings.admits().map(|_| AdmissionQueue::default());
        Self {
            admission,
            settings,
            observations: Observations {
                since: now,
                ..Observations::default()
            },
            owners: BTreeMap::new(),
            open_runs: BTreeMap::new(),
            finished: Finished::default(),
            caught_up: false,
            linked: true,
            ready: Vec::new(),
            unshredded: BTreeSet::new(),
        }
    }

    /// Folds one record of the control stream.
    ///
    /// A run belongs to the tenant of its first record: a record on another tenant's subject is
    /// never folded into it.
    ///
    /// # Errors
    /// [`Poison`] when it cannot be read, or is on the subject of a tenant that the run does not
    /// belong to; it is skipped and nothing else changes.
    pub fn record(&mut self, subject: &str, seq: u64, payload: &[u8]) -> Result<(), Poison> {
        let poison = |reason: String| Poison {
            subject: subject.to_owned(),
            seq,
            reason,
        };
        if let Some(admission) = &mut self.admission
            && subject == self.settings.subjects.admission()
        {
            let parsed = serde_json::from_slice::<Envelope<AdmissionDecision>>(payload);
            admission.record(seq, parsed.as_ref().ok());
            let event = parsed.map_err(|error| poison(error.to_string()))?.event;
            let admitted = self.open_runs.get_mut(event.run());
            if let Some(admitted) = admitted.filter(|_| admission.is_admitted(event.run())) {
                admitted.let_in();
            }
            return Ok(());
        }
        let Some(place) = self.settings.subjects.parse(subject) else {
            return Err(poison("it is no subject of a run".to_owned()));
        };
        if self.finished.contains(&place.run) {
            return Ok(());
        }
        if let Some(known) = self.open_runs.get(&place.run)
            && known.tenant != place.tenant
        {
            let (tenant, writer) = (&known.tenant, &place.tenant);
            let reason = format!("the run belongs to tenant {tenant}, not to tenant {writer}");
            return Err(poison(reason));
        }
        let parsed = Parsed::from_payload(&place.kind, payload).map_err(poison);
        if matches!(place.kind, Kind::Ctl) {
            // An unreadable event counts, too: the next append is expected after it.
            let open_run = self.open_runs.entry(place.run.clone()).or_insert_with(|| {
                let at = parsed.as_ref().map(|parsed| parsed.record().0);
                OpenRun::new(place.tenant.clone(), at.unwrap_or_default())
            });
            open_run.ctl_last = seq;
            open_run.has_newer_decision |= is_newer(payload);
            open_run.changed();
        }
        let parsed = parsed?;
        // Setup and teardown are played by the submitter and need no decision.
        if matches!(&parsed, Parsed::Request(request) if request.event.is_setup_or_teardown()) {
            return Ok(());
        }
        let open_run = match (&parsed, self.open_runs.get_mut(&place.run)) {
            (_, Some(open_run)) => open_run,
            // A run that was removed may have left facts; without a decision they have no meaning.
            (Parsed::Fact(..), None) => return Ok(()),
            (_, None) => self
                .open_runs
                .entry(place.run.clone())
                .or_insert_with(|| OpenRun::new(place.tenant.clone(), parsed.record().0)),
        };
        let (at, record) = parsed.record();
        open_run.state = std::mem::take(&mut open_run.state).evolve(seq, at, record);
        if let Parsed::Decision(event) = parsed {
            let is_foreign = place.tenant != *self.settings.subjects.tenant_id();
            let tenant = is_foreign.then_some(place.tenant);
            let run = (&place.run, tenant);
            let event = with_plan(event, open_run.state.requested_plan());
            let bytes = feed::bytes(&event, payload.len());
            open_run.feed.push(run, seq, event, bytes);
        }
        open_run.changed();
        if !matches!(place.kind, Kind::Evt(_)) {
            self.admission.iter_mut().for_each(AdmissionQueue::changed);
        }
        if open_run.state.over {
            self.end(&place.run);
        }
        Ok(())
    }

    /// All records from before the start are folded: from now on it decides.
    pub fn caught_up(&mut self) {
        self.caught_up = true;
        for (run, open_run) in &mut self.open_runs {
            let before = self.settings.seal_asked_before;
            let is_spared = self.settings.spared.as_ref() == Some(run);
            open_run.left_over =
                !is_spared && before.is_some_and(|instant| open_run.requested_at < instant);
            open_run.changed();
        }
        // The coordinator that ended these runs may have died before it shredded their secrets.
        let unshredded = std::mem::take(&mut self.unshredded).into_iter();
        let recent = unshredded.filter(|(_, run)| self.finished.feed(run).is_some());
        self.ready
            .extend(recent.map(|(tenant, run)| Effect::Shred(tenant, run)));
    }

    /// Takes a heartbeat of a process of `agent`.
    pub fn heard_agent(&mut self, agent: AgentId, beat: &AgentBeat, now: Timestamp) {
        let lost_us = self.settings.policy.lost_us;
        let holder = Holder {
            agent: agent.clone(),
            boot_id: beat.boot_id.clone(),
        };
        for (run, open_run) in &mut self.open_runs {
            let report = beat.unreached.iter().find(|report| report.run == *run);
            open_run.note_unreached(&holder, report);
        }
        if liveness::note_agent(&mut self.observations, agent, beat, lost_us, now) {
            self.admission.iter_mut().for_each(AdmissionQueue::changed);
            let by = now.plus_us(HEARTBEAT_BATCH_US);
            self.open_runs
                .values_mut()
                .for_each(|open_run| open_run.decide_by(by));
        }
    }

    /// Sets the maximum number of bytes of a message, as the server reports it.
    pub fn message_bytes_max(&mut self, bytes: u64) {
        self.observations.message_bytes_max = Some(bytes);
    }

    /// Takes a heartbeat of an owner on a subject of `tenant`. It counts for that tenant's runs
    /// only.
    pub fn heard_owner(&mut self, tenant: TenantId, owner: OwnerId, now: Timestamp) {
        if self.settings.serves(&tenant) {
            liveness::note_owner(self.owners.entry(tenant).or_default(), owner, now);
        }
    }

    /// The news that `agent` lacks beyond `seen`, and whether there is more than fits one reply;
    /// `None` before the log has been read.
    #[must_use]
    pub fn news(&self, agent: &AgentId, seen: &[Seen]) -> Option<(Vec<News>, bool)> {
        if !self.caught_up {
            return None;
        }
        let named: BTreeMap<&RunId, u64> =
            seen.iter().map(|seen| (&seen.run, seen.ctl_seq)).collect();
        let seen_of = |run: &RunId| named.get(run).copied().unwrap_or_default();
        let open = self
            .open_runs
            .iter()
            .flat_map(|(run, open_run)| open_run.feed.after(seen_of(run)));
        let over = named
            .iter()
            .filter_map(|(run, seen)| self.finished.feed(run).map(|feed| feed.after(*seen)));
        Some(feed::fit(open.chain(over.flatten()).collect(), agent))
    }

    /// News of a stored decision, with the plan of the request that it names.
    #[must_use]
    pub fn with_plan(&self, news: News) -> News {
        let open_run = self.open_runs.get(&news.run);
        let plan = open_run.and_then(|open_run| open_run.state.requested_plan());
        let event = with_plan(news.event, plan);
        News { event, ..news }
    }

    /// Whether a process of `agent` holds shards of a run of `tenant` that is not over.
    #[must_use]
    pub fn is_holder(&self, tenant: &TenantId, run: &RunId, agent: &AgentId) -> bool {
        let holdings = self
            .open_runs
            .get(run)
            .filter(|open_run| open_run.tenant == *tenant)
            .map(|open_run| &open_run.state.holdings);
        holdings.is_some_and(|held| held.iter().any(|one| one.holder.agent == *agent))
    }

    /// Starts to listen again at `now`, after the process was frozen, the clock was set, or the
    /// link was down.
    pub fn listen_again(&mut self, now: Timestamp) {
        liveness::begin(&mut self.observations, &mut self.owners, now);
        self.open_runs
            .values_mut()
            .for_each(|open_run| open_run.clock_was_set(now));
        self.admission
            .iter_mut()
            .for_each(|admission| admission.clock_was_set(now));
    }

    /// Sets whether the bus is connected; nothing is decided while it is not.
    pub fn link(&mut self, up: bool) {
        self.linked = up;
    }

    /// The effects that are due. Each is returned once, and its result is reported back.
    pub fn next(&mut self, now: Timestamp) -> Vec<Effect> {
        if !(self.caught_up && self.linked) {
            return Vec::new();
        }
        let mut effects = std::mem::take(&mut self.ready);
        if let (Some(admission), Some(tenants)) = (&self.admission, self.settings.admits()) {
            admission.hold_back(&mut self.open_runs, tenants, now);
        }
        effects.extend(self.next_of_runs(now));
        if let (Some(admission), Some(tenants)) = (&mut self.admission, self.settings.admits()) {
            let lost_us = self.settings.policy.lost_us;
            let agents = liveness::agents_alive(&self.observations, lost_us, now);
            let home = &self.settings.subjects;
            effects.extend(admission.next(&mut self.open_runs, tenants, home, agents, now));
            // The admission may have given the waiting runs their places, which may be due to be
            // decided.
            effects.extend(self.next_of_runs(now));
        }
        effects
    }

    /// The effects of each run that are due.
    fn next_of_runs(&mut self, now: Timestamp) -> Vec<Effect> {
        let Self {
            settings,
            observations,
            owners,
            open_runs,
            ..
        } = self;
        let mut none = BTreeMap::new();
        let effects = open_runs.iter_mut().filter_map(|(run, open_run)| {
            let subjects = settings.subjects.of_tenant(&open_run.tenant);
            let owners = owners.get_mut(&open_run.tenant).unwrap_or(&mut none);
            std::mem::swap(&mut observations.owners, owners);
            let subject = || subjects.ctl(run);
            let effect = open_run.next(run, subject, observations, &settings.policy, now);
            std::mem::swap(&mut observations.owners, owners);
            effect
        });
        effects.collect()
    }

    /// Whether no run is open.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        !self.open_runs.values().any(OpenRun::is_requested)
    }

    /// The next time at which an effect may be due without an event.
    #[must_use]
    pub fn wake_at(&self) -> Option<Timestamp> {
        let ready = self.caught_up && self.linked;
        let runs = self.open_runs.values().filter_map(OpenRun::wake_at);
        let admission = self.admission.as_ref().and_then(AdmissionQueue::wake_at);
        runs.chain(admission).filter(|_| ready).min()
    }

    /// Figures for the status page.
    pub(crate) fn facts(&self, now: Timestamp) -> Facts {
        let lost_us = self.settings.policy.lost_us;
        let processes = self.observations.agents.values();
        let open_runs = self.open_runs.values();
        Facts {
            caught_up: self.caught_up,
            linked: self.linked,
            runs_open: open_runs.filter(|run| run.is_requested()).count(),
            agents_heard: processes
                .filter(|process| now < process.at.plus_us(lost_us))
                .count(),
            agents_wanted: self.open_runs.values().map(OpenRun::agents_wanted).sum(),
        }
    }

    /// Takes the outcome of an append about `run`.
    pub fn appended(&mut self, run: &RunId, outcome: &Outcome, now: Timestamp) {
        if let Some(open_run) = self.open_runs.get_mut(run) {
            open_run.appended(outcome, now);
        }
    }

    /// Takes the outcome of an append about the admission of runs.
    pub fn admission_appended(&mut self, outcome: &Outcome, now: Timestamp) {
        if let Some(admission) = &mut self.admission {
            admission.appended(outcome, now);
        }
    }

    /// Takes the last sequence of the decisions about the admission of runs (0: there are none);
    /// `None` when it could not be read.
    pub fn admission_last(&mut self, last: Option<u64>, now: Timestamp) {
        if let Some(admission) = &mut self.admission {
            admission.last_read(last, now);
        }
    }

    /// Takes the head of the data stream; `None` when it could not be read.
    pub fn data_head(&mut self, run: &RunId, head: Option<u64>, now: Timestamp) {
        if let Some(open_run) = self.open_runs.get_mut(run) {
            open_run.data_head(head, now);
        }
    }

    /// Takes the last sequence of the control subject of `run` (0: it is empty); `None` when it
    /// could not be read.
    pub fn ctl_last(&mut self, run: &RunId, last: Option<u64>, now: Timestamp) {
        let Some(open_run) = self.open_runs.get_mut(run) else {
            return;
        };
        if open_run.ctl_last(last, now) == LogPresence::Removed {
            tracing::warn!(%run, "its log was removed while it was not over");
            self.open_runs.remove(run);
            self.admission.iter_mut().for_each(AdmissionQueue::changed);
        }
    }

    fn end(&mut self, run: &RunId) {
        let Some(open_run) = self.open_runs.remove(run) else {
            return;
        };
        let created = open_run
            .state
            .created
            .as_deref()
            .map(|created| &created.plan);
        let requested = open_run
            .state
            .requested
            .as_deref()
            .map(|requested| &requested.plan);
        let secret = created
            .or(requested)
            .is_some_and(|plan| !plan.secrets().is_empty());
        self.finished.add(run.clone(), open_run.feed);
        let tenant = open_run.tenant;
        match (secret, self.caught_up) {
            (true, true) => self.ready.push(Effect::Shred(tenant, run.clone())),
            (true, false) => {
                self.unshredded.insert((tenant, run.clone()));
            }
            (false, _) => {}
        }
    }
}

#[cfg(test)]
mod tests;
