//! Spool of one run: a mapped file that preserves unacknowledged deltas and the checkpoint of their
//! process across a kill.
//!
//! A delta is saved before it is published, and stays until it is acknowledged. The checkpoint says
//! up to which point deltas are closed; the rings contain the rest. It is written after the deltas:
//! a delta beyond it was never published. The space is allocated before the start, so that a full
//! disk is an error then and never later. Must never prevent the publication of a delta. A delta
//! that finds no room is counted, and lost only if the process is killed before its
//! acknowledgement.

use std::path::{Path, PathBuf};

use loadpilot_engine::tally::crash_recovery::Checkpoint;
use loadpilot_events::RunId;
use loadpilot_events::id::Holder;

use crate::crash::mmap_file::{Map, check};

mod layout;
mod read;

use layout::{FRAME_HEAD_BYTES, Layout, frame_bytes};

pub use read::{SpoolContent, SpoolError, read};

/// Default bytes for deltas of one run: room for the deltas of a large plan in a minute without
/// NATS.
pub const SPOOL_BYTES_DEFAULT: usize = 16 << 20;
/// Extension of the file's name.
pub const EXTENSION: &str = "spool";

/// The spool of one process in one run.
#[derive(Debug)]
pub struct Spool {
    map: Map,
    layout: Layout,
    path: PathBuf,
    /// Index of the half that is being filled.
    half: usize,
    /// Bytes used and number of the last delta, for each half.
    halves: [(usize, u64); 2],
    acked: u64,
    /// Number of checkpoints written.
    checkpoints: u64,
    /// Number of deltas that found no room.
    unsaved: u64,
}

impl Spool {
    /// Creates and locks the file of a process with `threads` threads, with `bytes_max` bytes for
    /// deltas allocated on the disk. The lock shows other processes that this one lives.
    ///
    /// # Errors
    /// An error of the file system: no space, no permission, no locks.
    pub fn create(
        folder: &Path,
        (run, holder): (&RunId, &Holder),
        threads: u32,
        bytes_max: usize,
    ) -> std::io::Result<Self> {
        let layout = Layout::new(threads, bytes_max);
        let path = folder.join(file_name(run, holder));
        let map = Map::create(&path, layout.bytes())?;
        map.lock()?;
        map.write(0, &layout.header(run, holder));
        Ok(Self {
            map,
            layout,
            path,
            half: 0,
            halves: [(0, 0); 2],
            acked: 0,
            checkpoints: 0,
            unsaved: 0,
        })
    }

    /// Path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Number of deltas that found no room.
    #[must_use]
    pub fn unsaved(&self) -> u64 {
        self.unsaved
    }

    /// Saves a delta before it is published; returns whether there was room.
    pub fn save(&mut self, seq: u64, payload: &[u8]) -> bool {
        let bytes = frame_bytes(payload.len());
        if self.halves[self.half].1 <= self.acked {
            // All of its deltas are stored: the same half is used again, which saves memory.
            self.halves[self.half] = (0, 0);
        }
        if bytes > self.layout.half - self.halves[self.half].0 {
            let other = 1 - self.half;
            let is_free = self.halves[other].1 <= self.acked;
            if !is_free || bytes > self.layout.half {
                self.unsaved += 1;
                return false;
            }
            self.half = other;
            self.halves[other] = (0, 0);
        }
        let (used, _) = self.halves[self.half];
        self.write_frame(self.layout.half_at(self.half) + used, seq, payload);
        self.halves[self.half] = (used + bytes, seq);
        true
    }

    /// Writes a checkpoint: deltas up to it are closed. The two slots are used in turn, so that the
    /// previous checkpoint stays complete.
    ///
    /// # Panics
    /// The checkpoint has more threads than the spool.
    pub fn close(&mut self, checkpoint: &Checkpoint) {
        let text = serde_json::to_vec(checkpoint).expect("a checkpoint has a JSON form");
        assert!(FRAME_HEAD_BYTES + text.len() <= self.layout.slot, "room");
        self.checkpoints += 1;
        let slot = usize::from(self.checkpoints.is_multiple_of(2));
        self.write_frame(self.layout.slot_at(slot), self.checkpoints, &text);
    }

    /// Deltas up to this one are acknowledged.
    pub fn acknowledge(&mut self, seq: u64) {
        self.acked = seq;
        self.map.store_u64(layout::ACKED_AT, seq);
    }

    /// Writes a frame. The check value comes last: without it the frame is absent.
    fn write_frame(&self, at: usize, number: u64, content: &[u8]) {
        let len = u32::try_from(content.len()).unwrap_or(u32::MAX);
        self.map.write(at + 4, &len.to_le_bytes());
        self.map.write(at + 8, &number.to_le_bytes());
        self.map.write(at + FRAME_HEAD_BYTES, content);
        self.map.store_u32(at, check(number, content));
    }
}

/// File name of a spool.
fn file_name(run: &RunId, holder: &Holder) -> String {
    let Holder { agent, boot_id } = holder;
    format!("{run}.{agent}.{boot_id}.{EXTENSION}")
}

#[cfg(all(test, unix))]
mod tests;
