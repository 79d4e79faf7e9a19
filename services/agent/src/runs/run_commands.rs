//! Commands to the worker of one run, and the stops that follow from them. Pure.
//!
//! [`RunCommands`] are a state, not a queue: a worker that reads late reads the latest state, and
//! no command is lost. Must never read a clock.

use loadpilot_engine::control::agent_view::{Hold, Stage};
use loadpilot_engine::schedule::rate_change::RateChange;
use loadpilot_events::log::assign::Generation;
use loadpilot_events::log::evt::FinishReason;
use loadpilot_events::{DropReason, Timestamp};

/// Commands to the worker of one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunCommands {
    /// The newest generation.
    pub generation: Generation,
    /// Shards of this process, by due tick.
    pub holds: Vec<Hold>,
    /// Changes of the rate, in order.
    pub rates: Vec<RateChange>,
    /// Whether the run is paused: arrivals are dropped.
    pub paused: bool,
    /// Stage of the run.
    pub stage: Stage,
    /// Whether other agents hold its shards, now or from a tick on.
    pub superseded: bool,
    /// Why this agent stopped by itself, if it did.
    pub isolated: Option<Fenced>,
    /// Whether this agent leaves without waiting longer for others to take its shards over.
    pub leaving: bool,
    /// Whether the kill switch was used.
    pub halted: bool,
}

/// A stop of an agent by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fenced {
    /// Reason of the stop.
    pub why: Isolation,
    /// Time of the stop, by the agent's clock.
    pub at: Timestamp,
    /// Sequence of the last control event that it had read.
    pub ctl_seq: u64,
}

/// Why an agent stopped by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isolation {
    /// No answer of any kind within the fence timeout.
    CutOff,
    /// NATS answers, but no coordinator did within its timeout.
    NoCoordinator,
    /// Decisions exist that this agent could not fetch.
    Behind,
}

impl Isolation {
    /// Text for the log of the run.
    #[must_use]
    pub fn reason(self) -> &'static str {
        match self {
            Self::CutOff => "no answer to heartbeats for the fence time",
            Self::NoCoordinator => "no coordinator answered for its time",
            Self::Behind => "decisions exist that could not be fetched in time",
        }
    }
}

/// Time from which no arrival is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// At once.
    Now,
    /// At a time of the coordinator's clock.
    At(Timestamp),
    /// At the begin of the takeover tick. Arrivals due before it continue to their end.
    Takeover(u32),
}

/// Command to start no more arrivals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stop {
    /// Time of the stop.
    pub when: When,
    /// Reason in the final event of the holder.
    pub reason: FinishReason,
    /// Drop reason of waiting arrivals.
    pub drop: DropReason,
    /// Whether calls in flight end at once, too.
    pub cancel: bool,
}

impl RunCommands {
    /// Whether the run is over.
    #[must_use]
    pub fn over(&self) -> bool {
        self.stage == Stage::Over
    }

    /// Start of the run, once decided.
    #[must_use]
    pub fn start_at(&self) -> Option<Timestamp> {
        match self.stage {
            Stage::Scheduled { start_at } => Some(start_at),
            Stage::Stopping { start_at, .. } => start_at,
            Stage::Gathering | Stage::Assigned | Stage::Over => None,
        }
    }

    /// The newest generation in which this process holds shards.
    #[must_use]
    pub fn held_generation(&self) -> Option<Generation> {
        self.holds.last().map(|hold| hold.generation)
    }

    /// All stops, the more urgent ones first; the first stop that becomes due counts.
    #[must_use]
    pub fn stops(&self) -> Vec<Stop> {
        let stop = |when, reason, drop, cancel| Stop {
            when,
            reason,
            drop,
            cancel,
        };
        let (now, stopped) = (When::Now, DropReason::Stopped);
        let mut found = Vec::new();
        if self.halted {
            found.push(stop(now, FinishReason::Stopped, stopped, true));
        }
        if self.isolated.is_some() {
            found.push(stop(now, FinishReason::Isolated, DropReason::Fenced, false));
        }
        if self.leaving {
            found.push(stop(now, FinishReason::Left, stopped, false));
        }
        if self.superseded {
            let until = self.holds.last().and_then(|hold| hold.until_tick);
            let when = until.map_or(When::Now, When::Takeover);
            found.push(stop(when, FinishReason::Superseded, stopped, false));
        }
        if let Stage::Stopping { stop_at, .. } = self.stage {
            found.push(stop(
                When::At(stop_at),
                FinishReason::Stopped,
                stopped,
                false,
            ));
        }
        found
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A holder of shard 0 that is about to start.
    pub(crate) fn scheduled() -> RunCommands {
        let hold = Hold {
            generation: 1,
            from_tick: 0,
            until_tick: None,
            shards: vec![0],
        };
        RunCommands {
            generation: 1,
            holds: vec![hold],
            rates: Vec::new(),
            paused: false,
            stage: Stage::Scheduled {
                start_at: Timestamp(10),
            },
            superseded: false,
            isolated: None,
            leaving: false,
            halted: false,
        }
    }

    fn first(commands: &RunCommands) -> (When, FinishReason, DropReason, bool) {
        let stop = commands.stops()[0];
        (stop.when, stop.reason, stop.drop, stop.cancel)
    }

    /// Broken if a holder stops without a command.
    #[test]
    fn without_a_command_there_is_no_stop() {
        assert!(scheduled().stops().is_empty());
        assert_eq!(scheduled().start_at(), Some(Timestamp(10)));
    }

    /// Broken if a command has another stop, or does not yield to the kill switch.
    #[test]
    fn each_command_has_its_own_stop() {
        let mut commands = scheduled();
        commands.stage = Stage::Stopping {
            start_at: Some(Timestamp(10)),
            stop_at: Timestamp(20),
        };
        let stopped = (FinishReason::Stopped, DropReason::Stopped);
        let at = When::At(Timestamp(20));
        assert_eq!(first(&commands), (at, stopped.0, stopped.1, false));
        assert_eq!(commands.start_at(), Some(Timestamp(10)));

        commands.superseded = true;
        let gone = (FinishReason::Superseded, DropReason::Stopped);
        assert_eq!(first(&commands), (When::Now, gone.0, gone.1, false));
        commands.holds[0].until_tick = Some(7);
        assert_eq!(first(&commands), (When::Takeover(7), gone.0, gone.1, false));

        commands.leaving = true;
        assert_eq!(
            first(&commands),
            (When::Now, FinishReason::Left, DropReason::Stopped, false)
        );

        commands.isolated = Some(Fenced {
            why: Isolation::CutOff,
            at: Timestamp(1),
            ctl_seq: 3,
        });
        let fenced = (FinishReason::Isolated, DropReason::Fenced);
        assert_eq!(first(&commands), (When::Now, fenced.0, fenced.1, false));

        commands.halted = true;
        assert_eq!(first(&commands), (When::Now, stopped.0, stopped.1, true));
        assert_eq!(
            commands.stops().len(),
            5,
            "the later ones still count when they come first"
        );
    }
}
