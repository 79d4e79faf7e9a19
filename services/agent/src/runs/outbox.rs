//! Deltas that wait for their acknowledgement, in order, bounded. Pure.
//!
//! When it is full nothing is thrown away: the caller keeps merging rows and closes them later.
//! It must never give up a parcel that was not acknowledged.

use std::collections::VecDeque;

use bytes::Bytes;
use loadpilot_events::{BootId, RunId};

/// One encoded delta.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingDelta {
    /// Its number.
    pub seq: u64,
    /// The same at every try, so that a repeat is recognised.
    pub msg_id: String,
    /// The event.
    pub payload: Bytes,
    /// Whether it is the last delta of its tick.
    pub ends_tick: bool,
}

/// The id of a delta in the log, whichever process publishes it.
#[must_use]
pub fn msg_id(run: &RunId, boot_id: &BootId, seq: u64) -> String {
    format!("{run}.{boot_id}.{seq}")
}

/// Parcels, the oldest first.
#[derive(Debug)]
pub struct Outbox {
    deltas: VecDeque<PendingDelta>,
    bytes: usize,
    ticks: usize,
    ticks_max: usize,
    bytes_max: usize,
}

impl Outbox {
    /// An empty one that is full at `ticks_max` ticks or `bytes_max` bytes.
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

    /// Whether everything was acknowledged.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.deltas.is_empty()
    }

    /// Adds the newest parcel.
    pub fn push(&mut self, delta: PendingDelta) {
        self.bytes += delta.payload.len();
        self.ticks += usize::from(delta.ends_tick);
        self.deltas.push_back(delta);
    }

    /// The oldest parcel: the only one that may be sent.
    #[must_use]
    pub fn front(&self) -> Option<&PendingDelta> {
        self.deltas.front()
    }

    /// The oldest parcel is stored; gives its number.
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

    /// A delta that overtook another, or left before its acknowledgement, would be lost.
    #[test]
    fn parcels_leave_in_order_and_only_when_acknowledged() {
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

    /// An outbox without a bound eats the machine while NATS is away.
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
