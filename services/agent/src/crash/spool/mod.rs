//! Deltas that are not acknowledged, and the books of their process, where a kill cannot reach
//! them: one mapped file for each run.
//!
//! A delta is put here before it is published and lies here until it is acknowledged; the books
//! say how far deltas were closed, and so where the rings go on. Books come last: a delta beyond
//! them was never published. Room is set aside before the start, so that a full disk is an error
//! then and none later. Must never keep a delta from being published: what finds no room is
//! counted, and lost only if the process is killed before it is acknowledged.

use std::path::{Path, PathBuf};

use loadpilot_engine::tally::crash_recovery::Checkpoint;
use loadpilot_events::RunId;
use loadpilot_events::id::Holder;

use crate::crash::mmap_file::{Map, check};

mod layout;
mod read;

use layout::{FRAME_HEAD_BYTES, Layout, frame_bytes};

pub use read::{SpoolContent, SpoolError, read};

/// Room for deltas of one run: what a minute without NATS leaves of a large plan.
pub const SPOOL_BYTES_DEFAULT: usize = 16 << 20;
/// What its file's name ends in.
pub const EXTENSION: &str = "spool";

/// The spool of one process in one run.
#[derive(Debug)]
pub struct Spool {
    map: Map,
    layout: Layout,
    path: PathBuf,
    /// The half that is being filled.
    half: usize,
    /// Of each half, the bytes used and the last delta in it.
    halves: [(usize, u64); 2],
    acked: u64,
    /// How often books were written.
    entries: u64,
    /// Deltas that found no room.
    unsaved: u64,
}

impl Spool {
    /// Makes the file for a process that counts on so many threads, with `bytes_max` for deltas,
    /// all of them set aside on the disk; as long as this lives, others know that its process does.
    ///
    /// # Errors
    /// What the file system says: no room, no right, no locks.
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
            entries: 0,
            unsaved: 0,
        })
    }

    /// Its file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Deltas that found no room, in all.
    #[must_use]
    pub fn unsaved(&self) -> u64 {
        self.unsaved
    }

    /// Puts a delta here that is not published yet; whether there was room.
    pub fn save(&mut self, seq: u64, payload: &[u8]) -> bool {
        let bytes = frame_bytes(payload.len());
        if self.halves[self.half].1 <= self.acked {
            // Nothing in it is wanted any more. Only what piles up takes further pages of memory.
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

    /// Deltas up to those of these books are closed. One of two places is written by turns, so that
    /// the one before stays whole.
    ///
    /// # Panics
    /// When the books are of more threads than were said.
    pub fn close(&mut self, books: &Checkpoint) {
        let text = serde_json::to_vec(books).expect("books have a JSON form");
        assert!(FRAME_HEAD_BYTES + text.len() <= self.layout.slot, "room");
        self.entries += 1;
        let place = usize::from(self.entries.is_multiple_of(2));
        self.write_frame(self.layout.slot_at(place), self.entries, &text);
    }

    /// Deltas up to this one are stored.
    pub fn acknowledge(&mut self, seq: u64) {
        self.acked = seq;
        self.map.store_u64(layout::ACKED_AT, seq);
    }

    /// The check value comes last: until then nothing is there.
    fn write_frame(&self, at: usize, number: u64, content: &[u8]) {
        let len = u32::try_from(content.len()).unwrap_or(u32::MAX);
        self.map.write(at + 4, &len.to_le_bytes());
        self.map.write(at + 8, &number.to_le_bytes());
        self.map.write(at + FRAME_HEAD_BYTES, content);
        self.map.store_u32(at, check(number, content));
    }
}

/// The name of a spool's file.
fn file_name(run: &RunId, holder: &Holder) -> String {
    let Holder { agent, boot_id } = holder;
    format!("{run}.{agent}.{boot_id}.{EXTENSION}")
}

#[cfg(all(test, unix))]
mod tests;
