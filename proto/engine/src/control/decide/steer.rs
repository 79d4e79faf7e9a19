//! The answer to a request to steer: another rate, a pause, or the end of a pause.
//!
//! A change of the rate takes effect at a future tick, as a generation of its own: an agent that
//! learns of it too late sends superseded load. Must never move the end of a run, and never touch
//! what is due before a change.

use loadpilot_events::limits::{RATE_MAX_URPS, STEERED_MAX};
use loadpilot_events::log::ctl::{Decision, Excess};
use loadpilot_events::log::steer::{
    ExceededRate, NotSteered, Paused, RateChanged, RateLimit, Resumed, SteeringRefused,
};
use loadpilot_events::units::Rate;

use crate::control::decide::{Run, tenant_rules};
use crate::control::steering::SteeringRequest;
use crate::schedule::workload::Workload;

impl Run<'_> {
    /// The answer to the oldest unanswered request to steer.
    pub(crate) fn steer(&self) -> Option<Decision> {
        let steering = &self.state.steering;
        let (&request, (wanted, by)) = steering.unanswered.first_key_value()?;
        let (by, now) = (by.clone(), self.now);
        let refused = |why| refused(request, &by, why, None);
        let is_paused = steering.paused_at.is_some();
        // Without an exception a run could stay paused until its end.
        let ends_a_pause = is_paused && matches!(wanted, SteeringRequest::Resume);
        if steering.answered >= STEERED_MAX && !ends_a_pause {
            return Some(refused(NotSteered::TooOften));
        }
        Some(match *wanted {
            SteeringRequest::Pause if is_paused => refused(NotSteered::AlreadyPaused),
            SteeringRequest::Pause => Decision::Paused(Paused {
                request,
                by,
                paused_at: now,
            }),
            SteeringRequest::Resume if !is_paused => refused(NotSteered::NotPaused),
            SteeringRequest::Resume => Decision::Resumed(Resumed {
                request,
                by,
                resumed_at: now,
            }),
            SteeringRequest::Rate(_) if self.created.plan.users.is_some() => {
                refused(NotSteered::ClosedLoop)
            }
            SteeringRequest::Rate(Rate(0 | RATE_BEYOND..)) => refused(NotSteered::RateOutOfRange),
            SteeringRequest::Rate(rate) => return self.change_rate(request, &by, rate),
        })
    }

    /// The answer to the request for a possible rate.
    fn change_rate(&self, request: u64, by: &str, rate: Rate) -> Option<Decision> {
        if let Err(exceeded) = self.check_quota(rate) {
            return Some(refused(request, by, NotSteered::AboveQuota, exceeded));
        }
        if self.state.holdings.is_empty() {
            // Without a holder there is no map to go on with.
            return None;
        }
        Some(match self.change_tick() {
            None => refused(request, by, NotSteered::TooLate, None),
            Some(from_tick) => Decision::RateChanged(RateChanged {
                request,
                by: by.to_owned(),
                generation: self.state.generation + 1,
                holdings: self.state.holdings.clone(),
                from_tick,
                was: self.planned_at(from_tick),
                rate,
            }),
        })
    }

    /// Whether the run's tenant may have this rate, without a proof that it owns the targets unless
    /// the run has one: a proof is looked for before the start only.
    ///
    /// # Errors
    /// The limit that the rate exceeds; `None` where the fleet no longer serves the tenant.
    fn check_quota(&self, requested: Rate) -> Result<(), Option<ExceededRate>> {
        let rules = match tenant_rules(self.observed, self.policy) {
            Ok(None) => return Ok(()),
            Ok(Some(rules)) => rules,
            // The operator removed the tenant while its run goes on.
            Err(_) => return Err(None),
        };
        let exceeded = |key, limit| {
            Err(Some(ExceededRate {
                requested,
                limit,
                key,
            }))
        };
        if let Some(max) = rules.quotas.max_rate.filter(|max| requested > *max) {
            return exceeded(RateLimit::MaxRate, max);
        }
        match rules.unproven.excess_rate(requested) {
            Some(Excess::Rate { limit, .. }) if self.created.proof.is_none() => {
                exceeded(RateLimit::UnprovenRate, limit)
            }
            _ => Ok(()),
        }
    }

    /// The first tick at which every holder that has not fenced itself knows of a change, and that
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

fn refused(request: u64, by: &str, why: NotSteered, exceeded: Option<ExceededRate>) -> Decision {
    Decision::SteeringRefused(SteeringRefused {
        request,
        by: by.to_owned(),
        why,
        exceeded,
    })
}

/// The lowest rate above the maximum.
const RATE_BEYOND: u64 = RATE_MAX_URPS + 1;
