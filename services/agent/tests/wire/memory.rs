//! Counts what this process has allocated, so that a bound on memory is a number and not a hope.
//!
//! The count is one for all threads: whoever measures runs alone, everybody else side by side.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::run;

static LIVE_BYTES: AtomicUsize = AtomicUsize::new(0);
static PEAK_BYTES: AtomicUsize = AtomicUsize::new(0);
static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);
static TURN: RwLock<()> = RwLock::new(());

/// Whether allocations of a core are counted at the moment; it takes a look at each thread's name.
static IS_COUNTING: AtomicBool = AtomicBool::new(false);

fn grew(bytes: usize) {
    let live = LIVE_BYTES.fetch_add(bytes, Ordering::Relaxed) + bytes;
    PEAK_BYTES.fetch_max(live, Ordering::Relaxed);
    if IS_COUNTING.load(Ordering::Relaxed) && is_of_a_core() {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
    }
}

/// Whether this is the thread of a core, by the name that the system knows. Allocates nothing.
fn is_of_a_core() -> bool {
    let mut name = [0_u8; 16];
    // SAFETY: the system writes at most 16 bytes, the last of them 0, and keeps no reference.
    let result = unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr()) };
    let name = name.split(|byte| *byte == 0).next();
    result == 0 && name == Some(run::CORE_NAME.as_bytes())
}

/// The system's allocator, counted.
pub(crate) struct Counting;

// SAFETY: every call is passed on to the system's allocator unchanged; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        grew(layout.size());
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        grew(layout.size());
        // SAFETY: the caller keeps the contract of `alloc_zeroed`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        LIVE_BYTES.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        grew(bytes);
        LIVE_BYTES.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `realloc`.
        unsafe { System.realloc(block, layout, bytes) }
    }
}

/// A turn among others, for tests that measure nothing.
pub(crate) fn beside_others() -> RwLockReadGuard<'static, ()> {
    TURN.read().unwrap_or_else(PoisonError::into_inner)
}

/// A turn with nobody beside it.
pub(crate) struct Alone {
    _turn: RwLockWriteGuard<'static, ()>,
    before_bytes: usize,
}

impl Alone {
    pub(crate) fn begin() -> Self {
        let turn = TURN.write().unwrap_or_else(PoisonError::into_inner);
        run::wait_for_earlier_cores();
        let before_bytes = LIVE_BYTES.load(Ordering::Relaxed);
        PEAK_BYTES.store(before_bytes, Ordering::Relaxed);
        Self {
            _turn: turn,
            before_bytes,
        }
    }

    /// From now on counts how often cores allocate.
    pub(crate) fn count_allocations(&self) {
        ALLOCATIONS.store(0, Ordering::Relaxed);
        IS_COUNTING.store(true, Ordering::Relaxed);
    }

    /// How often cores have allocated; ends the counting.
    pub(crate) fn counted_allocations(&self) -> usize {
        IS_COUNTING.store(false, Ordering::Relaxed);
        ALLOCATIONS.load(Ordering::Relaxed)
    }

    /// The most bytes that were live since the begin, above what was then.
    pub(crate) fn peak_bytes(&self) -> usize {
        PEAK_BYTES
            .load(Ordering::Relaxed)
            .saturating_sub(self.before_bytes)
    }
}
