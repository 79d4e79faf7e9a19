//! Memory that was freed: some MiB stay at hand, and the rest goes back.
//!
//! glibc returns by itself only what lies at the end of a heap. Some small thing always does: after
//! a burst of 6,000 calls 20 MiB stayed with the process although nobody held them. But what a
//! delta takes for a moment it returns, and faults in anew a second later.

/// Below this the allocator keeps what is freed: some hundred KiB for each histogram of a delta.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const AT_HAND_BYTES: i32 = 4 << 20;
/// Only what is larger gets a mapping of its own; glibc's own choice, unless it is told.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const MAPPED_BYTES: i32 = 1 << 20;

/// Keeps some MiB at hand, from now on.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(crate) fn tune_allocator() {
    // SAFETY: both may be called at any time, and touch no memory that somebody holds.
    let (kept, mapped) = unsafe {
        (
            libc::mallopt(libc::M_TRIM_THRESHOLD, AT_HAND_BYTES),
            libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED_BYTES),
        )
    };
    tracing::debug!(kept, mapped, "told the allocator what to keep");
}

/// Other allocators choose by themselves.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn tune_allocator() {}

/// Asks the allocator to return to the system what nobody holds, on a thread of the runtime's own:
/// it takes some ms, in which a thread that fires hardly ever allocates.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(crate) fn trim() {
    tokio::task::spawn_blocking(|| {
        // SAFETY: it may be called at any time, and touches no memory that somebody holds.
        let returned = unsafe { libc::malloc_trim(0) };
        tracing::debug!(returned, "asked for unused memory");
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

    /// Page faults of this thread until now.
    fn faults() -> i64 {
        let mut usage = MaybeUninit::<libc::rusage>::uninit();
        // SAFETY: it fills in what it is given.
        let usage = unsafe {
            assert_eq!(libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr()), 0);
            usage.assume_init()
        };
        usage.ru_minflt
    }

    /// Broken if what a delta takes each second were given back and faulted in each time.
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
