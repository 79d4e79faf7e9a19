//! Steering a run from outside: a request in the log, and the answer that the log gives.
//!
//! Must never say that something was done which no decision says.

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

use super::session::{Session, SessionError, control_of, retry_unreachable};

/// What somebody wants of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SteeringRequest {
    /// It starts nothing more.
    Stop,
    /// The rest of it is constant at this rate.
    Rate(Rate),
    /// It starts nothing for now.
    Pause,
    /// It goes on.
    Resume,
}

/// What became of it; times are in seconds after the start.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum SteeringResult {
    /// The rate is another one from then on.
    RateChanged {
        /// Arrivals per second before.
        was_rps: f64,
        /// And after.
        rps: f64,
        /// From when on.
        from_secs: f64,
        /// How far that is ahead, by this machine's clock.
        in_secs: f64,
    },
    /// It is paused since then.
    Paused {
        /// Since when.
        at_secs: f64,
    },
    /// It goes on since then.
    Resumed {
        /// Since when.
        at_secs: f64,
    },
    /// It stops; nothing is started after that.
    Stopping {
        /// From when on; null when it had not started.
        at_secs: Option<f64>,
        /// Who or what stopped it, for people.
        because: String,
    },
    /// Nothing changed, and why.
    Refused {
        /// Which rule.
        why: NotSteered,
        /// For people.
        words: &'static str,
    },
    /// It has not started, so that there is nothing to steer.
    NotStarted {
        /// Where it stands.
        state: RunState,
    },
    /// It was over before.
    Over {
        /// How it ended; null when it was refused.
        ending: Option<Ending>,
    },
    /// Nobody decided in time; the request stays in the log.
    Silent {
        /// Whether that may be because the run has no agent left to change the rate of.
        no_agent: bool,
    },
}

impl Session {
    /// Asks for something and waits for the decision. What can be answered from the log as it
    /// stands is not asked for.
    ///
    /// # Errors
    /// When the log holds no such run; or the world.
    pub async fn steer(
        &self,
        run: &RunId,
        wanted: SteeringRequest,
        by: &str,
        patience: Duration,
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
        while follower.more().await? {}
        let state = &follower.control.state;
        if state.requested.is_none() && state.created.is_none() {
            return Err(Problem::new("run", "must be a run of this log", run).into());
        }
        if let Some(answer) = result_without_request(&follower.control, wanted) {
            return Ok(answer);
        }
        let asked = self.store(run, request(wanted, by)).await?;
        let give_up = Instant::now() + patience;
        loop {
            let Ok(more) = timeout_at(give_up, follower.more()).await else {
                let no_agent = follower.control.state.holdings.is_empty();
                return Ok(SteeringResult::Silent { no_agent });
            };
            more?;
            if let Some(answer) = result_of(&follower.control, wanted, asked) {
                return Ok(answer);
            }
        }
    }
}

/// The control side of one run, folded once and kept up to date.
struct ControlFollower {
    subjects: Subjects,
    tail: Tail,
    log: ControlLog,
    control: Control,
}

impl ControlFollower {
    /// Folds what comes next; false when that was all that was stored when it began.
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
        SteeringRequest::Stop => Request::StopRequested(StopRequested { by }),
        SteeringRequest::Rate(rate) => {
            Request::RateChangeRequested(RateChangeRequested { by, rate })
        }
        SteeringRequest::Pause => Request::PauseRequested(PauseRequested { by }),
        SteeringRequest::Resume => Request::ResumeRequested(ResumeRequested { by }),
    }
}

/// What needs no request: it is over, stopping, or as it is wanted to be.
fn result_without_request(control: &Control, wanted: SteeringRequest) -> Option<SteeringResult> {
    let state = &control.state;
    if let Some(answer) = ended(control) {
        return Some(answer);
    }
    let refused = |why: NotSteered| SteeringResult::Refused {
        why,
        words: why.words(),
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

/// Whether it is over or ends.
fn ended(control: &Control) -> Option<SteeringResult> {
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

/// The decision that answers the request stored at `asked`, or the end of the run.
fn result_of(control: &Control, wanted: SteeringRequest, asked: u64) -> Option<SteeringResult> {
    let later = control.records.iter().filter(|(seq, _)| *seq > asked);
    let mut answers = later.filter_map(|(_, parsed)| match parsed {
        Parsed::Decision(envelope) => answer(control, &envelope.event, asked),
        _ => None,
    });
    // A stop has no answer of its own: the first one that is scheduled answers all.
    let own = if wanted == SteeringRequest::Stop {
        None
    } else {
        answers.next()
    };
    own.or_else(|| ended(control))
}

fn answer(control: &Control, decision: &Decision, asked: u64) -> Option<SteeringResult> {
    Some(match decision {
        Decision::RateChanged(changed) if changed.request == asked => {
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
        Decision::Paused(paused) if paused.request == asked => SteeringResult::Paused {
            at_secs: since_start(control, paused.paused_at),
        },
        Decision::Resumed(resumed) if resumed.request == asked => SteeringResult::Resumed {
            at_secs: since_start(control, resumed.resumed_at),
        },
        Decision::SteeringRefused(refused) if refused.request == asked => SteeringResult::Refused {
            why: refused.why,
            words: refused.why.words(),
        },
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
