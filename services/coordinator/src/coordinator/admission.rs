//! Admission of runs to a shared fleet: the fold of its decisions, and the append in progress.
//! Pure.
//!
//! At most one append is in progress; nothing more is admitted until the tail has brought its
//! decision.

use std::collections::BTreeMap;

use loadpilot_engine::control::admission::admissions::Admissions;
use loadpilot_engine::control::admission::admit::{Waiting, admit, places};
use loadpilot_engine::control::decide::NotAdmitted;
use loadpilot_engine::control::tenants::Tenants;
use loadpilot_events::log::admission::AdmissionDecision;
use loadpilot_events::wire::subject::Subjects;
use loadpilot_events::{Envelope, RunId, Timestamp};

use crate::append::{Outcome, PendingAppend};
use crate::run_state::{Effect, FULL_RETRY_DELAY_US, OpenRun, RETRY_DELAY_US, TAIL_TIMEOUT_US};

/// Interval in µs at which the number of agents is checked while runs wait.
const RECHECK_US: u64 = 1_000_000;

/// The admission of runs.
#[derive(Debug, Default)]
pub(crate) struct AdmissionQueue {
    state: Admissions,
    activity: Activity,
    /// Whether a decision may be due: a run, an agent or the log has changed.
    is_stale: bool,
    recheck_at: Option<Timestamp>,
}

/// The append in progress, or the wait after one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Activity {
    #[default]
    Idle,
    /// A decision is being appended after `expected`.
    Appending { expected: u64 },
    /// The log has a decision at `seq`; the tail has not brought it yet.
    AwaitingTail { seq: u64, ask_at: Timestamp },
    /// The last sequence of the decisions is being read.
    ReadingLast,
    /// An append failed; it is retried at `until`.
    BackingOff { until: Timestamp },
}

impl Activity {
    /// The end of a wait; `None` for an activity that is not one.
    fn wait_end(&mut self) -> Option<&mut Timestamp> {
        match self {
            Self::AwaitingTail { ask_at, .. } => Some(ask_at),
            Self::BackingOff { until } => Some(until),
            Self::Idle | Self::Appending { .. } | Self::ReadingLast => None,
        }
    }
}

impl AdmissionQueue {
    /// Folds one decision that is stored at `seq`; `None` if it cannot be read.
    pub(crate) fn record(&mut self, seq: u64, event: Option<&Envelope<AdmissionDecision>>) {
        match event {
            Some(event) => self.state.evolve(seq, event.at, &event.event),
            None => self.state.skip(seq),
        }
        self.is_stale = true;
        self.settle();
    }

    /// A run or an agent has changed.
    pub(crate) fn changed(&mut self) {
        self.is_stale = true;
    }

    pub(crate) fn is_admitted(&self, run: &RunId) -> bool {
        self.state.admitted.contains_key(run)
    }

    /// Holds back the runs that were requested since the last call.
    pub(crate) fn hold_back(
        &self,
        open_runs: &mut BTreeMap<RunId, OpenRun>,
        tenants: &Tenants,
        now: Timestamp,
    ) {
        let is_new = |open_run: &&OpenRun| open_run.not_admitted.is_none();
        if !self.is_stale || self.waiting(open_runs).all(|(_, run)| !is_new(&run)) {
            return;
        }
        for (run, found) in self.places(open_runs, tenants, 0, now) {
            if let Some(open_run) = open_runs.get_mut(&run).filter(|run| is_new(&&**run)) {
                open_run.hold_back(found);
            }
        }
    }

    /// The next effect, if one is due. If there is none, every waiting run knows its place.
    /// `home` has the subjects of the fleet, `agents` is the number of live agents.
    pub(crate) fn next(
        &mut self,
        open_runs: &mut BTreeMap<RunId, OpenRun>,
        tenants: &Tenants,
        home: &Subjects,
        agents: u32,
        now: Timestamp,
    ) -> Option<Effect> {
        match self.activity {
            Activity::AwaitingTail { ask_at, .. } if now >= ask_at => {
                self.activity = Activity::ReadingLast;
                return Some(Effect::ReadAdmissionLast);
            }
            Activity::BackingOff { until } if now >= until => {
                self.activity = Activity::Idle;
                self.is_stale = true;
            }
            _ => {}
        }
        let is_due = self.is_stale || self.recheck_at.is_some_and(|at| now >= at);
        if self.activity != Activity::Idle || !is_due {
            return None;
        }
        let waiting = self.waiting(open_runs);
        // The other runs are admitted by coordinators of a later version.
        let waiting = waiting.filter(|(_, open_run)| !open_run.has_newer_decision);
        let waiting: Vec<Waiting> = waiting
            .map(|(run, open_run)| open_run.waiting(run))
            .collect();
        self.recheck_at = (!waiting.is_empty() && tenants.max_runs_per_agent.is_some())
            .then(|| now.plus_us(RECHECK_US));
        let is_open = |run: &RunId| open_runs.contains_key(run);
        let decision = admit(&self.state, &waiting, is_open, tenants, agents);
        // A run with a decision in progress may be about to be refused. It keeps its turn until the
        // outcome is known: the admission stays due.
        let chosen = decision.as_ref().map(AdmissionDecision::run);
        let chosen = chosen.and_then(|run| open_runs.get(run));
        self.is_stale = chosen.is_some_and(OpenRun::is_busy);
        if self.is_stale {
            return None;
        }
        let Some(decision) = decision else {
            for (run, found) in self.places(open_runs, tenants, agents, now) {
                if let Some(open_run) = open_runs.get_mut(&run) {
                    open_run.hold_back(NotAdmitted {
                        must_wait: true,
                        ..found
                    });
                }
            }
            return None;
        };
        let expected = self.state.last_seq;
        self.activity = Activity::Appending { expected };
        Some(Effect::Admit(Box::new(PendingAppend {
            tenant: home.tenant_id().clone(),
            run: decision.run().clone(),
            subject: home.admission(),
            expected,
            previous_seq: 0,
            at: now,
            decision,
        })))
    }

    /// Takes the outcome of an append.
    pub(crate) fn appended(&mut self, outcome: &Outcome, now: Timestamp) {
        let Activity::Appending { expected } = self.activity else {
            return;
        };
        let awaiting = |seq| Activity::AwaitingTail {
            seq,
            ask_at: now.plus_us(TAIL_TIMEOUT_US),
        };
        let back_off = |us| Activity::BackingOff {
            until: now.plus_us(us),
        };
        self.activity = match outcome {
            Outcome::Stored { seq } => awaiting(*seq),
            Outcome::Lost => awaiting(expected + 1),
            Outcome::NotStored => Activity::Idle,
            Outcome::Full | Outcome::TooLarge { .. } => back_off(FULL_RETRY_DELAY_US),
            Outcome::Fault(_) => back_off(RETRY_DELAY_US),
        };
        self.is_stale = true;
        // The tail may have been faster than the acknowledgement.
        self.settle();
    }

    /// Takes the last sequence of the decisions (0: there are none); `None` when it could not be
    /// read.
    pub(crate) fn last_read(&mut self, last: Option<u64>, now: Timestamp) {
        if self.activity != Activity::ReadingLast {
            return;
        }
        let ask_at = now.plus_us(TAIL_TIMEOUT_US);
        self.activity = match last {
            None => Activity::BackingOff { until: ask_at },
            Some(seq) if seq < self.state.last_seq => {
                tracing::warn!("the admission decisions were removed from the log");
                self.state = Admissions::default();
                self.state.skip(seq);
                Activity::Idle
            }
            Some(seq) => Activity::AwaitingTail { seq, ask_at },
        };
        self.is_stale = true;
        self.settle();
    }

    /// Shortens waits that a clock set back has made too long.
    pub(crate) fn clock_was_set(&mut self, now: Timestamp) {
        if let Some(wait_end) = self.activity.wait_end() {
            *wait_end = (*wait_end).min(now.plus_us(FULL_RETRY_DELAY_US));
        }
        // The number of agents is checked now.
        self.is_stale = true;
    }

    /// The next time at which an effect may be due without an event.
    pub(crate) fn wake_at(&self) -> Option<Timestamp> {
        match self.activity {
            Activity::Idle => self.recheck_at,
            mut activity => activity.wait_end().copied(),
        }
    }

    /// Ends the wait for a decision that has been folded.
    fn settle(&mut self) {
        if let Activity::AwaitingTail { seq, .. } = self.activity
            && self.state.last_seq >= seq
        {
            self.activity = Activity::Idle;
        }
    }

    /// The runs that were requested and are neither admitted nor created.
    fn waiting<'a>(
        &self,
        open_runs: &'a BTreeMap<RunId, OpenRun>,
    ) -> impl Iterator<Item = (&'a RunId, &'a OpenRun)> {
        let admitted = &self.state.admitted;
        let waits = |(run, open_run): &(&RunId, &OpenRun)| {
            open_run.is_requested_only() && !admitted.contains_key(*run)
        };
        open_runs.iter().filter(waits)
    }

    /// The place of each waiting run, and what else its admission depends on.
    fn places(
        &self,
        open_runs: &BTreeMap<RunId, OpenRun>,
        tenants: &Tenants,
        agents: u32,
        now: Timestamp,
    ) -> Vec<(RunId, NotAdmitted)> {
        let waiting = self.waiting(open_runs);
        let waiting: Vec<Waiting> = waiting
            .map(|(run, open_run)| open_run.waiting(run))
            .collect();
        let places = places(&self.state, &waiting, tenants, agents);
        let found = places.into_iter().map(|(run, queued)| {
            let admitted = self.state.today(&queued.tenant, now);
            let found = NotAdmitted {
                today: admitted + queued.place - 1,
                queued,
                must_wait: false,
            };
            (run, found)
        });
        found.collect()
    }
}
