//! The answer to a request to steer: another rate, a pause, or the end of a pause.
//!
//! A change of the rate takes effect at a future tick, as a generation of its own: an agent that
//! learns of it too late has offered superseded load. Must never move the end of a run, and never
//! touch what is due before a change.

use loadpilot_events::limits::{RATE_MAX_URPS, STEERED_MAX};
use loadpilot_events::log::ctl::Decision;
use loadpilot_events::log::steer::{NotSteered, Paused, RateChanged, Resumed, SteeringRefused};
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
        let refused = |why| {
            let by = by.clone();
            Decision::SteeringRefused(SteeringRefused { request, by, why })
        };
        if steering.answered >= STEERED_MAX {
            return Some(refused(NotSteered::TooOften));
        }
        let is_paused = steering.paused_at.is_some();
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
            SteeringRequest::Rate(rate) if self.is_above_quota(rate) => {
                refused(NotSteered::AboveQuota)
            }
            // Without a holder there is no map to go on with.
            SteeringRequest::Rate(_) if self.state.holdings.is_empty() => return None,
            SteeringRequest::Rate(rate) => match self.change_tick() {
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

    /// Whether the run's tenant may not have this rate, or not without a proof that it owns the
    /// targets, which is looked for before the start only.
    fn is_above_quota(&self, rate: Rate) -> bool {
        let rules = match tenant_rules(self.observed, self.policy) {
            Ok(None) => return false,
            Ok(Some(rules)) => rules,
            // The operator removed the tenant while its run goes on.
            Err(_) => return true,
        };
        let is_unproven = self.created.proof.is_none();
        rules.quotas.max_rate.is_some_and(|max| rate > max)
            || is_unproven && rules.unproven.excess_rate(rate).is_some()
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

/// The lowest rate above the maximum.
const RATE_BEYOND: u64 = RATE_MAX_URPS + 1;
