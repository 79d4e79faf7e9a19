//! The pacer's timer: one absolute instant at a time, tens of µs exact.
//!
//! tokio's own timer has steps of 1 ms, so on Linux this is a timerfd on the thread's reactor. Must
//! never spin.

use std::io;

use super::MonoTime;

#[cfg(target_os = "linux")]
pub(crate) use linux::Timer;
#[cfg(not(target_os = "linux"))]
pub(crate) use portable::Timer;

/// Asks the kernel to wake this thread on time: without rounding (the default slack is 50 µs), and
/// ahead of other threads on its core.
///
/// # Errors
/// The kernel refuses the slack. A kernel without slices per thread is no error: arrivals may then
/// be later, and are judged by their lateness.
pub(crate) fn sharpen_thread() -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        let slack_ns: libc::c_ulong = 1;
        // SAFETY: this option takes one integer and touches no memory of ours.
        if unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, slack_ns) } != 0 {
            return Err(io::Error::last_os_error());
        }
        if let Err(error) = linux::shorten_slice() {
            tracing::debug!(%error, "the scheduler gives no short slices");
        }
    }
    Ok(())
}

#[cfg(target_os = "linux")]
mod linux {
    use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
    use std::{io, mem};

    use tokio::io::Interest;
    use tokio::io::unix::AsyncFd;

    use super::MonoTime;

    /// Minimum slice that the scheduler accepts.
    const SLICE_NS: u64 = 100_000;

    /// Asks for short time slices. Since Linux 6.12 a waking thread with a shorter slice goes ahead
    /// of a running thread with a longer one, at the same share for both. With the default of about
    /// 3 ms an arrival may wait that long for a log server on the same core.
    ///
    /// # Errors
    /// The error of the kernel.
    pub(super) fn shorten_slice() -> io::Result<()> {
        let mut attributes = attributes()?;
        attributes.sched_runtime = SLICE_NS;
        // SAFETY: the kernel reads as many bytes as its size field says.
        match unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Scheduling attributes of this thread.
    fn attributes() -> io::Result<libc::sched_attr> {
        // SAFETY: all of its fields are integers, for which zero is a value.
        let mut found: libc::sched_attr = unsafe { mem::zeroed() };
        let bytes = size_of::<libc::sched_attr>() as libc::c_uint;
        // SAFETY: the kernel writes at most `bytes` to it. 0 is the calling thread.
        match unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut found, bytes, 0) } {
            0 => Ok(found),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Slice of this thread in ns; 0 where the kernel has none.
    #[cfg(test)]
    pub(super) fn slice_ns() -> io::Result<u64> {
        Ok(attributes()?.sched_runtime)
    }

    /// A timerfd on CLOCK_MONOTONIC.
    #[derive(Debug)]
    pub(crate) struct Timer {
        fd: AsyncFd<OwnedFd>,
    }

    impl Timer {
        /// A timer that is not armed. Must be called on a tokio runtime with I/O enabled.
        ///
        /// # Errors
        /// The process has no file descriptor left.
        pub(crate) fn new() -> io::Result<Self> {
            // SAFETY: no memory is passed.
            let raw = unsafe {
                let flags = libc::TFD_NONBLOCK | libc::TFD_CLOEXEC;
                libc::timerfd_create(libc::CLOCK_MONOTONIC, flags)
            };
            if raw < 0 {
                return Err(io::Error::last_os_error());
            }
            // SAFETY: `raw` was just opened and has no other owner.
            let fd = unsafe { OwnedFd::from_raw_fd(raw) };
            // SAFETY: an OwnedFd keeps its descriptor open and the same as long as it lives.
            let fd = unsafe { AsyncFd::register_with_interest(fd, Interest::READABLE)? };
            Ok(Self { fd })
        }

        /// Fires once at `at`, at once if that has passed; `None` disarms. Replaces the earlier
        /// arming.
        ///
        /// # Errors
        /// The error of the kernel, which is not expected.
        pub(crate) fn arm(&self, at: Option<MonoTime>) -> io::Result<()> {
            // An all-zero value means "disarm" to the kernel, hence at least 1 ns.
            let ns = at.map_or(0, |at| at.as_ns().max(1));
            let zero = libc::timespec {
                tv_sec: 0,
                tv_nsec: 0,
            };
            let mut spec = libc::itimerspec {
                it_interval: zero,
                it_value: zero,
            };
            spec.it_value.tv_sec = ns / 1_000_000_000;
            spec.it_value.tv_nsec = ns % 1_000_000_000;
            // SAFETY: `spec` lives through the call; the old value is not requested.
            let result = unsafe {
                libc::timerfd_settime(
                    self.fd.as_raw_fd(),
                    libc::TFD_TIMER_ABSTIME,
                    &raw const spec,
                    std::ptr::null_mut(),
                )
            };
            if result != 0 {
                return Err(io::Error::last_os_error());
            }
            Ok(())
        }

        /// Resolves when the timer has fired since this was last awaited. May resolve for an
        /// earlier arming, so the caller has to read the clock. Safe to drop and call again.
        ///
        /// # Errors
        /// The runtime is shutting down.
        pub(crate) async fn fired(&self) -> io::Result<()> {
            // The expiry count is not read: arming again resets it, which saves a system call.
            self.fd.readable().await?.clear_ready();
            Ok(())
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod portable {
    use std::cell::Cell;
    use std::io;
    use std::time::Duration;

    use super::MonoTime;

    /// tokio's timer with 1 ms steps, for systems without timerfd.
    #[derive(Debug)]
    pub(crate) struct Timer {
        at: Cell<Option<MonoTime>>,
    }

    impl Timer {
        /// A timer that is not armed.
        ///
        /// # Errors
        /// None on this system.
        pub(crate) fn new() -> io::Result<Self> {
            Ok(Self {
                at: Cell::new(None),
            })
        }

        /// Fires once at `at`, at once if that has passed; `None` disarms.
        ///
        /// # Errors
        /// None on this system.
        pub(crate) fn arm(&self, at: Option<MonoTime>) -> io::Result<()> {
            self.at.set(at);
            Ok(())
        }

        /// Resolves at the armed instant. Safe to drop and call again.
        ///
        /// # Errors
        /// None on this system.
        pub(crate) async fn fired(&self) -> io::Result<()> {
            match self.at.get() {
                Some(at) => {
                    let left = at.since_us(MonoTime::now());
                    tokio::time::sleep(Duration::from_micros(left)).await;
                    Ok(())
                }
                None => std::future::pending().await,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn a_sharpened_thread_has_a_short_slice() {
        let before = linux::slice_ns().expect("the kernel answers");
        if before == 0 {
            eprintln!("SKIPPED: this kernel has no slices of a thread's own (Linux 6.12 has)");
            return;
        }
        sharpen_thread().expect("the kernel answers");
        assert!(
            linux::slice_ns().expect("the kernel answers") < before,
            "{before} ns before"
        );
    }

    fn on_a_runtime<T>(story: impl Future<Output = T>) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime for the test");
        runtime.block_on(story)
    }

    /// Broken if the pacer can release an arrival before it is due, or waits for an old instant.
    #[test]
    fn fires_at_the_last_armed_instant_and_never_before_it() {
        on_a_runtime(async {
            let timer = Timer::new().expect("a timer");
            let now = MonoTime::now();
            timer.arm(Some(now.plus_us(60_000_000))).expect("armed");
            for after_us in [0, 300, 3_000] {
                let at = MonoTime::now().plus_us(after_us);
                timer.arm(Some(at)).expect("armed again");
                while MonoTime::now() < at {
                    timer.fired().await.expect("the runtime lives");
                }
            }
            assert!(MonoTime::now().since_us(now) < 30_000_000);
        });
    }
}
