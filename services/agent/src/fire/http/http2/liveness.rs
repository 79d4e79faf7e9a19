//! How long the target of an HTTP/2 connection has been silent.
//!
//! A target that vanishes without closing its connections, such as a machine without power, sends
//! no reset: TCP gives up after a quarter of an hour, and until then only the time-outs of calls
//! show it.

use std::cell::Cell;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::fire::clock::MonoTime;
use crate::fire::http::connect::stream::Stream;

/// Silence in µs after which a connection may be dead. A call that times out sooner says nothing
/// about it.
const SILENCE_US: u64 = 1_000_000;

/// When the first call since the last bytes of the target got its stream.
#[derive(Debug, Clone, Default)]
pub(super) struct Silence(Rc<Cell<Option<MonoTime>>>);

impl Silence {
    /// Notes that a call waits for the target from now on.
    pub(super) fn begin(&self) {
        if self.0.get().is_none() {
            self.0.set(Some(MonoTime::now()));
        }
    }

    /// Whether no byte has arrived since a call that began longer ago than the limit.
    pub(super) fn is_long(&self) -> bool {
        let since = self.0.get();
        since.is_some_and(|since| MonoTime::now().since_us(since) >= SILENCE_US)
    }
}

/// A stream whose received bytes end the silence.
pub(super) struct HeardStream {
    pub(super) stream: Stream,
    pub(super) silence: Silence,
}

impl AsyncRead for HeardStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buf);
        if buf.filled().len() > before {
            self.silence.0.set(None);
        }
        read
    }
}

impl AsyncWrite for HeardStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
