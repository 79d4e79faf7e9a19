//! Size limits of the two streams of a local log, from the free disk space.

use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::error::StackError;

const MIB: u64 = 1 << 20;

/// Size of the control stream. All of it must fit, or the end of a run could not be recorded.
pub(super) const CTL_BYTES: u64 = 64 * MIB;

/// Maximum size of the data stream.
pub(super) const DATA_BYTES_MAX: u64 = 2048 * MIB;

/// Minimum size of the data stream: room for a run of some minutes.
const DATA_BYTES_MIN: u64 = 16 * MIB;

/// Share of the free disk that a log may take, in percent: other processes write to it too.
const SHARE_PERCENT: u64 = 80;

/// Size limits of the two streams, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limits {
    pub(super) ctl_bytes: u64,
    pub(super) data_bytes: u64,
}

/// The limits for a log in `folder`.
///
/// # Errors
/// A refusal if the stack is to `write` and the disk cannot hold the smallest log; a fault if the
/// free space cannot be read.
pub(super) fn limits(folder: &Path, write: bool) -> Result<Limits, StackError> {
    let free = free_bytes(folder)
        .map_err(|error| StackError::fault(format!("free space of {}", folder.display()), error))?;
    match share(free) {
        Ok(limits) => Ok(limits),
        Err(_) if !write => Ok(Limits {
            ctl_bytes: CTL_BYTES,
            data_bytes: DATA_BYTES_MIN,
        }),
        Err(needed) => Err(StackError::Refusal {
            field: "disk",
            rule: format!(
                "{} has {} MiB free, a log needs {} MiB",
                folder.display(),
                free / MIB,
                needed.div_ceil(MIB)
            ),
        }),
    }
}

/// The limits on a disk with `free` bytes, or the number of bytes that have to be free.
fn share(free: u64) -> Result<Limits, u64> {
    let usable = free / 100 * SHARE_PERCENT;
    if usable < CTL_BYTES + DATA_BYTES_MIN {
        return Err((CTL_BYTES + DATA_BYTES_MIN).div_ceil(SHARE_PERCENT) * 100);
    }
    let data_bytes = (usable - CTL_BYTES).min(DATA_BYTES_MAX);
    Ok(Limits {
        ctl_bytes: CTL_BYTES,
        data_bytes,
    })
}

#[expect(
    clippy::unnecessary_cast,
    reason = "the fields' types differ between systems"
)]
fn free_bytes(folder: &Path) -> io::Result<u64> {
    let path = CString::new(folder.as_os_str().as_bytes())?;
    let mut answer = std::mem::MaybeUninit::<libc::statvfs>::uninit();
    // SAFETY: `path` ends in a NUL and `answer` has the size that statvfs writes.
    if unsafe { libc::statvfs(path.as_ptr(), answer.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: statvfs returned 0, so it filled `answer`.
    let answer = unsafe { answer.assume_init() };
    Ok((answer.f_bavail as u64).saturating_mul(answer.f_frsize as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_roomy_disk_gets_the_full_size_and_a_small_one_a_share_of_what_is_free() {
        let full = Limits {
            ctl_bytes: CTL_BYTES,
            data_bytes: DATA_BYTES_MAX,
        };
        assert_eq!(share(1 << 40), Ok(full));
        let small = share(1000 * MIB).expect("room for a log");
        assert!(small.ctl_bytes + small.data_bytes <= 800 * MIB);
        assert!(small.data_bytes > 700 * MIB);
    }

    #[test]
    fn the_amount_that_a_refusal_names_is_exactly_enough() {
        let needed = share(10 * MIB).expect_err("no room");
        assert!(share(needed).is_ok());
        assert!(share(needed - 200).is_err());
    }
}
