//! What whoever performs arrivals keeps from one to the next, so that none of it is made per call.

use std::cell::{OnceCell, RefCell};

use super::stream_tokens::Tokens;
use crate::fire::clock::call_timeout::TimeOut;

/// The seat of those that have no place in the ring.
const ASIDE: u32 = u32::MAX;

/// What a task of the runtime keeps from one arrival to the next.
#[derive(Debug)]
pub(crate) struct Kit {
    pub(crate) time_out: TimeOut,
    pub(crate) id: String,
    /// Made for the first streamed answer.
    pub(crate) tokens: OnceCell<RefCell<Tokens>>,
    /// Its place in the ring.
    pub(crate) seat: u32,
    /// For whatever goes on beside it: the other requests of a batch.
    pub(crate) others: Vec<Self>,
}

impl Kit {
    pub(crate) fn new(seat: u32) -> Self {
        Self {
            time_out: TimeOut::new(),
            id: String::new(),
            tokens: OnceCell::new(),
            seat,
            others: Vec::new(),
        }
    }

    /// For requests that are not counted, and so have no place in the ring.
    pub(crate) fn aside() -> Self {
        Self::new(ASIDE)
    }

    pub(crate) fn is_aside(&self) -> bool {
        self.seat == ASIDE
    }
}
