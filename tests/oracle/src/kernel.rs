//! System calls that std lacks: backlog, reset, receive times, signals, limits. The only unsafe
//! code of this crate; it keeps no file descriptor.

use std::fmt::Display;
use std::io;
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;

/// Prints an error and ends the process: an oracle that cannot count must not go on.
pub fn die(what: &str, error: &dyn Display) -> ! {
    eprintln!("loadpilot-oracle: {what}: {error}");
    std::process::exit(70);
}

fn checked(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

/// Sets the accept backlog of a listening socket.
pub(crate) fn set_backlog(listener: &TcpListener, backlog: i32) -> io::Result<()> {
    // SAFETY: the descriptor is open for as long as `listener` is borrowed.
    checked(unsafe { libc::listen(listener.as_raw_fd(), backlog) }).map(drop)
}

/// Makes the close of this socket a reset instead of an orderly end.
pub(crate) fn reset_on_close(stream: &TcpStream) -> io::Result<()> {
    let linger = libc::linger {
        l_onoff: 1,
        l_linger: 0,
    };
    // SAFETY: the descriptor is open, and `linger` is read for its own size only.
    checked(unsafe {
        libc::setsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_LINGER,
            (&raw const linger).cast(),
            size_of::<libc::linger>() as libc::socklen_t,
        )
    })
    .map(drop)
}

/// Enables kernel receive times for the connections of this listener. The kernel starts them a
/// moment later: the first packets may come without a time.
#[cfg(target_os = "linux")]
pub(crate) fn ask_receive_times(listener: &TcpListener) -> io::Result<()> {
    let flags = libc::SOF_TIMESTAMPING_RX_SOFTWARE | libc::SOF_TIMESTAMPING_SOFTWARE;
    // SAFETY: the descriptor is open, and `flags` is read for its own size only.
    checked(unsafe {
        libc::setsockopt(
            listener.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_TIMESTAMPING,
            (&raw const flags).cast(),
            size_of_val(&flags) as libc::socklen_t,
        )
    })
    .map(drop)
}

/// Other kernels have no receive times for TCP.
#[cfg(not(target_os = "linux"))]
pub(crate) fn ask_receive_times(_: &TcpListener) -> io::Result<()> {
    let what = "this system tells no receive times for TCP";
    Err(io::Error::new(io::ErrorKind::Unsupported, what))
}

/// Reads like `Read::read` and also returns the kernel receive time of the last of these bytes, µs
/// of `CLOCK_REALTIME`. The time is not in tcp(7): it is the first member, the software time, of
/// `SCM_TIMESTAMPING` in the kernel's `Documentation/networking/timestamping.rst`.
#[cfg(target_os = "linux")]
pub(crate) fn read_timed(stream: &TcpStream, room: &mut [u8]) -> io::Result<(usize, Option<u64>)> {
    // u64 for the alignment that control messages need; room for a header and three timespecs.
    let mut control = [0_u64; 16];
    let mut part = libc::iovec {
        iov_base: room.as_mut_ptr().cast(),
        iov_len: room.len(),
    };
    // SAFETY: all zeroes is a valid msghdr; every pointer put into it outlives the call, with the
    // length of what it points to.
    let (got, message) = unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = size_of_val(&control);
        let got = libc::recvmsg(stream.as_raw_fd(), &raw mut message, 0);
        (got, message)
    };
    let len = usize::try_from(got).map_err(|_| io::Error::last_os_error())?;
    Ok((len, receive_time_us(&message)))
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn read_timed(stream: &TcpStream, room: &mut [u8]) -> io::Result<(usize, Option<u64>)> {
    use std::io::Read;
    let mut stream = stream;
    stream.read(room).map(|len| (len, None))
}

/// The software time among the control messages of a read.
#[cfg(target_os = "linux")]
fn receive_time_us(message: &libc::msghdr) -> Option<u64> {
    // SAFETY: `message` was filled in by recvmsg, and its control buffer is alive; the macros walk
    // it within the length that the kernel wrote. A timespec is read unaligned.
    unsafe {
        let mut header = libc::CMSG_FIRSTHDR(message);
        while let Some(one) = header.as_ref() {
            // The level and type are those of the option that asked for it.
            if one.cmsg_level == libc::SOL_SOCKET && one.cmsg_type == libc::SCM_TIMESTAMPING {
                let data = libc::CMSG_DATA(header).cast::<libc::timespec>();
                let time = data.read_unaligned();
                let secs = u64::try_from(time.tv_sec).ok()?;
                let us = u64::try_from(time.tv_nsec / 1_000).ok()?;
                // All zeroes: only a hardware time is there, or none.
                return (secs > 0).then_some(secs * 1_000_000 + us);
            }
            header = libc::CMSG_NXTHDR(message, header);
        }
    }
    None
}

/// Whether the peer has closed its side and everything that it sent was read. Does not block.
pub(crate) fn peer_closed(stream: &TcpStream) -> bool {
    let mut byte = 0_u8;
    let flags = libc::MSG_PEEK | libc::MSG_DONTWAIT;
    // SAFETY: the descriptor is open, and one byte of room is given as one byte.
    let got = unsafe { libc::recv(stream.as_raw_fd(), (&raw mut byte).cast(), 1, flags) };
    match got {
        0 => true,
        1.. => false,
        _ => io::Error::last_os_error().kind() != io::ErrorKind::WouldBlock,
    }
}

/// Blocks until `listener` has a connection to accept (`true`) or `wake` has a byte (`false`,
/// which goes first).
pub(crate) fn wait_readable(listener: &TcpListener, wake: &UnixStream) -> io::Result<bool> {
    let watch = |fd| libc::pollfd {
        fd,
        events: libc::POLLIN,
        revents: 0,
    };
    let mut fds = [watch(wake.as_raw_fd()), watch(listener.as_raw_fd())];
    loop {
        // SAFETY: both descriptors are open, and the length is that of the array.
        match checked(unsafe { libc::poll(fds.as_mut_ptr(), 2, -1) }) {
            Ok(_) => return Ok(fds[0].revents == 0),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
}

/// Lets timed waits of this thread, and of those it starts, end within 1 µs instead of 50.
pub(crate) fn sharpen_timers() {
    #[cfg(target_os = "linux")]
    // SAFETY: PR_SET_TIMERSLACK takes a number of ns and touches no memory.
    let _ = unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1000_u64) };
}

/// Number of file descriptors that the largest tests and benches open at once, with a margin.
const FILES_AT_ONCE: libc::c_int = 20_000;

/// Raises the limit of open files as far as it goes without privilege, and makes room for many.
pub fn raise_fd_limit() {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the calls only touch `limit`, and a descriptor that is not used elsewhere.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) == 0 {
            limit.rlim_cur = limit.rlim_max;
            libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit);
        }
        // Growing the table later would delay an accept by tens of ms.
        let last = libc::c_int::try_from(limit.rlim_max).map_or(FILES_AT_ONCE, |max| max - 1);
        let last = last.min(FILES_AT_ONCE);
        let copy = libc::fcntl(libc::STDERR_FILENO, libc::F_DUPFD_CLOEXEC, last);
        if copy >= 0 {
            libc::close(copy);
        }
    }
}

/// SIGTERM and SIGINT, blocked so that one thread can wait for them.
pub struct EndSignals(libc::sigset_t);

impl EndSignals {
    /// Blocks the signals in this thread and in all threads that it starts from now on.
    pub fn hold() -> Self {
        // SAFETY: a zeroed sigset is only handed to sigemptyset, which makes it valid.
        unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&raw mut set);
            libc::sigaddset(&raw mut set, libc::SIGTERM);
            libc::sigaddset(&raw mut set, libc::SIGINT);
            libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
            Self(set)
        }
    }

    /// Blocks until one of them comes.
    pub fn wait(&self) {
        let mut signal = 0;
        // SAFETY: the set was made by sigemptyset, and `signal` is written once.
        while unsafe { libc::sigwait(&raw const self.0, &raw mut signal) } != 0 {}
    }
}
