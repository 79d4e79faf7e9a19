//! The memory allocator of a command that reads runs.

use pyo3::prelude::*;

/// Keeps all threads to one arena of glibc's malloc. Each thread has one of its own else, and an
/// arena keeps what its thread has freed: of a day's run, folded by two threads, a fifth of the
/// command's memory. Must never be called by an agent, whose threads would wait for each other.
#[pyfunction]
pub(super) fn use_one_malloc_arena() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: sets a parameter of the allocator, and takes no pointer.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
    }
}
