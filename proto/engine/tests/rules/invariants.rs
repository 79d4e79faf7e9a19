//! The invariants of one run's control log: those of every log, which the product itself verifies,
//! and those that depend on the policy of a fleet.

use loadpilot_engine::decide::Policy;
use loadpilot_engine::verify::{Decided, decisions};
use loadpilot_events::ctl::Decision;
use loadpilot_events::units::Timestamp;

/// A decision as stored.
#[derive(Debug, Clone)]
pub(crate) struct Stored {
    /// Its sequence in LP_CTL.
    pub(crate) seq: u64,
    /// When it was decided, by its writer's clock.
    pub(crate) at: Timestamp,
    /// What was decided.
    pub(crate) decision: Decision,
}

/// Holds a control log to its invariants.
///
/// # Panics
/// When one is broken.
pub(crate) fn check(policy: &Policy, log: &[Stored]) {
    let found = decisions(log.iter().map(|stored| Decided {
        subject: "ctl",
        seq: stored.seq,
        at: stored.at,
        decision: &stored.decision,
    }));
    let lines = found.lines();
    assert!(lines.is_empty(), "decisions break a rule: {lines:?}");
    takeovers_have_room(policy, log);
}

/// Whoever takes over knows of it before.
fn takeovers_have_room(policy: &Policy, log: &[Stored]) {
    let (mut now, mut tick_us, mut start_at) = (Timestamp(0), 0, None);
    for stored in log {
        now = now.max(stored.at);
        match &stored.decision {
            Decision::RunCreated(created) => tick_us = created.plan.tick_us,
            Decision::StartScheduled(start) => start_at = Some(start.start_at),
            Decision::ShardsReassigned(next) => {
                let begins = start_at.map(|start_at: Timestamp| {
                    start_at.plus_us(u64::from(next.takeover_tick) * tick_us)
                });
                assert!(
                    begins.is_none_or(|begins| begins >= now.plus_us(policy.takeover_us)),
                    "no room for the takeover"
                );
            }
            _ => {}
        }
    }
}
