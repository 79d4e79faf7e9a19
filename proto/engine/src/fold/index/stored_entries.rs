//! An index as a sequence of entries, which a cache writes and reads one by one: otherwise a whole
//! index would be in memory twice.

use loadpilot_events::id::AgentId;
use serde::{Deserialize, Serialize};

use super::{AgentGauges, Index};
use crate::tally::bytes_codec::Bytes;
use crate::tally::call_ids::CallId;
use crate::tally::metrics::MetricSums;

/// An entry of an index.
#[derive(Debug, Serialize, Deserialize)]
pub struct StoredEntry(Part);

#[derive(Debug, Serialize, Deserialize)]
enum Part {
    Call(CallId),
    Agent(AgentId),
    /// A part of a tick's rows.
    Tick {
        tick: u32,
        bytes: Bytes,
    },
    /// A block of a level above the ticks.
    Block {
        level: u8,
        number: u32,
        bytes: Bytes,
    },
    Metrics {
        tick: u32,
        task: u16,
        sums: MetricSums,
    },
    Gauges {
        agent: u16,
        tick: u32,
        gauges: AgentGauges,
    },
}

impl Index {
    /// All entries; together they are the index, after [`Index::compact`].
    pub fn stored_entries(&self) -> impl Iterator<Item = StoredEntry> {
        // A field that is added is stored, too, or the next read lacks it.
        let Self {
            calls,
            agents,
            ticks,
            levels,
            stale: _,
            metrics,
            gauges,
        } = self;
        let calls = calls.iter().cloned().map(Part::Call);
        let agents = agents.iter().cloned().map(Part::Agent);
        let ticks = ticks.all().map(|(tick, bytes)| Part::Tick {
            tick,
            bytes: Bytes(bytes.to_vec()),
        });
        let levels = (0_u8..).zip(levels);
        let blocks = levels.flat_map(|(level, blocks)| {
            blocks.iter().map(move |(&number, bytes)| Part::Block {
                level,
                number,
                bytes: bytes.clone(),
            })
        });
        let metrics = metrics.iter();
        let metrics = metrics.map(|(&(tick, task), sums)| Part::Metrics {
            tick,
            task,
            sums: sums.clone(),
        });
        let gauges = gauges.iter();
        let gauges = gauges.map(|(&(agent, tick), &gauges)| Part::Gauges {
            agent,
            tick,
            gauges,
        });
        let names = calls.chain(agents);
        names
            .chain(ticks)
            .chain(blocks)
            .chain(metrics)
            .chain(gauges)
            .map(StoredEntry)
    }

    /// Adds an entry; `None` when no index has it.
    #[must_use]
    pub fn add_stored(&mut self, entry: StoredEntry) -> Option<()> {
        match entry.0 {
            Part::Call(call) => self.calls.push(call),
            Part::Agent(agent) => self.agents.push(agent),
            Part::Tick { tick, bytes } => self.ticks.append(tick, &bytes.0),
            Part::Block {
                level,
                number,
                bytes,
            } => {
                let blocks = self.levels.get_mut(usize::from(level))?;
                blocks.insert(number, bytes);
            }
            Part::Metrics { tick, task, sums } => {
                self.metrics.insert((tick, task), sums);
            }
            Part::Gauges {
                agent,
                tick,
                gauges,
            } => {
                self.gauges.insert((agent, tick), gauges);
            }
        }
        Some(())
    }
}
