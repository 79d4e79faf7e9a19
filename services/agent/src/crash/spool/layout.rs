//! Layout of a spool's file. Pure.
//!
//! One page of header, then two slots for checkpoints, then two halves for deltas:
//!
//! | bytes | field, little-endian |
//! |---|---|
//! | 0–7 | `lp-spool` |
//! | 8–11 | version |
//! | 12–15 | number of threads, each with a watermark in the checkpoint |
//! | 16–23 | bytes of each half |
//! | 32–39 | number of the last acknowledged delta |
//! | 64, 256, 448 | run, agent, boot: one byte for the length, then the text |
//!
//! Checkpoints and deltas are frames: a check value (4 bytes, written last), the length of the
//! content (4), a number (8), the content, and zeroes up to a multiple of 8. Checkpoints are
//! numbered from 1; a delta has its own number. The halves are used in turn: older frames may
//! follow the last current frame of a half.

use loadpilot_events::RunId;
use loadpilot_events::id::Holder;
use loadpilot_events::limits::NAME_BYTES_MAX;

pub(super) const HEADER_BYTES: usize = 4_096;
pub(super) const MAGIC: [u8; 8] = *b"lp-spool";
pub(super) const VERSION: u32 = 1;
pub(super) const THREADS_AT: usize = 12;
pub(super) const HALF_AT: usize = 16;
pub(super) const ACKED_AT: usize = 32;
/// Positions of run, agent and boot.
pub(super) const NAMES_AT: [usize; 3] = [64, 256, 448];
pub(super) const FRAME_HEAD_BYTES: usize = 16;
/// Maximum bytes of JSON of a checkpoint without watermarks.
const CHECKPOINT_BYTES: usize = 4_096;
/// Maximum bytes of JSON of a watermark.
const MARK_BYTES: usize = 128;

/// Sizes of the parts of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) threads: u32,
    /// Bytes of each slot for a checkpoint.
    pub(super) slot: usize,
    /// Bytes of each half.
    pub(super) half: usize,
}

impl Layout {
    pub(super) fn new(threads: u32, bytes_max: usize) -> Self {
        Self {
            threads,
            slot: CHECKPOINT_BYTES + MARK_BYTES * threads as usize,
            half: (bytes_max / 2).next_multiple_of(8),
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.half_at(2)
    }

    /// Position of a slot.
    pub(super) fn slot_at(&self, place: usize) -> usize {
        HEADER_BYTES + place * self.slot
    }

    /// Position of a half.
    pub(super) fn half_at(&self, half: usize) -> usize {
        self.slot_at(2) + half * self.half
    }

    /// Header of an empty spool.
    pub(super) fn header(&self, run: &RunId, holder: &Holder) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        bytes[THREADS_AT..THREADS_AT + 4].copy_from_slice(&self.threads.to_le_bytes());
        bytes[HALF_AT..HALF_AT + 8].copy_from_slice(&(self.half as u64).to_le_bytes());
        let names = [run.as_str(), holder.agent.as_str(), holder.boot_id.as_str()];
        for (name, at) in names.into_iter().zip(NAMES_AT) {
            let name = &name.as_bytes()[..name.len().min(NAME_BYTES_MAX)];
            bytes[at] = u8::try_from(name.len()).unwrap_or(0);
            bytes[at + 1..=at + name.len()].copy_from_slice(name);
        }
        bytes
    }
}

/// Bytes of a frame with `content` bytes of content.
pub(super) fn frame_bytes(content: usize) -> usize {
    (FRAME_HEAD_BYTES + content).next_multiple_of(8)
}
