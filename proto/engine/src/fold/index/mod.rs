//! The rows of a run by due tick, for queries about any part of it.
//!
//! Rows that the fold counted are stored here too, packed by tick, task or call, agent and outcome.
//! Ticks are merged in levels, each sixteen times as long as the one below, so that a long range is
//! few blocks. Must never judge what counts: [`crate::fold::project`] does, and passes on the rows
//! that count.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use loadpilot_events::id::AgentId;
use loadpilot_events::log::delta::{DeltaReported, LastCall};
use serde::{Deserialize, Serialize};

use crate::control::Control;
use crate::fold::project::prepared::Prepared;
use crate::tally::aggregates::pack;
use crate::tally::bytes_codec::Bytes;
use crate::tally::call_ids::{CallId, CallNames};
use crate::tally::metrics::MetricSums;
use crate::tally::packed_histogram::{PackedHistogram, Precision};

mod block;
mod paged_blocks;
mod stored_entries;

pub use block::{Entries, Entry, Key};
pub use stored_entries::StoredEntry;

use block::{Merging, PHASES, Sums};
use paged_blocks::PagedBlocks;

/// Number of ticks in a block of each level above the ticks.
const SPANS: [u32; 3] = [16, 256, 4_096];

/// The gauges of an agent in the deltas of one tick: the maximum of each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentGauges {
    /// CPU time of a process in a window, in thousandths of one core.
    pub cpu_millicores: u64,
    /// CPU use of a firing thread, in thousandths of its core.
    pub busiest_core_permille: u64,
    /// How late a firing thread was for its own timer, in µs.
    pub stall_us: u64,
    /// Arrivals in flight.
    pub in_flight: u64,
}

impl AgentGauges {
    /// The maximum of both.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Self {
            cpu_millicores: self.cpu_millicores.max(other.cpu_millicores),
            busiest_core_permille: self.busiest_core_permille.max(other.busiest_core_permille),
            stall_us: self.stall_us.max(other.stall_us),
            in_flight: self.in_flight.max(other.in_flight),
        }
    }
}

/// The rows that count, by due tick.
#[derive(Debug, Clone, Default)]
pub struct Index {
    calls: Vec<CallId>,
    agents: Vec<AgentId>,
    /// By tick. They are only appended to, so that an entry may be in several parts.
    ticks: PagedBlocks,
    /// By level, then by block: whole blocks only, each rebuilt from below when its content has
    /// changed.
    levels: [BTreeMap<u32, Bytes>; SPANS.len()],
    /// Blocks to be rebuilt, by level.
    stale: [BTreeSet<u32>; SPANS.len()],
    /// The scenario's own metrics, by due tick and task.
    metrics: BTreeMap<(u32, u16), MetricSums>,
    /// Gauges by agent and the tick in the middle of the delta's window.
    gauges: BTreeMap<(u16, u32), AgentGauges>,
}

impl Index {
    /// Adds the rows of a delta that count.
    pub(crate) fn add(
        &mut self,
        control: &Control,
        agent: &AgentId,
        delta: &DeltaReported,
        counted: &Prepared<'_>,
    ) {
        let agent = number(&mut self.agents, agent);
        let agent = u16::try_from(agent).unwrap_or(u16::MAX);
        for (row, sums, excess) in &counted.arrivals {
            let sums = Sums {
                count: sums.started,
                dropped: sums.dropped.values().sum(),
                ..Sums::default()
            };
            let task = row.task;
            if *excess {
                continue;
            }
            self.push(row.tick, Key::Arrivals { task, agent }, &sums);
            for last in LastCall::ALL {
                let count = row.raises.of(last);
                let sums = Sums {
                    count,
                    ..Sums::default()
                };
                if count > 0 {
                    self.push(row.tick, Key::Raises { task, agent, last }, &sums);
                }
            }
        }
        let names = CallNames::of(delta);
        for (row, latencies, _) in counted.calls.iter().filter(|(.., excess)| !excess) {
            let call = number(&mut self.calls, &names.call_id(row.call));
            let outcome = row.outcome;
            let sums = Sums {
                count: row.count,
                dropped: 0,
                status: row.status.clone(),
                causes: row.causes.clone(),
                response: PackedHistogram::of_filled(&latencies.response, Precision::Latency),
                service: PackedHistogram::of_filled(&latencies.service, Precision::Latency),
            };
            let key = Key::Calls {
                call,
                agent,
                outcome,
            };
            self.push(row.tick, key, &sums);
        }
        for (row, phases) in &counted.anatomy {
            let call = number(&mut self.calls, &names.call_id(row.call));
            let indexed = phases.iter().filter(|(phase, _)| PHASES.contains(phase));
            for &(phase, ref filled) in indexed {
                let sums = Sums {
                    response: PackedHistogram::of_filled(filled, Precision::Phase),
                    ..Sums::default()
                };
                self.push(row.tick, Key::Phase { call, agent, phase }, &sums);
            }
        }
        for (row, sums) in &counted.metrics {
            let key = (row.tick, row.task);
            self.metrics.entry(key).or_default().add(sums);
        }
        self.add_gauges(control, agent, delta);
    }

    fn add_gauges(&mut self, control: &Control, agent: u16, delta: &DeltaReported) {
        let plan = control.state.created.as_ref().map(|created| &created.plan);
        let tick_us = plan.map_or(1, |plan| plan.tick_us.max(1));
        // A window ends some time after its tick.
        let middle_us = delta.from_us + delta.to_us.saturating_sub(delta.from_us) / 2;
        let gauges = AgentGauges {
            cpu_millicores: delta.gauges.cpu_millicores,
            busiest_core_permille: delta.gauges.busiest_core_permille,
            stall_us: delta.gauges.stall_us,
            in_flight: delta.gauges.in_flight,
        };
        let known = self
            .gauges
            .entry((
                agent,
                u32::try_from(middle_us / tick_us).unwrap_or(u32::MAX),
            ))
            .or_default();
        *known = known.max(gauges);
    }

    fn push(&mut self, tick: u32, key: Key, sums: &Sums) {
        let mut entry = Vec::new();
        sums.write(key, &mut entry);
        self.ticks.append(tick, &entry);
        for (level, span) in SPANS.iter().enumerate() {
            let block = tick / span;
            if self.stale[level].insert(block) {
                self.levels[level].remove(&block);
            }
        }
    }

    /// Merges what was added since the last time into the higher levels, for faster queries with
    /// the same answers.
    pub fn compact(&mut self) {
        for level in 0..SPANS.len() {
            for block in std::mem::take(&mut self.stale[level]) {
                let merged = Bytes(self.merged(level, block));
                self.levels[level].insert(block, merged);
            }
        }
    }

    /// Takes less memory with the same answers, once a run is over.
    pub fn pack(&mut self) {
        pack(&mut self.gauges);
    }

    /// A block, from those of the level below.
    fn merged(&self, level: usize, block: u32) -> Vec<u8> {
        let mut merging = Merging::default();
        let mut add = |bytes| Entries::new(bytes).for_each(|entry| merging.add(entry));
        let below = level.checked_sub(1);
        let children = SPANS[level] / below.map_or(1, |below| SPANS[below]);
        let first = block * children;
        let range = first..first.saturating_add(children);
        match below {
            Some(below) => {
                let blocks = self.levels[below].range(range);
                blocks.for_each(|(_, bytes)| add(&bytes.0));
            }
            None => self.ticks.pieces(range).for_each(|(_, bytes)| add(bytes)),
        }
        merging.close()
    }

    /// Calls `each` with every entry of the ticks in `range`; one key may come in parts, which add
    /// up.
    pub fn walk<'a>(&'a self, range: Range<u32>, mut each: impl FnMut(Entry<'a>)) {
        let mut at = range.start;
        while at < range.end {
            let fits = |level: &usize| {
                let span = SPANS[*level];
                at.is_multiple_of(span)
                    && at.checked_add(span).is_some_and(|end| end <= range.end)
                    && self.levels[*level].contains_key(&(at / span))
            };
            if let Some(level) = (0..SPANS.len()).rev().find(fits) {
                if let Some(bytes) = self.levels[level].get(&(at / SPANS[level])) {
                    Entries::new(&bytes.0).for_each(&mut each);
                }
                at += SPANS[level];
            } else {
                let pieces = self.ticks.pieces(at..at.saturating_add(1));
                pieces.for_each(|(_, bytes)| Entries::new(bytes).for_each(&mut each));
                at += 1;
            }
        }
    }

    /// The calls by their numbers in keys.
    #[must_use]
    pub fn calls(&self) -> &[CallId] {
        &self.calls
    }

    /// The agents by their numbers in keys.
    #[must_use]
    pub fn agents(&self) -> &[AgentId] {
        &self.agents
    }

    /// The scenario's own metrics in the ticks of `range`, by task.
    pub fn metrics(&self, range: Range<u32>) -> impl Iterator<Item = (u16, &MetricSums)> {
        let rows = match range.is_empty() {
            true => self.metrics.range((0, 0)..(0, 0)),
            false => self.metrics.range((range.start, 0)..(range.end, 0)),
        };
        rows.map(|(&(_, task), sums)| (task, sums))
    }

    /// The gauges of an agent, by its number, in deltas about the ticks of `range`.
    #[must_use]
    pub fn gauges(&self, agent: u16, range: Range<u32>) -> Option<AgentGauges> {
        if range.is_empty() {
            return None;
        }
        let rows = self.gauges.range((agent, range.start)..(agent, range.end));
        rows.map(|(_, gauges)| *gauges).reduce(AgentGauges::max)
    }

    /// The first tick after all entries.
    #[must_use]
    pub fn end(&self) -> u32 {
        let rows = self.ticks.last();
        let metrics = self.metrics.last_key_value().map(|(&(tick, _), _)| tick);
        rows.max(metrics).map_or(0, |tick| tick.saturating_add(1))
    }

    /// Size of the rows in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let levels = self.levels.iter().flat_map(BTreeMap::values);
        self.ticks.len() + levels.map(|block| block.0.len()).sum::<usize>()
    }
}

/// The number of `one` in `known`; a new one is added.
fn number<T: PartialEq + Clone>(known: &mut Vec<T>, one: &T) -> u32 {
    let index = known.iter().position(|other| other == one);
    let index = index.unwrap_or_else(|| {
        known.push(one.clone());
        known.len() - 1
    });
    u32::try_from(index).unwrap_or(u32::MAX)
}
