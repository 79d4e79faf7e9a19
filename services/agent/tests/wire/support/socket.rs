//! Socket operations that std lacks: whether the other end has read, a close together with the last
//! bytes, a reset.
//!
//! Both ends of every connection are in this process, so that the server can examine the client's
//! socket and need not sleep for a guessed time. It must never change anything about that socket.

use std::io;
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::fd::{AsRawFd as _, RawFd};
use std::thread;
use std::time::{Duration, Instant};

/// Maximum descriptor that is searched.
const DESCRIPTORS_MAX: RawFd = 4096;

/// The client's end of a connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClientEnd {
    address: SocketAddr,
    fd: RawFd,
}

impl ClientEnd {
    /// Finds the socket of this process that is bound to `address`.
    pub(crate) fn find(address: SocketAddr) -> Option<Self> {
        let mut fds = 3..DESCRIPTORS_MAX;
        let fd = fds.find(|fd| bound_port(*fd) == Some(address.port()))?;
        Some(Self { address, fd })
    }

    /// Waits until the client has read everything or is gone, at most `limit`.
    pub(crate) fn wait_until_read(self, limit: Duration) {
        self.wait(limit, || {
            unread_bytes(self.fd).is_none_or(|bytes| bytes == 0)
        });
    }

    /// Waits until bytes or an end have arrived there or the socket is gone, at most `limit`.
    pub(crate) fn wait_until_arrived(self, limit: Duration) {
        self.wait(limit, || has_news(self.fd));
    }

    fn wait(self, limit: Duration, reached: impl Fn() -> bool) {
        let begin = Instant::now();
        // A descriptor that was closed may have become another socket.
        while bound_port(self.fd) == Some(self.address.port())
            && !reached()
            && begin.elapsed() < limit
        {
            thread::yield_now();
        }
    }
}

/// The local port of an IPv4 socket.
fn bound_port(fd: RawFd) -> Option<u16> {
    // SAFETY: all zeros is a valid `sockaddr_in`.
    let mut address: libc::sockaddr_in = unsafe { std::mem::zeroed() };
    let mut size = libc::socklen_t::try_from(size_of_val(&address)).expect("a small struct");
    // SAFETY: both pointers are to live values, and `size` is the size of the first.
    let result = unsafe { libc::getsockname(fd, (&raw mut address).cast(), &raw mut size) };
    let is_inet = result == 0 && i32::from(address.sin_family) == libc::AF_INET;
    is_inet.then(|| u16::from_be(address.sin_port))
}

fn unread_bytes(fd: RawFd) -> Option<libc::c_int> {
    let mut bytes: libc::c_int = 0;
    // SAFETY: FIONREAD writes one int to a live one.
    let result = unsafe { libc::ioctl(fd, libc::FIONREAD, &raw mut bytes) };
    (result == 0).then_some(bytes)
}

fn has_news(fd: RawFd) -> bool {
    let mut poll = libc::pollfd {
        fd,
        events: libc::POLLIN | libc::POLLRDHUP,
        revents: 0,
    };
    // SAFETY: one live `pollfd`, and a time-out of nothing.
    let result = unsafe { libc::poll(&raw mut poll, 1, 0) };
    result > 0
}

/// Sends `bytes` and the end of the stream in one segment: a client that has read the bytes can
/// know of the end.
pub(crate) fn send_and_finish(stream: &TcpStream, bytes: &[u8]) -> io::Result<()> {
    let mut sent = 0;
    while sent < bytes.len() {
        let rest = &bytes[sent..];
        let flags = libc::MSG_MORE | libc::MSG_NOSIGNAL;
        // SAFETY: the pointer and the length are those of one live slice.
        let result =
            unsafe { libc::send(stream.as_raw_fd(), rest.as_ptr().cast(), rest.len(), flags) };
        sent += usize::try_from(result).map_err(|_| io::Error::last_os_error())?;
    }
    stream.shutdown(Shutdown::Write)
}

/// Makes the close that follows a reset.
pub(crate) fn reset_on_close(stream: &TcpStream) {
    let linger = libc::linger {
        l_onoff: 1,
        l_linger: 0,
    };
    let size = libc::socklen_t::try_from(size_of_val(&linger)).expect("a small struct");
    // SAFETY: the option's value is one `linger`, alive through the call.
    let result = unsafe {
        libc::setsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_LINGER,
            (&raw const linger).cast(),
            size,
        )
    };
    assert_eq!(result, 0, "SO_LINGER is known everywhere");
}
