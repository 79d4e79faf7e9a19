//! Changes of the rate and pauses of a run, and its unanswered requests to steer: a fold.
//!
//! A pause takes effect when an agent receives it. Its holder counts each arrival that is due in
//! the pause as dropped.

use std::collections::BTreeMap;

use loadpilot_events::log::req::Request;
use loadpilot_events::log::steer::hold::HoldWindow;
use loadpilot_events::log::steer::{Paused, RateChanged, Resumed, SteeringRefused};
use loadpilot_events::units::{Rate, Timestamp};

use crate::schedule::rate_change::RateChange;

/// A request to steer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SteeringRequest {
    Rate(Rate),
    Pause,
    Resume,
}

/// How a run was steered, and the requests without an answer.
#[derive(Debug, Clone, Default)]
pub struct Steering {
    /// Unanswered requests with their authors, by stream sequence.
    pub(crate) unanswered: BTreeMap<u64, (SteeringRequest, String)>,
    /// Every change of the rate, in the order of their decisions.
    pub rates: Vec<RateChange>,
    /// Since when the run is paused, if it is.
    pub paused_at: Option<Timestamp>,
    /// When the run was last resumed.
    pub resumed_at: Option<Timestamp>,
    /// Number of answered requests.
    pub(crate) answered: usize,
    /// The measurement before each change that holds gates, in the order of the decisions.
    pub holds: Vec<HoldWindow>,
    /// The same of requests without an answer, by stream sequence.
    measured: BTreeMap<u64, HoldWindow>,
    /// The lowest limit of the tenant's rates that a request was above.
    pub(crate) rate_limit: Option<Rate>,
}

impl Steering {
    pub(crate) fn on_request(&mut self, seq: u64, request: &Request) {
        let (wanted, by) = match request {
            Request::RunRequested(_)
            | Request::StopRequested(_)
            | Request::SetupClaimed(_)
            | Request::SetupKept(_)
            | Request::TeardownClaimed(_)
            | Request::TeardownFinished(_)
            | Request::RunAnnotated(_) => return,
            Request::RateChangeRequested(request) => {
                let window = request.hold.iter().map(|window| (seq, window.clone()));
                self.measured.extend(window);
                (SteeringRequest::Rate(request.rate), &request.by)
            }
            Request::PauseRequested(request) => (SteeringRequest::Pause, &request.by),
            Request::ResumeRequested(request) => (SteeringRequest::Resume, &request.by),
        };
        self.unanswered.insert(seq, (wanted, by.clone()));
    }

    pub(crate) fn on_rate_changed(&mut self, changed: &RateChanged) {
        self.holds.extend(self.measured.remove(&changed.request));
        self.answer(changed.request);
        self.rates.push(RateChange::of(changed));
    }

    pub(crate) fn on_paused(&mut self, paused: &Paused) {
        self.answer(paused.request);
        self.paused_at.get_or_insert(paused.paused_at);
    }

    pub(crate) fn on_resumed(&mut self, resumed: &Resumed) {
        self.answer(resumed.request);
        self.paused_at = None;
        self.resumed_at = Some(resumed.resumed_at);
    }

    pub(crate) fn on_refused(&mut self, refused: &SteeringRefused) {
        self.measured.remove(&refused.request);
        let limits = refused.exceeded.iter().map(|exceeded| exceeded.limit);
        self.rate_limit = limits.chain(self.rate_limit).min();
        self.answer(refused.request);
    }

    /// Whether a request has no answer yet.
    #[must_use]
    pub fn awaits_answer(&self) -> bool {
        !self.unanswered.is_empty()
    }

    fn answer(&mut self, request: u64) {
        self.unanswered.remove(&request);
        self.answered += 1;
    }
}
