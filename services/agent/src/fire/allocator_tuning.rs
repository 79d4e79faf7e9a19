//! Freed memory: some MiB stay with the process, the rest goes back to the system.
//!
//! By default, glibc returns only memory at the end of a heap, where some small allocation always
//! remains: after a burst of 6,000 calls 20 MiB stayed unused with the process. The memory that a
//! delta needs for a moment, in contrast, glibc returns at once, and a second later the process
//! faults it in again.

/// Freed bytes that the allocator keeps. A delta needs some hundred KiB for each histogram.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const AT_HAND_BYTES: i32 = 4 << 20;
/// Minimum size of an allocation with a mapping of its own. glibc no longer adjusts this threshold
/// once the other setting is made.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const MAPPED_BYTES: i32 = 1 << 20;

/// Makes the allocator keep some MiB of freed memory from now on.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(crate) fn tune_allocator() {
    // SAFETY: both may be called at any time, and touch no allocated memory.
    let (kept, mapped) = unsafe {
        (
            libc::mallopt(libc::M_TRIM_THRESHOLD, AT_HAND_BYTES),
            libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED_BYTES),
        )
    };
    tracing::debug!(kept, mapped, "allocator tuned");
}

/// Other allocators choose by themselves.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn tune_allocator() {}

/// Returns unused memory to the system. It runs on a blocking thread of the runtime, because it
/// takes some ms; a firing thread hardly ever allocates meanwhile.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(crate) fn trim() {
    tokio::task::spawn_blocking(|| {
        // SAFETY: it may be called at any time, and touches no allocated memory.
        let returned = unsafe { libc::malloc_trim(0) };
        tracing::debug!(returned, "unused memory returned");
    });
}

/// Other allocators do it by themselves.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn trim() {}

#[cfg(all(test, target_os = "linux", target_env = "gnu"))]
mod tests {
    use std::hint::black_box;
    use std::mem::MaybeUninit;

    use super::*;

    /// Page faults of this thread so far.
    fn faults() -> i64 {
        let mut usage = MaybeUninit::<libc::rusage>::uninit();
        // SAFETY: the kernel fills in the whole struct.
        let usage = unsafe {
            assert_eq!(libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr()), 0);
            usage.assume_init()
        };
        usage.ru_minflt
    }

    /// Broken if the memory that a delta needs each second is returned and faulted in each time.
    #[test]
    fn what_is_taken_again_and_again_stays_at_hand() {
        const ROUNDS: i64 = 50;
        let round = || drop(black_box([(); 6].map(|()| vec![1_u8; 300 << 10])));
        tune_allocator();
        round();
        let before = faults();
        (0..ROUNDS).for_each(|_| round());
        let each = (faults() - before) / ROUNDS;
        assert!(each < 10, "{each} of the 450 pages of a round");
    }
}
