//! The state that the threads of a server share.

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::sync::atomic::AtomicU64;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::behaviour::Behaviour;
use crate::freeze::Freezer;
use crate::ledger::Ledger;

/// Whether the counted listener exists.
#[derive(Debug)]
pub(crate) struct Door {
    pub(crate) wanted: bool,
    pub(crate) open: bool,
    pub(crate) error: Option<String>,
}

/// State shared by the threads.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) ledger: Ledger,
    pub(crate) freezer: Freezer,
    pub(crate) id_header: String,
    pub(crate) log_headers: bool,
    pub(crate) kernel_times: bool,
    pub(crate) accepted: AtomicU64,
    pub(crate) connected: AtomicU64,
    pub(crate) accept_delay_us: AtomicU64,
    pub(crate) behaviour: Mutex<Behaviour>,
    pub(crate) door: Mutex<Door>,
    pub(crate) door_moved: Condvar,
    pub(crate) wake: UnixStream,
}

impl Shared {
    pub(crate) fn behaviour(&self) -> MutexGuard<'_, Behaviour> {
        self.behaviour
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn door(&self) -> MutexGuard<'_, Door> {
        self.door.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens or closes the counted listener; returns when that is done. Connections that are
    /// accepted already stay.
    pub(crate) fn set_door(&self, open: bool) -> Result<(), String> {
        let mut door = self.door();
        door.wanted = open;
        door.error = None;
        (&self.wake)
            .write_all(&[0])
            .map_err(|e| format!("acceptor: {e}"))?;
        while door.open != open && door.error.is_none() {
            door = self
                .door_moved
                .wait(door)
                .unwrap_or_else(PoisonError::into_inner);
        }
        door.error.clone().map_or(Ok(()), Err)
    }
}
