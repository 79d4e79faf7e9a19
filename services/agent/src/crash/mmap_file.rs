//! A shared memory-mapped file, preallocated on the disk, that is only written. Its content
//! survives the process without a sync, since each store goes to the kernel's page cache.
//!
//! The mapping must never be longer than the allocation: the first write to a page without room on
//! the disk kills the process (SIGBUS).

use std::io;
use std::path::Path;

/// Check value of the bytes at a position: FNV-1a, never 0. The writer stores it last, so that the
/// reader recognises complete bytes.
pub(crate) fn check(place: u64, bytes: &[u8]) -> u32 {
    let mix = |hash: u32, byte: &u8| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
    let place = place.to_le_bytes();
    let hash = place.iter().chain(bytes).fold(0x811c_9dc5, mix);
    hash.max(1)
}

#[cfg(unix)]
pub(crate) use posix::Map;
#[cfg(not(unix))]
pub(crate) use unsupported::Map;

#[cfg(unix)]
mod posix {
    use std::fs::{DirBuilder, File, OpenOptions};
    use std::os::fd::AsRawFd as _;
    use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
    use std::ptr::NonNull;
    use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

    use super::{Path, io};

    /// A file mapped into memory, with one writing thread.
    #[derive(Debug)]
    pub(crate) struct Map {
        base: NonNull<u8>,
        bytes: usize,
        file: File,
    }

    // SAFETY: the mapping belongs to this value alone and is not bound to a thread.
    unsafe impl Send for Map {}

    impl Map {
        /// Creates a file of zeroes that only its owner may read.
        ///
        /// # Errors
        /// An error of the file system; the incomplete file is removed.
        pub(crate) fn create(path: &Path, bytes: usize) -> io::Result<Self> {
            if let Some(folder) = path.parent() {
                DirBuilder::new()
                    .recursive(true)
                    .mode(0o700)
                    .create(folder)?;
            }
            let mut options = OpenOptions::new();
            let options = options.read(true).write(true).create_new(true).mode(0o600);
            let file = options.open(path)?;
            let map = allocate(&file, bytes).and_then(|()| map(file, bytes));
            if map.is_err() {
                // The first error is reported.
                let _ = std::fs::remove_file(path);
            }
            map
        }

        /// Locks the file until the map is dropped or the process ends.
        ///
        /// # Errors
        /// Another process holds the lock, or the file system has no locks.
        pub(crate) fn lock(&self) -> io::Result<()> {
            self.file.try_lock().map_err(io::Error::from)
        }

        /// Writes `data` at a position.
        ///
        /// # Panics
        /// The range is not inside the file.
        pub(crate) fn write(&self, at: usize, data: &[u8]) {
            assert!(at <= self.bytes && data.len() <= self.bytes - at, "inside");
            // SAFETY: the place is inside the mapping, and no reference to it exists.
            unsafe {
                let place = self.base.as_ptr().add(at);
                std::ptr::copy_nonoverlapping(data.as_ptr(), place, data.len());
            }
        }

        /// Stores a value after everything that was written before.
        ///
        /// # Panics
        /// The position is not inside the file, or not a multiple of 4.
        pub(crate) fn store_u32(&self, at: usize, value: u32) {
            assert!(at.is_multiple_of(4) && at + 4 <= self.bytes, "inside");
            // SAFETY: inside the mapping, which begins on a page, and aligned.
            let place = unsafe { AtomicU32::from_ptr(self.base.as_ptr().add(at).cast()) };
            place.store(value.to_le(), Ordering::Release);
        }

        /// Stores a value after everything that was written before.
        ///
        /// # Panics
        /// The position is not inside the file, or not a multiple of 8.
        pub(crate) fn store_u64(&self, at: usize, value: u64) {
            assert!(at.is_multiple_of(8) && at + 8 <= self.bytes, "inside");
            // SAFETY: inside the mapping, which begins on a page, and aligned.
            let place = unsafe { AtomicU64::from_ptr(self.base.as_ptr().add(at).cast()) };
            place.store(value.to_le(), Ordering::Release);
        }
    }

    impl Drop for Map {
        fn drop(&mut self) {
            // SAFETY: address and length are those of mmap, and no reference to them exists. An
            // error is ignored: the process cannot do anything about it.
            unsafe { libc::munmap(self.base.as_ptr().cast(), self.bytes) };
        }
    }

    fn map(file: File, bytes: usize) -> io::Result<Map> {
        // SAFETY: a new mapping of an open file, placed by the system; it is as long as the file.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                0,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(base.cast()).ok_or_else(|| io::Error::other("mapped at 0"))?;
        Ok(Map { base, bytes, file })
    }

    /// Grows the file and allocates its space on the disk.
    #[cfg(target_os = "linux")]
    fn allocate(file: &File, bytes: usize) -> io::Result<()> {
        let bytes = libc::off_t::try_from(bytes).map_err(io::Error::other)?;
        // SAFETY: an open file and two numbers.
        match unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, bytes) } {
            0 => Ok(()),
            error => Err(io::Error::from_raw_os_error(error)),
        }
    }

    /// Allocates by writing zeroes, on systems without `posix_fallocate`.
    #[cfg(not(target_os = "linux"))]
    fn allocate(mut file: &File, bytes: usize) -> io::Result<()> {
        use std::io::Write as _;
        const PAGE: [u8; 4_096] = [0; 4_096];
        let mut left = bytes;
        while left > 0 {
            let part = left.min(PAGE.len());
            file.write_all(&PAGE[..part])?;
            left -= part;
        }
        file.sync_all()
    }
}

#[cfg(not(unix))]
mod unsupported {
    use super::{Path, io};

    /// Unavailable on this system.
    #[derive(Debug)]
    pub(crate) enum Map {}

    impl Map {
        /// # Errors
        /// Always: this system has no mapped files.
        pub(crate) fn create(_: &Path, _: usize) -> io::Result<Self> {
            Err(io::ErrorKind::Unsupported.into())
        }

        pub(crate) fn lock(&self) -> io::Result<()> {
            match *self {}
        }

        pub(crate) fn write(&self, _: usize, _: &[u8]) {
            match *self {}
        }

        pub(crate) fn store_u32(&self, _: usize, _: u32) {
            match *self {}
        }

        pub(crate) fn store_u64(&self, _: usize, _: u64) {
            match *self {}
        }
    }
}
