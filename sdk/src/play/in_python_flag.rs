//! Flag: whether the firing thread executes a user's code right now. A watchdog on another thread
//! reads it (`loadpilot.play.watchdog`) and leaves a message about code that blocks.
//!
//! An agent plays one scenario at a time, on one thread, so there is one flag. Setting it is two
//! relaxed atomic additions per stretch of code.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyType;

/// Odd while a user's code runs; a new number for each stretch.
static STRETCHES: AtomicU64 = AtomicU64::new(0);
static HAS_MESSAGE: AtomicBool = AtomicBool::new(false);
static MESSAGE: Mutex<Option<String>> = Mutex::new(None);

/// Guard: a user's code runs while it exists.
pub(super) struct InPython;

impl InPython {
    pub(super) fn new() -> Self {
        STRETCHES.fetch_add(1, Ordering::Relaxed);
        Self
    }

    /// Leaves the user's code; returns the watchdog's message about it, if any.
    pub(super) fn end(self) -> Option<String> {
        drop(self);
        if !HAS_MESSAGE.swap(false, Ordering::Acquire) {
            return None;
        }
        MESSAGE
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }
}

impl Drop for InPython {
    fn drop(&mut self) {
        STRETCHES.fetch_add(1, Ordering::Relaxed);
    }
}

/// A number that is odd while a user's code runs, and differs for each stretch of it.
#[pyfunction]
pub(crate) fn moves() -> u64 {
    STRETCHES.load(Ordering::Relaxed)
}

/// Leaves a message about the code that runs right now: it blocks all users.
#[pyfunction]
pub(crate) fn note_blocking(message: String) {
    *MESSAGE.lock().unwrap_or_else(PoisonError::into_inner) = Some(message);
    HAS_MESSAGE.store(true, Ordering::Release);
}

/// Raises an error in the code that a thread runs, at its next Python instruction.
#[pyfunction]
pub(crate) fn raise_in(thread: std::ffi::c_ulong, error: &Bound<'_, PyType>) {
    // SAFETY: the interpreter is held; an unknown thread is no error.
    unsafe { ffi::PyThreadState_SetAsyncExc(thread.cast_signed(), error.as_ptr()) };
}
