//! A connection that notes what passes through it: bytes, and when they passed.
//!
//! Counts above TLS, so that http and https figures compare. Must never buffer or change a byte.

use std::cell::Cell;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use super::clock::MonoTime;

/// Bytes to and from the target.
#[derive(Debug)]
pub(crate) enum Stream {
    /// http.
    Plain(TcpStream),
    /// https; boxed, since it is ten times as large.
    Tls(Box<TlsStream<TcpStream>>),
}

/// What passed through one connection so far.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    pub sent_bytes: Cell<u64>,
    pub received_bytes: Cell<u64>,
    /// When bytes were last written.
    pub wrote_at: Cell<Option<MonoTime>>,
    /// When bytes first came in since this was last cleared.
    pub answered_at: Cell<Option<MonoTime>>,
}

/// A stream and its meter.
#[derive(Debug)]
pub(crate) struct Metered {
    stream: Stream,
    meter: Rc<Meter>,
}

impl Metered {
    pub(crate) fn new(stream: Stream, meter: Rc<Meter>) -> Self {
        Self { stream, meter }
    }

    fn wrote(&self, bytes: usize) {
        let sent_bytes = self.meter.sent_bytes.get() + bytes as u64;
        self.meter.sent_bytes.set(sent_bytes);
        self.meter.wrote_at.set(Some(MonoTime::now()));
    }
}

impl AsyncRead for Metered {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        ready!(match &mut self.stream {
            Stream::Plain(tcp) => Pin::new(tcp).poll_read(cx, buf),
            Stream::Tls(tls) => Pin::new(tls).poll_read(cx, buf),
        })?;
        let bytes = buf.filled().len() - before;
        if bytes > 0 {
            let meter = &self.meter;
            let received_bytes = meter.received_bytes.get() + bytes as u64;
            meter.received_bytes.set(received_bytes);
            if meter.answered_at.get().is_none() {
                meter.answered_at.set(Some(MonoTime::now()));
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Metered {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let bytes = ready!(match &mut self.stream {
            Stream::Plain(tcp) => Pin::new(tcp).poll_write(cx, buf),
            Stream::Tls(tls) => Pin::new(tls).poll_write(cx, buf),
        })?;
        self.wrote(bytes);
        Poll::Ready(Ok(bytes))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let bytes = ready!(match &mut self.stream {
            Stream::Plain(tcp) => Pin::new(tcp).poll_write_vectored(cx, bufs),
            Stream::Tls(tls) => Pin::new(tls).poll_write_vectored(cx, bufs),
        })?;
        self.wrote(bytes);
        Poll::Ready(Ok(bytes))
    }

    fn is_write_vectored(&self) -> bool {
        match &self.stream {
            Stream::Plain(tcp) => tcp.is_write_vectored(),
            Stream::Tls(tls) => tls.is_write_vectored(),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.stream {
            Stream::Plain(tcp) => Pin::new(tcp).poll_flush(cx),
            Stream::Tls(tls) => Pin::new(tls).poll_flush(cx),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.stream {
            Stream::Plain(tcp) => Pin::new(tcp).poll_shutdown(cx),
            Stream::Tls(tls) => Pin::new(tls).poll_shutdown(cx),
        }
    }
}
