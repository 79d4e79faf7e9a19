//! Counts the allocations of the cores' threads, so that a limit of memory can be measured.
//!
//! There is one count for all cores: a test that measures runs alone, all others run in parallel.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicIsize, AtomicUsize, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::support::run;

/// Bytes that threads of cores hold beyond those at the begin of the measurement.
static HELD_BYTES: AtomicIsize = AtomicIsize::new(0);
static PEAK_BYTES: AtomicIsize = AtomicIsize::new(0);
static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);
static TURN: RwLock<()> = RwLock::new(());

/// Whether a test is measuring; only then the name of each allocating thread is examined.
static IS_MEASURING: AtomicBool = AtomicBool::new(false);

fn grew(bytes: usize) {
    if IS_MEASURING.load(Ordering::Relaxed) && is_of_a_core() {
        let bytes = signed(bytes);
        let held_bytes = HELD_BYTES.fetch_add(bytes, Ordering::Relaxed) + bytes;
        PEAK_BYTES.fetch_max(held_bytes, Ordering::Relaxed);
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
    }
}

fn shrank(bytes: usize) {
    if IS_MEASURING.load(Ordering::Relaxed) && is_of_a_core() {
        HELD_BYTES.fetch_sub(signed(bytes), Ordering::Relaxed);
    }
}

fn signed(bytes: usize) -> isize {
    isize::try_from(bytes).unwrap_or(isize::MAX)
}

/// Whether this is the thread of a core, by its name in the system. Allocates nothing.
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
        shrank(layout.size());
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        grew(bytes);
        shrank(layout.size());
        // SAFETY: the caller keeps the contract of `realloc`.
        unsafe { System.realloc(block, layout, bytes) }
    }
}

/// A turn in parallel with others, for tests that measure nothing.
pub(crate) fn beside_others() -> RwLockReadGuard<'static, ()> {
    TURN.read().unwrap_or_else(PoisonError::into_inner)
}

/// A turn without other tests. Until it ends, bytes held and allocations of cores are measured;
/// those of the tests' servers are not.
pub(crate) struct Alone {
    _turn: RwLockWriteGuard<'static, ()>,
}

impl Alone {
    pub(crate) fn begin() -> Self {
        let turn = TURN.write().unwrap_or_else(PoisonError::into_inner);
        run::wait_for_earlier_cores();
        HELD_BYTES.store(0, Ordering::Relaxed);
        PEAK_BYTES.store(0, Ordering::Relaxed);
        IS_MEASURING.store(true, Ordering::Relaxed);
        Self { _turn: turn }
    }

    /// Starts to count the allocations of cores.
    pub(crate) fn count_allocations(&self) {
        ALLOCATIONS.store(0, Ordering::Relaxed);
    }

    /// Number of allocations of cores since then.
    pub(crate) fn counted_allocations(&self) -> usize {
        ALLOCATIONS.load(Ordering::Relaxed)
    }

    /// Maximum number of bytes that cores have held since the begin.
    pub(crate) fn peak_bytes(&self) -> usize {
        usize::try_from(PEAK_BYTES.load(Ordering::Relaxed)).unwrap_or(0)
    }
}

impl Drop for Alone {
    fn drop(&mut self) {
        IS_MEASURING.store(false, Ordering::Relaxed);
    }
}
