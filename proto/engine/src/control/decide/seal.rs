//! The seal of a run: when it is due, and its content.
//!
//! Must never seal a run while a holder that may still report is waited for.

use loadpilot_events::id::Holder;
use loadpilot_events::limits::SEAL_NAMES_MAX;
use loadpilot_events::log::ctl::{Decision, Ending, Final, RunSealed, StopReason, Unnamed};
use loadpilot_events::log::evt::ShardsFinished;
use loadpilot_events::units::Timestamp;

use crate::bugs::{Bug, bug};
use crate::control::decide::Run;
use crate::control::decide::timeouts::longest_arrival_us;
use crate::control::run_state::Resignation;

impl Run<'_> {
    /// When the wait for final totals ends.
    pub(super) fn finish_by(&self) -> Timestamp {
        let last_call = self
            .offered_until()
            .plus_us(longest_arrival_us(&self.created.plan));
        last_call.plus_us(self.policy.finish_us)
    }

    pub(super) fn finish(&self) -> Option<Decision> {
        let may_speak = |holder: &Holder| {
            !self.state.lost.contains_key(holder)
                && self.state.resigned.get(holder) != Some(&Resignation::Failed)
                && !self.is_silent(holder)
                && !self.was_replaced(holder)
        };
        let waited_for = |holder: &&Holder| {
            !self.state.finished.contains_key(holder)
                && !self.state.tails.contains_key(holder)
                && (may_speak(holder) || self.is_recovered(holder))
        };
        let pending = self
            .state
            .ever_held
            .iter()
            .any(|holder| waited_for(&holder));
        let over = !pending || bug(Bug::SealedBeforeLastWords);
        (over || self.now >= self.finish_by()).then(|| self.seal(self.ending()))
    }

    pub(crate) fn was_replaced(&self, holder: &Holder) -> bool {
        self.later_processes(holder).next().is_some()
    }

    /// Whether another process of its agent is about to report what this one left behind.
    pub(crate) fn is_recovered(&self, holder: &Holder) -> bool {
        let older = self.observed.agents.range(..holder).rev();
        let older = older.take_while(|(other, _)| other.agent == holder.agent);
        let mut others = self.later_processes(holder).chain(older);
        let reports = others.any(|(other, seen)| {
            seen.recovering.contains(&holder.boot_id) && !self.is_silent(other)
        });
        reports && !bug(Bug::TailNotAwaited)
    }

    fn ending(&self) -> Ending {
        match self.state.stop_reason() {
            None => Ending::Completed,
            Some(StopReason::Requested { .. }) => Ending::Stopped,
            Some(StopReason::OwnerGone | StopReason::NobodyLeft) => Ending::Abandoned,
            Some(StopReason::LogFull) => Ending::LogFull,
        }
    }

    pub(super) fn seal(&self, ending: Ending) -> Decision {
        let state = self.state;
        let finals = state
            .finished
            .iter()
            .filter(|(holder, _)| state.ever_held.contains(holder));
        let missing = state
            .ever_held
            .iter()
            .filter(|holder| !state.finished.contains_key(holder));
        let mut seal = RunSealed {
            ending,
            ctl_seq: state.ctl_seq,
            evt_seq: state.evt_seq,
            data_seq: self.observed.data_head,
            finals: Vec::new(),
            missing: Vec::new(),
            unnamed: None,
        };
        if state.ever_held.len() > SEAL_NAMES_MAX {
            seal.unnamed = Some(Unnamed {
                finished: number(finals.count()),
                missing: number(missing.count()),
            });
            return Decision::RunSealed(seal);
        }
        let last_words = |(holder, finished): (&Holder, &ShardsFinished)| Final {
            holder: holder.clone(),
            final_seq: finished.final_seq,
            totals: finished.totals.clone(),
        };
        seal.finals = finals.map(last_words).collect();
        seal.missing = missing.cloned().collect();
        Decision::RunSealed(seal)
    }
}

fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
