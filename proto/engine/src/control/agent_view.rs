//! What one agent process knows about one run: the fold of the decisions it has received.
//!
//! Decisions must never be applied out of order: a gap is reported, and the caller fetches the
//! missing decisions.

use loadpilot_events::id::Holder;
use loadpilot_events::log::assign::{Generation, Holding};
use loadpilot_events::log::ctl::Decision;
use loadpilot_events::units::{Rate, Timestamp};
use loadpilot_events::wire::heartbeat::News;

use crate::control::created_run::CreatedRun;
use crate::schedule::rate_change::RateChange;

use crate::bugs::{Bug, bug};

/// The result of applying a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Applied {
    /// It was the next decision.
    Applied,
    /// It had been applied before.
    Duplicate,
    /// One before it is missing, or its plan; nothing changed.
    Gap,
}

/// The stage of a run, as far as an agent needs to know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Agents may offer capacity.
    Gathering,
    /// Holders get ready.
    Assigned,
    /// Due times count from this instant of the coordinators' clock.
    Scheduled {
        /// The start.
        start_at: Timestamp,
    },
    /// Nothing is started from `stop_at` on.
    Stopping {
        /// The start, if there was one.
        start_at: Option<Timestamp>,
        /// The stop.
        stop_at: Timestamp,
    },
    /// Sealed, refused or cancelled: the agent forgets the run.
    Over,
}

/// Shards held over a range of due ticks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hold {
    /// The assignment.
    pub generation: Generation,
    /// First due tick.
    pub from_tick: u32,
    /// First due tick that belongs to the next assignment.
    pub until_tick: Option<u32>,
    /// The shards.
    pub shards: Vec<u32>,
}

/// One run as one agent process sees it.
#[derive(Debug, Clone)]
pub struct AgentView {
    me: Holder,
    ctl_seq: u64,
    created: Option<Box<CreatedRun>>,
    stage: Stage,
    assignments: Vec<Assignment>,
    rates: Vec<RateChange>,
    paused: bool,
    lost: bool,
}

#[derive(Debug, Clone)]
struct Assignment {
    generation: Generation,
    from_tick: u32,
    mine: Vec<u32>,
}

impl AgentView {
    /// A run of which nothing is known yet.
    #[must_use]
    pub fn new(me: Holder) -> Self {
        let (created, assignments) = (None, Vec::new());
        Self {
            me,
            ctl_seq: 0,
            created,
            stage: Stage::Gathering,
            assignments,
            rates: Vec::new(),
            paused: false,
            lost: false,
        }
    }

    /// Applies one decision.
    pub fn apply(&mut self, news: &News) -> Applied {
        if news.seq <= self.ctl_seq {
            return Applied::Duplicate;
        }
        if news.previous_seq != self.ctl_seq && !bug(Bug::GapsIgnored) {
            return Applied::Gap;
        }
        // Coordinators of this version put the plan into the news: without a plan the news are from
        // another version, and the caller fetches the decision again.
        if let Decision::RunCreated(created) = &news.event.event {
            let Ok(created) = CreatedRun::of(created, None) else {
                return Applied::Gap;
            };
            self.created = Some(Box::new(created));
        }
        self.ctl_seq = news.seq;
        self.evolve(&news.event.event);
        Applied::Applied
    }

    /// The last decision applied, as a stream sequence; 0 before the first.
    #[must_use]
    pub fn ctl_seq(&self) -> u64 {
        self.ctl_seq
    }

    /// The run as it was created, once known.
    #[must_use]
    pub fn created(&self) -> Option<&CreatedRun> {
        self.created.as_deref()
    }

    /// The stage of the run.
    #[must_use]
    pub fn stage(&self) -> Stage {
        self.stage
    }

    /// The newest assignment's number; 0 before the first.
    #[must_use]
    pub fn generation(&self) -> Generation {
        self.assignments
            .last()
            .map_or(0, |assignment| assignment.generation)
    }

    /// Every change of the rate, in order.
    #[must_use]
    pub fn rates(&self) -> &[RateChange] {
        &self.rates
    }

    /// Whether the run is paused: arrivals are dropped.
    #[must_use]
    pub fn paused(&self) -> bool {
        self.paused
    }

    /// The highest rate that was ever planned, once that is known.
    #[must_use]
    pub fn peak(&self) -> Option<Rate> {
        let planned = self.created.as_ref()?.plan.profile.peak();
        let changed = self.rates.iter().map(|change| change.rate);
        changed.chain([planned]).max()
    }

    /// Everything that this process holds or held, by due tick.
    #[must_use]
    pub fn holds(&self) -> Vec<Hold> {
        let mut until_tick: Option<u32> = None;
        let mut holds = Vec::new();
        // The newest assignment that has begun is in force: an assignment ends where any later one
        // begins, which need not be the next.
        for assignment in self.assignments.iter().rev() {
            let empty = until_tick.is_some_and(|until| until <= assignment.from_tick);
            if !empty && !assignment.mine.is_empty() {
                holds.push(Hold {
                    generation: assignment.generation,
                    from_tick: assignment.from_tick,
                    until_tick,
                    shards: assignment.mine.clone(),
                });
            }
            let begins = assignment.from_tick;
            until_tick = Some(until_tick.map_or(begins, |until| until.min(begins)));
        }
        holds.reverse();
        holds
    }

    /// Whether this process held shards and has none in the newest assignment, or was declared
    /// lost.
    #[must_use]
    pub fn superseded(&self) -> bool {
        let newest_is_others = self
            .assignments
            .last()
            .is_some_and(|last| last.mine.is_empty());
        let held_before = self
            .assignments
            .iter()
            .any(|assignment| !assignment.mine.is_empty());
        held_before && (newest_is_others || self.lost)
    }

    fn evolve(&mut self, decision: &Decision) {
        match decision {
            Decision::ShardsAssigned(assigned) => {
                self.assign(assigned.generation, 0, &assigned.holdings);
                self.stage = Stage::Assigned;
            }
            Decision::ShardsReassigned(next) => {
                self.assign(next.generation, next.takeover_tick, &next.holdings);
                self.lost |= next.losses.iter().any(|loss| loss.holder == self.me);
            }
            Decision::CapacityReduced(reduced) => {
                self.lost |= reduced.losses.iter().any(|loss| loss.holder == self.me);
            }
            Decision::RateChanged(changed) => {
                self.assign(changed.generation, changed.from_tick, &changed.holdings);
                self.rates.push(RateChange::of(changed));
            }
            Decision::Paused(_) => self.paused = true,
            Decision::Resumed(_) => self.paused = false,
            Decision::RunCreated(_) | Decision::SteeringRefused(_) | Decision::RunQueued(_) => {}
            Decision::StartScheduled(start) => {
                self.stage = Stage::Scheduled {
                    start_at: start.start_at,
                };
            }
            Decision::StopScheduled(_) if bug(Bug::StopNotHeard) => {}
            Decision::StopScheduled(stop) => {
                let start_at = match self.stage {
                    Stage::Scheduled { start_at } => Some(start_at),
                    _ => None,
                };
                self.stage = Stage::Stopping {
                    start_at,
                    stop_at: stop.stop_at,
                };
            }
            Decision::RunRefused(_) | Decision::StartCancelled(_) | Decision::RunSealed(_) => {
                self.stage = Stage::Over;
            }
        }
    }

    fn assign(&mut self, generation: Generation, from_tick: u32, holdings: &[Holding]) {
        let mine = holdings.iter().filter(|holding| holding.holder == self.me);
        let mine = mine
            .flat_map(|holding| holding.shards.iter().copied())
            .collect();
        self.assignments.push(Assignment {
            generation,
            from_tick,
            mine,
        });
    }
}
