//! Steering a run that runs: other rates, pauses. The part of [`crate::control::decide`] that
//! answers what users ask for, and the fold of those answers.
//!
//! A change of the rate takes effect at a tick ahead, as a generation of its own: whoever hears of
//! it too late has offered what is superseded. A pause takes effect when it is heard; each arrival
//! that is due in it is counted as dropped by its holder. Must never move the end of a run, and
//! never touch what is due before a change.

use std::collections::BTreeMap;

use loadpilot_events::limits::{RATE_MAX_URPS, STEERED_MAX};
use loadpilot_events::log::ctl::Decision;
use loadpilot_events::log::req::Request;
use loadpilot_events::log::steer::{NotSteered, Paused, RateChanged, Resumed, SteeringRefused};
use loadpilot_events::units::{Rate, Timestamp};

use crate::control::decide::Run;
use crate::schedule::rate_change::RateChange;
use crate::schedule::workload::Workload;

/// What somebody asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wish {
    Rate(Rate),
    Pause,
    Resume,
}

/// How a run was steered, and what is asked for and not answered.
#[derive(Debug, Clone, Default)]
pub struct Steering {
    /// By the stream sequence of the request: what, and who asked.
    unanswered: BTreeMap<u64, (Wish, String)>,
    /// Every change of the rate, in the order of their decisions.
    pub rates: Vec<RateChange>,
    /// Since when it is paused, if it is.
    pub paused_at: Option<Timestamp>,
    /// How many requests were answered.
    answered: usize,
}

impl Steering {
    pub(crate) fn on_request(&mut self, seq: u64, request: &Request) {
        let (wish, by) = match request {
            Request::RunRequested(_)
            | Request::StopRequested(_)
            | Request::SetupClaimed(_)
            | Request::SetupKept(_)
            | Request::TeardownClaimed(_)
            | Request::TeardownFinished(_) => return,
            Request::RateChangeRequested(asked) => (Wish::Rate(asked.rate), &asked.by),
            Request::PauseRequested(asked) => (Wish::Pause, &asked.by),
            Request::ResumeRequested(asked) => (Wish::Resume, &asked.by),
        };
        self.unanswered.insert(seq, (wish, by.clone()));
    }

    pub(crate) fn on_rate_changed(&mut self, changed: &RateChanged) {
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
    }

    pub(crate) fn on_refused(&mut self, refused: &SteeringRefused) {
        self.answer(refused.request);
    }

    fn answer(&mut self, request: u64) {
        self.unanswered.remove(&request);
        self.answered += 1;
    }
}

impl Run<'_> {
    /// The answer to the oldest request to steer that has none.
    pub(crate) fn steer(&self) -> Option<Decision> {
        let steering = &self.state.steering;
        let (&request, (wish, by)) = steering.unanswered.first_key_value()?;
        let (by, now) = (by.clone(), self.now);
        let refused = |why| {
            let by = by.clone();
            Decision::SteeringRefused(SteeringRefused { request, by, why })
        };
        if steering.answered >= STEERED_MAX {
            return Some(refused(NotSteered::TooOften));
        }
        let is_paused = steering.paused_at.is_some();
        Some(match *wish {
            Wish::Pause if is_paused => refused(NotSteered::AlreadyPaused),
            Wish::Pause => Decision::Paused(Paused {
                request,
                by,
                paused_at: now,
            }),
            Wish::Resume if !is_paused => refused(NotSteered::NotPaused),
            Wish::Resume => Decision::Resumed(Resumed {
                request,
                by,
                resumed_at: now,
            }),
            Wish::Rate(_) if self.created.plan.users.is_some() => refused(NotSteered::ClosedLoop),
            Wish::Rate(Rate(0 | RATE_BEYOND..)) => refused(NotSteered::RateOutOfRange),
            // While nobody holds anything there is no map to go on with.
            Wish::Rate(_) if self.state.holdings.is_empty() => return None,
            Wish::Rate(rate) => match self.change_tick() {
                None => refused(NotSteered::TooLate),
                Some(from_tick) => Decision::RateChanged(RateChanged {
                    request,
                    by,
                    generation: self.state.generation + 1,
                    holdings: self.state.holdings.clone(),
                    from_tick,
                    was: self.planned_at(from_tick),
                    rate,
                }),
            },
        })
    }

    /// The first tick for which every holder that has not fenced itself knows of a change, and that
    /// does not begin before the map in force; `None` when the run is over by then.
    fn change_tick(&self) -> Option<u32> {
        let known_us = self.policy.behind_us + self.policy.takeover_us;
        self.map_from(self.now.plus_us(known_us))
    }

    fn planned_at(&self, tick: u32) -> Rate {
        let workload = Workload::new(&self.created.plan, self.created.seed);
        let workload = workload.steered(&self.state.steering.rates);
        Rate(
            workload
                .pace()
                .rate_at(u64::from(tick) * self.created.plan.tick_us),
        )
    }
}

/// The least rate that is too high.
const RATE_BEYOND: u64 = RATE_MAX_URPS + 1;
