//! A run as its log stood at an instant of the run.
//!
//! Records of the control side count up to the instant by their writers' times, deltas by the end
//! of their windows. Must never show what follows the seal before the seal.

use std::collections::BTreeMap;

use loadpilot_events::units::Timestamp;

use crate::control::{Control, ControlLog};
use crate::fold::delta_record::{DeltaRecord, ended_us};

/// The records that were there at the instant.
#[derive(Debug, Clone)]
pub struct AsOf {
    control: Control,
    us: u64,
    /// The last delta that the seal covers, while the seal is still to come.
    data_seq: u64,
    /// Whether the whole control side was there.
    is_whole: bool,
}

impl AsOf {
    /// The run `us` after its start; `None` when it never started.
    #[must_use]
    pub fn new(log: &ControlLog, us: u64) -> Option<Self> {
        let whole = log.close();
        let start = whole.state.start.as_ref()?;
        let instant = Timestamp(start.start_at.0.saturating_add(us));
        let then = log.as_of(instant);
        let mut control = then.close();
        control.as_of_us = Some(us);
        let is_whole = then.len() == log.len();
        let sealed = whole.sealed.as_ref().filter(|_| control.sealed.is_none());
        Some(Self {
            control,
            us,
            data_seq: sealed.map_or(u64::MAX, |sealed| sealed.data_seq),
            is_whole,
        })
    }

    /// The control side.
    #[must_use]
    pub fn control(&self) -> &Control {
        &self.control
    }

    /// The control side alone.
    #[must_use]
    pub fn into_control(self) -> Control {
        self.control
    }

    /// Whether a record of LP_DATA was stored at that instant. An unreadable record has no time: it
    /// counts once the control side is whole.
    #[must_use]
    pub fn holds(&self, record: &DeltaRecord) -> bool {
        let ended = record.ended_us;
        record.seq <= self.data_seq && ended.map_or(self.is_whole, |ended_us| ended_us <= self.us)
    }
}

/// How far LP_DATA has to be read for an instant: deltas are stored late, and not in the order of
/// their windows.
#[derive(Debug, Default)]
pub struct DeltaOrder {
    /// The last sequence by the end of the window.
    last_seqs: BTreeMap<u64, u64>,
}

impl DeltaOrder {
    /// Takes one record of LP_DATA.
    pub fn add(&mut self, seq: u64, payload: &[u8]) {
        let last = self.last_seqs.entry(Self::ended_us(payload)).or_default();
        *last = seq.max(*last);
    }

    /// End of the window of a delta, in µs after the start; an unreadable record comes last.
    #[must_use]
    pub fn ended_us(payload: &[u8]) -> u64 {
        ended_us(payload).unwrap_or(u64::MAX)
    }

    /// The last sequence of a delta whose window had ended `us` after the start; 0 without any.
    #[must_use]
    pub fn last_seq(&self, us: u64) -> u64 {
        let ended = self.last_seqs.range(..=us);
        ended.map(|(_, &seq)| seq).max().unwrap_or(0)
    }
}
