//! Memory that was freed and that the allocator keeps.
//!
//! glibc returns by itself only what lies at the end of a heap, and some small thing always does:
//! after a burst of 6,000 calls 20 MiB stayed with the process although nobody held them.

/// Asks the allocator to return to the system what nobody holds, on a thread of the runtime's own:
/// it takes some ms, in which a thread that fires hardly ever allocates.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(super) fn trim() {
    tokio::task::spawn_blocking(|| {
        // SAFETY: it may be called at any time, and touches no memory that somebody holds.
        let returned = unsafe { libc::malloc_trim(0) };
        tracing::debug!(returned, "asked for unused memory");
    });
}

/// Other allocators do it by themselves.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(super) fn trim() {}
