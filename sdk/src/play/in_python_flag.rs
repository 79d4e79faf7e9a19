//! Whether the firing thread is inside a user's code right now, for a watch that looks from another
//! thread (`loadpilot.play.watchdog`), and what that watch has to say.
//!
//! An agent plays one scenario at a time, on one thread. Must cost that thread next to nothing.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyType;

/// Odd while a user's code runs; each time another number.
static MOVES: AtomicU64 = AtomicU64::new(0);
static HAS_WORDS: AtomicBool = AtomicBool::new(false);
static WORDS: Mutex<Option<String>> = Mutex::new(None);

/// While it is there, a user's code runs.
pub(super) struct Moving;

impl Moving {
    pub(super) fn new() -> Self {
        MOVES.fetch_add(1, Ordering::Relaxed);
        Self
    }

    /// The user's code is left: what the watch has to say of it.
    pub(super) fn end(self) -> Option<String> {
        drop(self);
        if !HAS_WORDS.swap(false, Ordering::Acquire) {
            return None;
        }
        WORDS.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Drop for Moving {
    fn drop(&mut self) {
        MOVES.fetch_add(1, Ordering::Relaxed);
    }
}

/// A number that is odd while a user's code runs, and another one each time.
#[pyfunction]
pub(crate) fn moves() -> u64 {
    MOVES.load(Ordering::Relaxed)
}

/// Says of the code that runs right now that it keeps everybody waiting.
#[pyfunction]
pub(crate) fn note_blocking(words: String) {
    *WORDS.lock().unwrap_or_else(PoisonError::into_inner) = Some(words);
    HAS_WORDS.store(true, Ordering::Release);
}

/// Raises an error in the code that runs on a thread, as soon as that is Python's own.
#[pyfunction]
pub(crate) fn raise_in(thread: std::ffi::c_ulong, error: &Bound<'_, PyType>) {
    // SAFETY: the interpreter is held; an unknown thread is no error.
    unsafe { ffi::PyThreadState_SetAsyncExc(thread.cast_signed(), error.as_ptr()) };
}
