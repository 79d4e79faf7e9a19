//! Commands to the worker of one run, and the stops that follow from them. Pure, without a clock.
//!
//! RunCommands are a state, not a list of commands: whoever reads them late sees the latest, and no
//! command can be lost. It must never look at a clock.

use loadpilot_engine::control::agent_view::{Hold, Stage};
use loadpilot_engine::schedule::rate_change::RateChange;
use loadpilot_events::log::assign::Generation;
use loadpilot_events::log::evt::FinishReason;
use loadpilot_events::{DropReason, Timestamp};

/// Everything that the worker of one run acts upon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunCommands {
    /// The newest assignment.
    pub generation: Generation,
    /// What this process holds, by due tick.
    pub holds: Vec<Hold>,
    /// Every change of the rate, in order.
    pub rates: Vec<RateChange>,
    /// Whether arrivals are dropped for now.
    pub paused: bool,
    /// Where the run stands.
    pub stage: Stage,
    /// Whether others hold its shards, now or from a tick on.
    pub superseded: bool,
    /// Whether it stopped by itself, and why.
    pub isolated: Option<Fenced>,
    /// Whether its operator ends it.
    pub leaving: bool,
    /// Whether the kill switch was used.
    pub halted: bool,
}

/// A stop by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fenced {
    /// Why.
    pub why: Isolation,
    /// When, by its own clock.
    pub at: Timestamp,
    /// The last control event it had seen.
    pub ctl_seq: u64,
}

/// Why an agent stopped by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isolation {
    /// No answer of any kind for the fence time.
    CutOff,
    /// NATS answers, but no coordinator did for its time.
    NoCoordinator,
    /// Decisions are known to exist that this agent has not been able to get.
    Behind,
}

impl Isolation {
    /// For people to read, in the log.
    #[must_use]
    pub fn reason(self) -> &'static str {
        match self {
            Self::CutOff => "no answer to heartbeats for the fence time",
            Self::NoCoordinator => "no coordinator on_reply for its time",
            Self::Behind => "decisions exist that could not be fetched in time",
        }
    }
}

/// From when on nothing more is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// At once.
    Now,
    /// At an instant of the coordinators' clock.
    At(Timestamp),
    /// When a due tick begins that belongs to others. What was due before runs to its end.
    Takeover(u32),
}

/// An order to start nothing more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stop {
    /// From when on.
    pub when: When,
    /// What the holder says in its last words.
    pub reason: FinishReason,
    /// What becomes of arrivals that wait.
    pub drop: DropReason,
    /// Whether what is in flight ends too, without a wait for its time-out.
    pub cancel: bool,
}

impl RunCommands {
    /// Whether the run is over.
    #[must_use]
    pub fn over(&self) -> bool {
        self.stage == Stage::Over
    }

    /// When the run starts, once that is decided.
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

    /// Every reason to stop, the more urgent first; the one that comes due first counts.
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

    /// A holder with nothing against it must go on.
    #[test]
    fn no_order_means_no_stop() {
        assert!(scheduled().stops().is_empty());
        assert_eq!(scheduled().start_at(), Some(Timestamp(10)));
    }

    /// What each order means, one row each; the kill switch beats them all.
    #[test]
    fn each_order_has_its_own_stop() {
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
