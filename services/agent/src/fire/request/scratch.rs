//! Per-seat scratch buffers, reused so that a call allocates nothing.

use std::cell::{OnceCell, RefCell};

use super::stream_tokens::Tokens;
use crate::fire::clock::call_timeout::CallTimer;

/// Seat number of requests that have no record in the ring.
const UNCOUNTED: u32 = u32::MAX;

/// Buffers that a task of the runtime reuses from one arrival to the next.
#[derive(Debug)]
pub(crate) struct Scratch {
    pub(crate) call_timer: CallTimer,
    pub(crate) id: String,
    /// Created for the first streamed answer.
    pub(crate) tokens: OnceCell<RefCell<Tokens>>,
    /// Its seat in the ring.
    pub(crate) seat: u32,
    /// Buffers for the other requests of a batch.
    pub(crate) others: Vec<Self>,
}

impl Scratch {
    pub(crate) fn new(seat: u32) -> Self {
        Self {
            call_timer: CallTimer::new(),
            id: String::new(),
            tokens: OnceCell::new(),
            seat,
            others: Vec::new(),
        }
    }

    /// For requests that are not counted and therefore have no record in the ring.
    pub(crate) fn uncounted() -> Self {
        Self::new(UNCOUNTED)
    }

    pub(crate) fn is_uncounted(&self) -> bool {
        self.seat == UNCOUNTED
    }
}
