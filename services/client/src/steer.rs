//! Steers a run: appends a request to the log and waits for the coordinator's decision.
//!
//! Each result is read from a decision in the log, never assumed from the request.

use std::time::Duration;

use loadpilot_bus::{Fault, Step, Stream, Tail};
use loadpilot_engine::control::{Control, ControlLog, Parsed};
use loadpilot_engine::report::run_state;
use loadpilot_events::RunId;
use loadpilot_events::answers::report::RunState;
use loadpilot_events::log::ctl::{Decision, Ending};
use loadpilot_events::log::req::{Request, StopRequested};
use loadpilot_events::log::steer::{
    NotSteered, PauseRequested, RateChangeRequested, ResumeRequested,
};
use loadpilot_events::refusal::Problem;
use loadpilot_events::units::{Rate, Timestamp};
use loadpilot_events::wire::subject::Subjects;
use serde::Serialize;
use tokio::time::{Instant, timeout_at};

use super::session::{SERVER_TIMEOUT, Session, SessionError, control_of, retry_unreachable};

/// A change of a running run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SteeringRequest {
    /// Starts no further call.
    Stop,
    /// Keeps this constant rate for the rest of the run.
    Rate(Rate),
    /// Starts no call until it is resumed.
    Pause,
    /// Ends a pause.
    Resume,
}

/// The decision about a request; times are in seconds after the start.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum SteeringResult {
    /// The rate changes.
    RateChanged {
        /// Arrivals per second before.
        was_rps: f64,
        /// Arrivals per second afterwards.
        rps: f64,
        /// Time of the change.
        from_secs: f64,
        /// Time until the change in seconds, by this machine's clock.
        in_secs: f64,
    },
    /// The run is paused.
    Paused {
        /// Time of the pause.
        at_secs: f64,
    },
    /// The run goes on.
    Resumed {
        /// Time of the resumption.
        at_secs: f64,
    },
    /// The run stops.
    Stopping {
        /// Time after which no call is started; null if the run had not started.
        at_secs: Option<f64>,
        /// Requester or cause of the stop, as text.
        because: String,
    },
    /// Nothing has changed.
    Refused {
        /// The rule that refused it.
        why: NotSteered,
        /// The same as text.
        words: String,
    },
    /// The run has not started.
    NotStarted {
        /// Its state.
        state: RunState,
    },
    /// The run was over before.
    Over {
        /// How it ended; null when it was refused.
        ending: Option<Ending>,
    },
    /// No decision came in time; the request stays in the log.
    Silent {
        /// Whether the run has no agent, so that a rate change may have to wait for one.
        no_agent: bool,
    },
}

impl Session {
    /// Requests a change in the name of `by` and waits up to `timeout` for the decision. Requests
    /// nothing if the log already determines the result.
    ///
    /// # Errors
    /// When the log holds no such run; or a fault of the bus.
    pub async fn steer(
        &self,
        run: &RunId,
        wanted: SteeringRequest,
        by: &str,
        timeout: Duration,
    ) -> Result<SteeringResult, SessionError> {
        let (bus, subjects) = self.parts();
        let filters = control_of(&subjects, run);
        let tail = retry_unreachable(|| bus.tail(Stream::Ctl, filters.clone(), 1)).await?;
        let log = ControlLog::new(run.clone());
        let control = log.close();
        let mut follower = ControlFollower {
            subjects,
            tail,
            log,
            control,
        };
        let catch_up = async {
            while follower.more().await? {}
            Ok(())
        };
        let caught_up = timeout_at(Instant::now() + SERVER_TIMEOUT, catch_up).await;
        caught_up.unwrap_or_else(|_| {
            Err(Fault::TimedOut {
                what: "read the log".to_owned(),
            })
        })?;
        let state = &follower.control.state;
        if state.requested.is_none() && state.created.is_none() {
            return Err(Problem::new("run", "must be a run of this log", run).into());
        }
        if let Some(result) = result_without_request(&follower.control, wanted) {
            return Ok(result);
        }
        let request_seq = self.store(run, request(wanted, by)).await?;
        let deadline = Instant::now() + timeout;
        loop {
            let Ok(more) = timeout_at(deadline, follower.more()).await else {
                let no_agent = follower.control.state.holdings.is_empty();
                return Ok(SteeringResult::Silent { no_agent });
            };
            more?;
            if let Some(result) = result_of(&follower.control, wanted, request_seq) {
                return Ok(result);
            }
        }
    }
}

/// The control side of one run, kept up to date from its tail.
struct ControlFollower {
    subjects: Subjects,
    tail: Tail,
    log: ControlLog,
    control: Control,
}

impl ControlFollower {
    /// Folds the next record; false when the tail has caught up.
    async fn more(&mut self) -> Result<bool, Fault> {
        let Step::Event(stored) = self.tail.next().await? else {
            self.log.catch_up(&mut self.control);
            return Ok(false);
        };
        if let Some(subject) = self.subjects.parse(&stored.subject) {
            let (seq, payload) = (stored.seq, &stored.payload);
            self.log.add(&stored.subject, &subject.kind, seq, payload);
            self.log.catch_up(&mut self.control);
        }
        Ok(true)
    }
}

fn request(wanted: SteeringRequest, by: &str) -> Request {
    let by = by.to_owned();
    match wanted {
        SteeringRequest::Stop => Request::StopRequested(StopRequested { by, breach: None }),
        SteeringRequest::Rate(rate) => Request::RateChangeRequested(RateChangeRequested {
            by,
            rate,
            hold: None,
        }),
        SteeringRequest::Pause => Request::PauseRequested(PauseRequested { by }),
        SteeringRequest::Resume => Request::ResumeRequested(ResumeRequested { by }),
    }
}

/// The result if no request is needed: the run is over, stopping, or in the requested state.
fn result_without_request(control: &Control, wanted: SteeringRequest) -> Option<SteeringResult> {
    let state = &control.state;
    if let Some(result) = result_if_ending(control) {
        return Some(result);
    }
    let refused = |why: NotSteered| SteeringResult::Refused {
        why,
        words: why.words().to_owned(),
    };
    let is_paused = state.steering.paused_at.is_some();
    match wanted {
        SteeringRequest::Stop => None,
        _ if state.start.is_none() => Some(SteeringResult::NotStarted {
            state: run_state(control),
        }),
        SteeringRequest::Pause if is_paused => Some(refused(NotSteered::AlreadyPaused)),
        SteeringRequest::Resume if !is_paused => Some(refused(NotSteered::NotPaused)),
        SteeringRequest::Rate(_) | SteeringRequest::Pause | SteeringRequest::Resume => None,
    }
}

/// The result for a run that is over or stops.
fn result_if_ending(control: &Control) -> Option<SteeringResult> {
    let state = &control.state;
    let ending = control.sealed.as_ref().map(|sealed| sealed.ending);
    if state.over {
        return Some(SteeringResult::Over { ending });
    }
    if let Some(stop) = &state.stop {
        return Some(SteeringResult::Stopping {
            at_secs: Some(since_start(control, stop.stop_at)),
            because: stop.reason.words(),
        });
    }
    state
        .cancelled
        .as_ref()
        .map(|reason| SteeringResult::Stopping {
            at_secs: None,
            because: reason.clone(),
        })
}

/// The decision about the request stored at `request_seq`, or the end of the run.
fn result_of(
    control: &Control,
    wanted: SteeringRequest,
    request_seq: u64,
) -> Option<SteeringResult> {
    let mut later = control.records.iter().filter(|(seq, _)| *seq > request_seq);
    // No decision names a stop request: one scheduled stop serves all requests.
    let own = if wanted == SteeringRequest::Stop {
        None
    } else {
        later.find_map(|(_, parsed)| match parsed {
            Parsed::Decision(envelope) => result_in(control, &envelope.event, request_seq),
            _ => None,
        })
    };
    own.or_else(|| result_if_ending(control))
}

fn result_in(control: &Control, decision: &Decision, request_seq: u64) -> Option<SteeringResult> {
    Some(match decision {
        Decision::RateChanged(changed) if changed.request == request_seq => {
            let created = control.state.created.as_ref();
            let tick_us = created.map_or(0, |created| created.plan.tick_us);
            let from_us = u64::from(changed.from_tick).saturating_mul(tick_us);
            let start = control.state.start.as_ref();
            let at = start.map_or(Timestamp(0), |start| start.start_at.plus_us(from_us));
            SteeringResult::RateChanged {
                was_rps: changed.was.as_rps(),
                rps: changed.rate.as_rps(),
                from_secs: secs(from_us),
                in_secs: secs(at.since_us(super::session::now())),
            }
        }
        Decision::Paused(paused) if paused.request == request_seq => SteeringResult::Paused {
            at_secs: since_start(control, paused.paused_at),
        },
        Decision::Resumed(resumed) if resumed.request == request_seq => SteeringResult::Resumed {
            at_secs: since_start(control, resumed.resumed_at),
        },
        Decision::SteeringRefused(refused) if refused.request == request_seq => {
            SteeringResult::Refused {
                why: refused.why,
                words: refused.words(),
            }
        }
        _ => return None,
    })
}

fn since_start(control: &Control, at: Timestamp) -> f64 {
    let start = control.state.start.as_ref();
    secs(start.map_or(0, |start| at.since_us(start.start_at)))
}

#[expect(clippy::cast_precision_loss, reason = "seconds for people")]
fn secs(us: u64) -> f64 {
    us as f64 / 1e6
}
