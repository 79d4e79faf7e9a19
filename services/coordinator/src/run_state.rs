//! One run that is not over: the fold of its log, and the effect in progress. Pure.
//!
//! At most one effect of a run is in progress; nothing is decided about the run until its result
//! is reported.

use std::collections::BTreeMap;

use loadpilot_engine::control::admission::admit::Waiting;
use loadpilot_engine::control::decide::{NotAdmitted, Observations, Policy, deadline, decide};
use loadpilot_engine::control::run_state::RunState;
use loadpilot_events::log::admission::{AdmissionDecision, WaitReason};
use loadpilot_events::log::ctl::{Decision, Ending, RunRefused, RunSealed};
use loadpilot_events::refusal::Problem;
use loadpilot_events::wire::heartbeat::Unreached;
use loadpilot_events::{Holder, RunId, TenantId, Timestamp};

use crate::append::{Outcome, PendingAppend};
use crate::feed::NewsFeed;

/// Timeout in µs for the tail to bring an event of another coordinator; then the last sequence of
/// the subject is read.
pub(crate) const TAIL_TIMEOUT_US: u64 = 1_000_000;

/// Delay in µs before a retry after a fault.
pub(crate) const RETRY_DELAY_US: u64 = 1_000_000;

/// Delay in µs before a retry of a run's last decision in a full log.
pub(crate) const FULL_RETRY_DELAY_US: u64 = 5_000_000;

/// I/O that the shell performs.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Append a decision; its outcome goes to `Coordinator::appended`.
    Append(Box<PendingAppend>),
    /// Read the last sequence of the data stream, for `Coordinator::data_head`.
    ReadDataHead(RunId),
    /// Read the last sequence of a run's control subject, for `Coordinator::ctl_last`.
    ReadCtlLast(TenantId, RunId),
    /// Shred the secrets of a run that is over.
    Shred(TenantId, RunId),
    /// Append a decision about the admission of runs, for `Coordinator::admission_appended`.
    Admit(Box<PendingAppend<AdmissionDecision>>),
    /// Read the last sequence of these decisions, for `Coordinator::admission_last`.
    ReadAdmissionLast,
}

/// One run that is not over.
#[derive(Debug)]
pub(crate) struct OpenRun {
    /// Tenant on whose subjects the run's log is.
    pub(crate) tenant: TenantId,
    /// The fold of its log.
    pub(crate) state: RunState,
    /// Its control events.
    pub(crate) feed: NewsFeed,
    /// The last sequence of its control subject. Unlike `state.ctl_seq` it includes unreadable
    /// events.
    pub(crate) ctl_last: u64,
    /// Time of its first record, by the clock of the record's writer.
    pub(crate) requested_at: Timestamp,
    /// Why it may not be created yet.
    pub(crate) not_admitted: Option<NotAdmitted>,
    /// Whether an earlier stack left it unfinished.
    pub(crate) left_over: bool,
    /// Whether its log has a decision of a later version that this program cannot read: then only
    /// coordinators of that version decide.
    pub(crate) has_newer_decision: bool,
    /// Whether something changed since the last call of `decide`.
    stale: bool,
    /// Reports of holders none of whose calls reached a server.
    unreached: BTreeMap<Holder, Unreached>,
    unwritable: Option<Unwritable>,
    data_head: Option<DataHead>,
    activity: Activity,
    deadline: Option<Timestamp>,
}

/// The head of the data stream, and the state for which it was read.
#[derive(Debug, Clone, Copy)]
struct DataHead {
    seq: u64,
    ctl_seq: u64,
    evt_seq: u64,
}

/// Why a decision can never be stored, so that the run has to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unwritable {
    Full,
    TooLarge { bytes: u64, limit: u64 },
}

/// The effect in progress, or the wait after one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Activity {
    Idle,
    /// The data stream's head is being read, for the state of these sequences.
    ReadingHead {
        ctl_seq: u64,
        evt_seq: u64,
    },
    /// A decision is being appended after `expected`; `ends` if it would be the run's last.
    Appending {
        expected: u64,
        ends: bool,
    },
    /// The control subject has reached `seq`; the tail has not brought it yet.
    AwaitingTail {
        seq: u64,
        ask_at: Timestamp,
    },
    /// The control subject's last sequence is being read; events up to `known` are folded.
    ReadingLast {
        known: u64,
    },
    /// An effect failed; it is retried at `until`.
    BackingOff {
        until: Timestamp,
    },
}

impl Activity {
    /// The end of a wait; `None` for an activity that is not one.
    fn wait_end(&mut self) -> Option<&mut Timestamp> {
        match self {
            Self::AwaitingTail { ask_at, .. } => Some(ask_at),
            Self::BackingOff { until } => Some(until),
            Self::Idle
            | Self::ReadingHead { .. }
            | Self::Appending { .. }
            | Self::ReadingLast { .. } => None,
        }
    }
}

/// Whether the control subject still contains the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LogPresence {
    /// It does.
    Present,
    /// Its log was removed.
    Removed,
}

impl OpenRun {
    pub(crate) fn new(tenant: TenantId, requested_at: Timestamp) -> Self {
        Self {
            tenant,
            requested_at,
            state: RunState::default(),
            feed: NewsFeed::default(),
            ctl_last: 0,
            not_admitted: None,
            left_over: false,
            has_newer_decision: false,
            stale: true,
            unreached: BTreeMap::new(),
            unwritable: None,
            data_head: None,
            activity: Activity::Idle,
            deadline: None,
        }
    }

    /// Number of agents that its request asks for; 0 while it waits for the end of another run.
    pub(crate) fn agents_wanted(&self) -> usize {
        let waits = self.not_admitted.as_ref().map(|found| &found.queued.reason);
        if matches!(waits, Some(WaitReason::MaxRuns { .. })) {
            return 0;
        }
        let requested = self.state.requested.as_ref();
        requested.map_or(0, |requested| requested.agents.want as usize)
    }

    /// Its log, or the liveness of an agent or owner, has changed.
    pub(crate) fn changed(&mut self) {
        self.stale = true;
        if let Activity::AwaitingTail { seq, .. } = self.activity
            && self.ctl_last >= seq
        {
            self.activity = Activity::Idle;
        }
    }

    /// Whether its log has the request for it, or a decision. A setup whose run was stopped before
    /// its request has neither.
    pub(crate) fn is_requested(&self) -> bool {
        self.state.requested.is_some() || self.ctl_last > 0
    }

    /// Whether it was requested and is neither created nor over.
    pub(crate) fn is_requested_only(&self) -> bool {
        let state = &self.state;
        state.requested.is_some() && state.created.is_none() && !state.over
    }

    /// Whether something is being decided about it.
    pub(crate) fn is_busy(&self) -> bool {
        self.activity != Activity::Idle
    }

    /// The properties of the run that its admission depends on.
    pub(crate) fn waiting(&self, run: &RunId) -> Waiting {
        let requested = self.state.requested.as_deref();
        Waiting {
            run: run.clone(),
            tenant: self.tenant.clone(),
            seq: self.state.request_seq,
            agents: requested.map_or(1, |requested| requested.agents.want),
        }
    }

    /// Holds it back until it is admitted.
    pub(crate) fn hold_back(&mut self, found: NotAdmitted) {
        self.stale |= self.not_admitted.as_ref() != Some(&found);
        self.not_admitted = Some(found);
    }

    /// Takes note that the run is admitted.
    pub(crate) fn let_in(&mut self) {
        self.stale |= self.not_admitted.take().is_some();
    }

    /// Records the report of a process whose calls of this run reached no server; `None` clears it.
    pub(crate) fn note_unreached(&mut self, holder: &Holder, report: Option<&Unreached>) {
        match report {
            Some(report) if self.state.ever_held.contains(holder) => {
                // Before the first call has finished, the report cannot change a decision.
                self.stale |= report.calls > 0;
                self.unreached.insert(holder.clone(), report.clone());
            }
            _ => {
                self.unreached.remove(holder);
            }
        }
    }

    /// Brings the next call of `decide` forward to `by` at the latest.
    pub(crate) fn decide_by(&mut self, by: Timestamp) {
        self.deadline = Some(self.deadline.map_or(by, |deadline| deadline.min(by)));
    }

    /// The next time at which an effect may be due without an event.
    pub(crate) fn wake_at(&self) -> Option<Timestamp> {
        match self.activity {
            Activity::Idle => self.deadline,
            mut activity => activity.wait_end().copied(),
        }
    }

    /// Shortens waits that a clock set back has made too long.
    pub(crate) fn clock_was_set(&mut self, now: Timestamp) {
        if let Some(wait_end) = self.activity.wait_end() {
            *wait_end = (*wait_end).min(now.plus_us(FULL_RETRY_DELAY_US));
        }
        self.stale = true;
    }

    /// The next effect, if one is due.
    pub(crate) fn next(
        &mut self,
        run: &RunId,
        subject: impl FnOnce() -> String,
        observations: &mut Observations,
        policy: &Policy,
        now: Timestamp,
    ) -> Option<Effect> {
        match self.activity {
            Activity::AwaitingTail { ask_at, .. } if now >= ask_at => {
                self.activity = Activity::ReadingLast {
                    known: self.ctl_last,
                };
                return Some(Effect::ReadCtlLast(self.tenant.clone(), run.clone()));
            }
            Activity::BackingOff { until } if now >= until => {
                self.activity = Activity::Idle;
                self.stale = true;
            }
            _ => {}
        }
        if self.has_newer_decision {
            return None;
        }
        let due = self.deadline.is_some_and(|instant| now >= instant);
        if self.activity != Activity::Idle || !(self.stale || due) {
            return None;
        }
        self.stale = false;
        self.deadline = None;
        observations.tenant = Some(self.tenant.clone());
        observations.left_over = self.left_over;
        observations.not_admitted.clone_from(&self.not_admitted);
        observations.waits_for_tails = true;
        observations.unreached.clone_from(&self.unreached);
        let head = self.fresh_head();
        observations.data_head = head.unwrap_or_default();
        let Some(decision) = self.decide(observations, policy, now) else {
            self.deadline = deadline(&self.state, observations, policy, now);
            return None;
        };
        let (ctl_seq, evt_seq) = (self.state.ctl_seq, self.state.evt_seq);
        if matches!(decision, Decision::RunSealed(_)) && head.is_none() {
            self.activity = Activity::ReadingHead { ctl_seq, evt_seq };
            return Some(Effect::ReadDataHead(run.clone()));
        }
        let ends = matches!(decision, Decision::RunSealed(_) | Decision::RunRefused(_));
        let expected = self.ctl_last;
        self.activity = Activity::Appending { expected, ends };
        Some(Effect::Append(Box::new(PendingAppend {
            tenant: self.tenant.clone(),
            run: run.clone(),
            subject: subject(),
            expected,
            previous_seq: self.feed.last_seq(),
            at: now,
            decision,
        })))
    }

    /// Takes the outcome of an append.
    pub(crate) fn appended(&mut self, outcome: &Outcome, now: Timestamp) {
        let Activity::Appending { expected, ends } = self.activity else {
            return;
        };
        if !matches!(outcome, Outcome::Stored { .. }) {
            // Deltas may be stored before the next attempt.
            self.data_head = None;
        }
        let ask_at = now.plus_us(TAIL_TIMEOUT_US);
        self.activity = match outcome {
            Outcome::Stored { seq } => Activity::AwaitingTail { seq: *seq, ask_at },
            Outcome::Lost => Activity::AwaitingTail {
                seq: expected + 1,
                ask_at,
            },
            Outcome::NotStored => Activity::Idle,
            Outcome::Full | Outcome::TooLarge { .. } if ends => Activity::BackingOff {
                until: now.plus_us(FULL_RETRY_DELAY_US),
            },
            Outcome::Full => self.give_up(Unwritable::Full),
            &Outcome::TooLarge { bytes, limit } => {
                self.give_up(Unwritable::TooLarge { bytes, limit })
            }
            Outcome::Fault(_) => Activity::BackingOff {
                until: now.plus_us(RETRY_DELAY_US),
            },
        };
        // The tail may have been faster than the acknowledgement.
        self.changed();
    }

    /// Takes the head of the data stream; `None` when it could not be read.
    pub(crate) fn data_head(&mut self, head: Option<u64>, now: Timestamp) {
        let Activity::ReadingHead { ctl_seq, evt_seq } = self.activity else {
            return;
        };
        self.data_head = head.map(|seq| DataHead {
            seq,
            ctl_seq,
            evt_seq,
        });
        self.activity = match head {
            Some(_) => Activity::Idle,
            None => Activity::BackingOff {
                until: now.plus_us(RETRY_DELAY_US),
            },
        };
        self.stale = true;
    }

    /// Takes the control subject's last sequence (0: it is empty); `None` when it could not be
    /// read.
    pub(crate) fn ctl_last(&mut self, last: Option<u64>, now: Timestamp) -> LogPresence {
        let Activity::ReadingLast { known } = self.activity else {
            return LogPresence::Present;
        };
        let ask_at = now.plus_us(TAIL_TIMEOUT_US);
        self.activity = match last {
            None => Activity::AwaitingTail {
                seq: known + 1,
                ask_at,
            },
            Some(seq) if seq < known => return LogPresence::Removed,
            Some(seq) => Activity::AwaitingTail { seq, ask_at },
        };
        // The tail may have brought it meanwhile.
        self.changed();
        LogPresence::Present
    }

    fn give_up(&mut self, why: Unwritable) -> Activity {
        self.unwritable = Some(why);
        Activity::Idle
    }

    /// The head of the data stream, if it was read after the last folded record: a seal must cover
    /// each delta that was stored before the final facts that the seal counts.
    fn fresh_head(&self) -> Option<u64> {
        let current = (self.state.ctl_seq, self.state.evt_seq);
        let head = self
            .data_head
            .filter(|head| (head.ctl_seq, head.evt_seq) == current);
        head.map(|head| head.seq)
    }

    fn decide(
        &self,
        observations: &mut Observations,
        policy: &Policy,
        now: Timestamp,
    ) -> Option<Decision> {
        let Some(why) = self.unwritable else {
            return decide(&self.state, observations, policy, now);
        };
        // A run that cannot continue ends like a left-over one, with an ending of its own.
        observations.left_over = true;
        observations.waits_for_tails = false;
        let end = decide(&self.state, observations, policy, now);
        observations.left_over = self.left_over;
        Some(match end? {
            Decision::RunSealed(seal) => {
                let ending = match why {
                    Unwritable::Full => Ending::LogFull,
                    Unwritable::TooLarge { .. } => Ending::Failed,
                };
                Decision::RunSealed(RunSealed { ending, ..seal })
            }
            Decision::RunRefused(_) => Decision::RunRefused(RunRefused {
                problems: vec![match why {
                    Unwritable::Full => Problem::new("log", "must have room for the run", "full"),
                    Unwritable::TooLarge { bytes, limit } => {
                        let rule = format!(
                            "must fit one message of the server, which takes {limit} bytes \
                             (max_payload)"
                        );
                        Problem::new("plan", rule, format!("{bytes} bytes with its run"))
                    }
                }],
            }),
            other => other,
        })
    }
}
