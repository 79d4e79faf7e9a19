//! What std does not offer: backlog, reset, signals, limits. The only unsafe code of this crate.
//! Must never keep a file descriptor.

use std::fmt::Display;
use std::io;
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;

/// Says on stderr what failed and ends the process: an oracle that cannot count must not go on.
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

/// Raises the limit of open files as far as it goes without privilege.
pub fn raise_fd_limit() {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: both calls only touch `limit`.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) == 0 {
            limit.rlim_cur = limit.rlim_max;
            libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit);
        }
    }
}

/// SIGTERM and SIGINT, held back so that one thread can wait for them.
pub struct EndSignals(libc::sigset_t);

impl EndSignals {
    /// Holds the signals back in this thread and in all that it starts from now on.
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
