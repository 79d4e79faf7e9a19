//! Counts what this process has allocated, so that a bound on memory is a number and not a hope.
//!
//! The count is one for all threads: whoever measures runs alone, everybody else side by side.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::run;

static LIVE_BYTES: AtomicUsize = AtomicUsize::new(0);
static PEAK_BYTES: AtomicUsize = AtomicUsize::new(0);
static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);
static TURN: RwLock<()> = RwLock::new(());

thread_local! {
    /// Whether what this thread allocates is not among [`ALLOCATIONS`].
    static LEFT_OUT: Cell<bool> = const { Cell::new(false) };
}

/// The system's allocator, counted.
pub(crate) struct Counting;

fn grew(bytes: usize) {
    let live = LIVE_BYTES.fetch_add(bytes, Ordering::Relaxed) + bytes;
    PEAK_BYTES.fetch_max(live, Ordering::Relaxed);
    // A thread that is ending has no such word any more.
    if LEFT_OUT
        .try_with(|left_out| !left_out.get())
        .unwrap_or(false)
    {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
    }
}

/// From here on allocations of this thread are not counted, its bytes still are.
pub(crate) fn leave_out_this_thread() {
    LEFT_OUT.set(true);
}

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
    before_allocations: usize,
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
            before_allocations: ALLOCATIONS.load(Ordering::Relaxed),
        }
    }

    /// How often something was allocated since the begin.
    pub(crate) fn allocations(&self) -> usize {
        ALLOCATIONS.load(Ordering::Relaxed) - self.before_allocations
    }

    /// The most bytes that were live since the begin, above what was then.
    pub(crate) fn peak_bytes(&self) -> usize {
        PEAK_BYTES
            .load(Ordering::Relaxed)
            .saturating_sub(self.before_bytes)
    }
}
