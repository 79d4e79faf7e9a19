//! The entries of some ticks, packed: counts by task or call, agent and outcome.
//!
//! A block is a sequence of entries whose numbers are varints. Must never decide what counts: the
//! fold did.

use std::collections::BTreeMap;

use loadpilot_events::log::cause::Cause;
use loadpilot_events::log::delta::{LastCall, Phase};
use loadpilot_events::log::outcome::Outcome;

use crate::tally::packed_histogram::{
    Counts, HistogramSum, PackedHistogram, Precision, push_number, take_number,
};

/// Phases that are indexed by tick: those that the verdict and the certificate read.
pub(super) const PHASES: [Phase; 4] = [
    Phase::ScheduleLag,
    Phase::FirstToken,
    Phase::FirstTokenService,
    Phase::TokenGap,
];

/// The key of an entry; calls and agents by their numbers in the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    /// Arrivals.
    Arrivals {
        /// The task, by its position in the plan.
        task: u16,
        /// The agent.
        agent: u16,
    },
    /// Calls with the same outcome.
    Calls {
        /// The call.
        call: u32,
        /// The agent.
        agent: u16,
        /// Their outcome.
        outcome: Outcome,
    },
    /// Durations of a phase of calls.
    Phase {
        /// The call.
        call: u32,
        /// The agent.
        agent: u16,
        /// The phase.
        phase: Phase,
    },
    /// Arrivals whose task raised an error.
    Raises {
        /// The task, by its position in the plan.
        task: u16,
        /// The agent.
        agent: u16,
        /// The end of the last call of each.
        last: LastCall,
    },
}

/// One entry, read in place.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    /// Its key.
    pub key: Key,
    /// Number of arrivals started or raised, or of calls.
    pub count: u64,
    /// Arrivals dropped.
    pub dropped: u64,
    status: &'a [u8],
    causes: &'a [u8],
    response: &'a [u8],
    service: &'a [u8],
}

impl<'a> Entry<'a> {
    /// Response times, or durations of the phase.
    #[must_use]
    pub fn response(&self) -> Counts<'a> {
        Counts::new(self.response)
    }

    /// Service times.
    #[must_use]
    pub fn service(&self) -> Counts<'a> {
        Counts::new(self.service)
    }

    /// Answers by status code.
    pub fn status(&self) -> impl Iterator<Item = (u16, u64)> + use<'a> {
        let pairs = Pairs(self.status);
        pairs.filter_map(|(code, count)| Some((u16::try_from(code).ok()?, count)))
    }

    /// Calls without a complete answer by cause.
    pub fn causes(&self) -> impl Iterator<Item = (Cause, u64)> + use<'a> {
        let cause = |place| Cause::ALL.get(usize::try_from(place).ok()?).copied();
        Pairs(self.causes).filter_map(move |(place, count)| Some((cause(place)?, count)))
    }
}

struct Pairs<'a>(&'a [u8]);

impl Iterator for Pairs<'_> {
    type Item = (u64, u64);

    fn next(&mut self) -> Option<(u64, u64)> {
        Some((take_number(&mut self.0)?, take_number(&mut self.0)?))
    }
}

/// The sums of one key.
#[derive(Debug, Clone, Default)]
pub(super) struct Sums {
    pub(super) count: u64,
    pub(super) dropped: u64,
    pub(super) status: BTreeMap<u16, u64>,
    pub(super) causes: BTreeMap<Cause, u64>,
    pub(super) response: PackedHistogram,
    pub(super) service: PackedHistogram,
}

impl Sums {
    /// Appends an entry.
    pub(super) fn write(&self, key: Key, bytes: &mut Vec<u8>) {
        let place = |of: Option<usize>| of.unwrap_or(usize::MAX) as u64;
        let (kind, first, agent, last) = match key {
            Key::Arrivals { task, agent } => (0, task.into(), agent, 0),
            Key::Calls {
                call,
                agent,
                outcome,
            } => {
                let at = Outcome::ALL.iter().position(|one| *one == outcome);
                (1, call, agent, place(at))
            }
            Key::Phase { call, agent, phase } => {
                let at = PHASES.iter().position(|one| *one == phase);
                (2, call, agent, place(at))
            }
            Key::Raises { task, agent, last } => {
                let at = LastCall::ALL.iter().position(|one| *one == last);
                (3, task.into(), agent, place(at))
            }
        };
        for number in [kind, u64::from(first), agent.into(), last] {
            push_number(bytes, number);
        }
        push_number(bytes, self.count);
        push_number(bytes, self.dropped);
        let status = self.status.iter().map(|(&code, &n)| (u64::from(code), n));
        push_bytes(bytes, &pairs(status));
        let cause = |cause: &Cause| Cause::ALL.iter().position(|one| one == cause);
        let causes = self.causes.iter().map(|(one, &n)| (place(cause(one)), n));
        push_bytes(bytes, &pairs(causes));
        push_bytes(bytes, &self.response.0);
        push_bytes(bytes, &self.service.0);
    }
}

fn pairs(of: impl Iterator<Item = (u64, u64)>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (one, other) in of {
        push_number(&mut bytes, one);
        push_number(&mut bytes, other);
    }
    bytes
}

fn push_bytes(bytes: &mut Vec<u8>, more: &[u8]) {
    push_number(bytes, more.len() as u64);
    bytes.extend_from_slice(more);
}

/// The entries of a block.
#[derive(Debug, Clone)]
pub struct Entries<'a>(&'a [u8]);

impl<'a> Entries<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    fn part(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(take_number(&mut self.0)?).ok()?;
        let (part, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(part)
    }
}

impl<'a> Iterator for Entries<'a> {
    type Item = Entry<'a>;

    fn next(&mut self) -> Option<Entry<'a>> {
        let kind = take_number(&mut self.0)?;
        let first = u32::try_from(take_number(&mut self.0)?).ok()?;
        let agent = u16::try_from(take_number(&mut self.0)?).ok()?;
        let last = usize::try_from(take_number(&mut self.0)?).ok()?;
        let key = match kind {
            0 => Key::Arrivals {
                task: u16::try_from(first).ok()?,
                agent,
            },
            1 => Key::Calls {
                call: first,
                agent,
                outcome: *Outcome::ALL.get(last)?,
            },
            2 => Key::Phase {
                call: first,
                agent,
                phase: *PHASES.get(last)?,
            },
            3 => Key::Raises {
                task: u16::try_from(first).ok()?,
                agent,
                last: *LastCall::ALL.get(last)?,
            },
            _ => return None,
        };
        Some(Entry {
            key,
            count: take_number(&mut self.0)?,
            dropped: take_number(&mut self.0)?,
            status: self.part()?,
            causes: self.part()?,
            response: self.part()?,
            service: self.part()?,
        })
    }
}

/// Merges entries into one block.
#[derive(Debug, Default)]
pub(super) struct Merging<'a>(BTreeMap<Key, Vec<Entry<'a>>>);

impl<'a> Merging<'a> {
    pub(super) fn add(&mut self, entry: Entry<'a>) {
        self.0.entry(entry.key).or_default().push(entry);
    }

    /// Closes the block.
    pub(super) fn close(self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (key, entries) in self.0 {
            let mut sums = Sums::default();
            for entry in &entries {
                sums.count += entry.count;
                sums.dropped += entry.dropped;
                for (code, count) in entry.status() {
                    *sums.status.entry(code).or_default() += count;
                }
                for (cause, count) in entry.causes() {
                    *sums.causes.entry(cause).or_default() += count;
                }
            }
            sums.response = packed(entries.iter().map(Entry::response));
            sums.service = packed(entries.iter().map(Entry::service));
            sums.write(key, &mut bytes);
        }
        bytes
    }
}

/// The sum of packed counts. Their precision does not matter: buckets are added.
fn packed<'a>(all: impl Iterator<Item = Counts<'a>>) -> PackedHistogram {
    let mut sum = HistogramSum::new(Precision::Latency);
    all.for_each(|counts| sum.add(counts));
    sum.pack()
}
