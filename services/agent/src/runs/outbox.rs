//! Bounded queue of deltas that wait for their acknowledgement. Pure.
//!
//! While it is full, the caller merges rows and closes them later. Must never drop a delta that is
//! not acknowledged.

use std::collections::VecDeque;

use bytes::Bytes;
use loadpilot_events::{BootId, RunId};

/// One encoded delta.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingDelta {
    /// Number of the delta.
    pub seq: u64,
    /// Message id, the same at every try: the log ignores a repeat.
    pub msg_id: String,
    /// Encoded event.
    pub payload: Bytes,
    /// Whether the delta is the last one of its tick.
    pub ends_tick: bool,
}

/// Message id of a delta, the same for all processes that publish it.
#[must_use]
pub fn msg_id(run: &RunId, boot_id: &BootId, seq: u64) -> String {
    format!("{run}.{boot_id}.{seq}")
}

/// Deltas, the oldest first.
#[derive(Debug)]
pub struct Outbox {
    deltas: VecDeque<PendingDelta>,
    bytes: usize,
    ticks: usize,
    ticks_max: usize,
    bytes_max: usize,
}

impl Outbox {
    /// An empty outbox that is full at `ticks_max` ticks or `bytes_max` bytes.
    #[must_use]
    pub fn new(ticks_max: usize, bytes_max: usize) -> Self {
        Self {
            deltas: VecDeque::new(),
            bytes: 0,
            ticks: 0,
            ticks_max,
            bytes_max,
        }
    }

    /// Whether another tick may be closed.
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.ticks < self.ticks_max && self.bytes < self.bytes_max
    }

    /// Whether all deltas are acknowledged.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.deltas.is_empty()
    }

    /// Adds the newest delta.
    pub fn push(&mut self, delta: PendingDelta) {
        self.bytes += delta.payload.len();
        self.ticks += usize::from(delta.ends_tick);
        self.deltas.push_back(delta);
    }

    /// The oldest delta: the only one that may be sent.
    #[must_use]
    pub fn front(&self) -> Option<&PendingDelta> {
        self.deltas.front()
    }

    /// Removes the oldest delta, which is stored; returns its number.
    pub fn acknowledge(&mut self) -> Option<u64> {
        let delta = self.deltas.pop_front()?;
        self.bytes -= delta.payload.len();
        self.ticks -= usize::from(delta.ends_tick);
        Some(delta.seq)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delta(seq: u64, size: usize, ends_tick: bool) -> PendingDelta {
        PendingDelta {
            seq,
            msg_id: seq.to_string(),
            payload: Bytes::from(vec![0; size]),
            ends_tick,
        }
    }

    /// Broken if a delta overtakes another, or leaves before its acknowledgement.
    #[test]
    fn deltas_leave_in_order_and_only_when_acknowledged() {
        let mut outbox = Outbox::new(10, 1_000);
        outbox.push(delta(1, 1, true));
        outbox.push(delta(2, 1, true));
        let first = |outbox: &Outbox| outbox.front().map(|delta| delta.msg_id.clone());
        assert_eq!(first(&outbox).as_deref(), Some("1"));
        assert_eq!(
            first(&outbox).as_deref(),
            Some("1"),
            "looking takes nothing away"
        );
        outbox.acknowledge();
        assert_eq!(first(&outbox).as_deref(), Some("2"));
    }

    /// Broken if the outbox fills the memory while NATS is unavailable.
    #[test]
    fn it_is_full_by_ticks_or_by_bytes_and_empties_again() {
        let mut outbox = Outbox::new(2, 1_000);
        outbox.push(delta(1, 10, false));
        outbox.push(delta(2, 10, true));
        assert!(outbox.has_room(), "two parts of one tick are one tick");
        outbox.push(delta(3, 10, true));
        assert!(!outbox.has_room(), "two ticks");
        outbox.acknowledge();
        outbox.acknowledge();
        assert!(outbox.has_room());
        outbox.push(delta(4, 1_000, false));
        assert!(!outbox.has_room(), "too many bytes");
        outbox.acknowledge();
        outbox.acknowledge();
        assert!(outbox.is_empty() && outbox.bytes == 0 && outbox.ticks == 0);
        outbox.acknowledge();
        assert!(outbox.is_empty());
    }
}
