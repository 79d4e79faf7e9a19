//! Limit and size of the table of open files: raised and grown before load starts.

use std::io;

/// Raises the limit of open files as far as this user may, and returns it.
#[cfg(unix)]
pub(crate) fn raise_limit() -> u64 {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: `limit` is valid memory for the answer, and a valid argument afterwards.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) != 0 {
            return 1_024;
        }
        let wanted = libc::rlimit {
            rlim_cur: limit.rlim_max,
            ..limit
        };
        if libc::setrlimit(libc::RLIMIT_NOFILE, &raw const wanted) == 0 {
            limit = wanted;
        }
    }
    limit.rlim_cur
}

/// Other systems have no such limit.
#[cfg(not(unix))]
pub(crate) fn raise_limit() -> u64 {
    u64::MAX
}

/// Grows the table to `files` entries. Linux doubles a full table when a file is opened, and the
/// opening thread waits until no processor uses the old table. That takes tens of ms, in which a
/// firing thread would send nothing. A table never shrinks.
///
/// # Errors
/// When no file can be opened, or `files` exceeds the limit.
#[cfg(target_os = "linux")]
pub(crate) fn make_room(files: u64) -> io::Result<()> {
    use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};

    let last = libc::c_int::try_from(files.saturating_sub(1)).map_err(io::Error::other)?;
    let any = io::pipe()?.0;
    // SAFETY: an open file and a number; the copy has no other owner.
    let copy = unsafe { libc::fcntl(any.as_raw_fd(), libc::F_DUPFD_CLOEXEC, last) };
    if copy < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: as above.
    drop(unsafe { OwnedFd::from_raw_fd(copy) });
    Ok(())
}

/// Does nothing: other systems are not known to block.
///
/// # Errors
/// None.
#[cfg(not(target_os = "linux"))]
pub(crate) fn make_room(_: u64) -> io::Result<()> {
    Ok(())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// Number of entries in the table of this process, as the kernel reports it.
    fn places() -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").expect("the kernel's own");
        let line = status.lines().find_map(|line| line.strip_prefix("FDSize:"));
        let size = line.and_then(|size| size.trim().parse().ok());
        size.expect("a number")
    }

    #[test]
    fn a_table_with_room_is_not_grown_by_the_next_file() {
        let allowed = raise_limit();
        let before = places();
        let wanted = (before * 2).min(allowed);
        make_room(wanted).expect("as many as are allowed");
        let after = places();
        assert!(after >= wanted, "{before} places before, {after} after");
        assert!(make_room(allowed + 1).is_err(), "more than are allowed");
    }
}
