//! What whoever performs arrivals keeps from one to the next, so that none of it is made per call.

use std::cell::{OnceCell, RefCell};

use super::time_out::TimeOut;
use super::tokens::Tokens;

/// The seat of those that have no place in the ring.
const ASIDE: u32 = u32::MAX;

/// What a task of the runtime keeps from one arrival to the next.
#[derive(Debug)]
pub(crate) struct Kit {
    pub(super) time_out: TimeOut,
    pub(super) id: String,
    /// Made for the first streamed answer.
    pub(super) tokens: OnceCell<RefCell<Tokens>>,
    /// Its place in the ring.
    pub(super) seat: u32,
    /// For whatever goes on beside it: the other requests of a batch.
    pub(super) others: Vec<Self>,
}

impl Kit {
    pub(super) fn new(seat: u32) -> Self {
        Self {
            time_out: TimeOut::new(),
            id: String::new(),
            tokens: OnceCell::new(),
            seat,
            others: Vec::new(),
        }
    }

    /// For requests that are not counted, and so have no place in the ring.
    pub(super) fn aside() -> Self {
        Self::new(ASIDE)
    }

    pub(super) fn is_aside(&self) -> bool {
        self.seat == ASIDE
    }
}
