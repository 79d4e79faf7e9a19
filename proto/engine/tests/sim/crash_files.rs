//! The files that survive the kill of a process, and how the agent's next process publishes them.
//! The laws are those of the product; files and rings are simulated.

use std::collections::VecDeque;

use loadpilot_engine::tally::crash_recovery::{self, Checkpoint, Thread};
use loadpilot_events::id::BootId;
use loadpilot_events::log::evt::{Fact, What};
use loadpilot_events::units::Timestamp;

use crate::log::encode;

/// The files of a killed process: its spool and its ring.
#[derive(Debug, Clone)]
pub(crate) struct Remains {
    pub(crate) boot_id: BootId,
    /// Deltas that were not acknowledged, as encoded.
    pub(crate) spool: VecDeque<Vec<u8>>,
    pub(crate) books: Checkpoint,
    pub(crate) ring: Thread,
}

/// Its tail, which is being published.
#[derive(Debug)]
pub(crate) struct Recovery {
    pub(crate) boot_id: BootId,
    pub(crate) outbox: VecDeque<Vec<u8>>,
    pub(crate) last_words: Fact,
}

impl Remains {
    /// The events that crash recovery publishes for it: the same each time.
    pub(crate) fn recovery(&self) -> Recovery {
        let threads = [Ok(self.ring.clone())];
        let tail = crash_recovery::close(self.boot_id.clone(), &self.books, &threads);
        let mut outbox = self.spool.clone();
        let encoded = tail.deltas.iter().map(|delta| encode(Timestamp(0), delta));
        outbox.extend(encoded);
        Recovery {
            boot_id: self.boot_id.clone(),
            outbox,
            last_words: Fact {
                boot_id: self.boot_id.clone(),
                what: What::TailReported(tail.reported),
            },
        }
    }
}
