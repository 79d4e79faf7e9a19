//! The bytes to and from a target, in the clear or through TLS.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead as _, AsyncWrite as _, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

/// An open connection.
#[derive(Debug)]
pub(crate) enum Stream {
    /// http.
    Plain(TcpStream),
    /// https; boxed, since it is ten times as large.
    Tls(Box<TlsStream<TcpStream>>),
}

impl Stream {
    /// Reads what is there into `buf`; nothing at all means that the peer has closed.
    pub(crate) fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self {
            Self::Plain(tcp) => Pin::new(tcp).poll_read(cx, buf),
            Self::Tls(tls) => Pin::new(tls).poll_read(cx, buf),
        }
    }

    /// Writes some of `parts`, in their order; gives how many bytes.
    pub(crate) fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match (self, parts) {
            (Self::Plain(tcp), [part]) => Pin::new(tcp).poll_write(cx, part),
            (Self::Plain(tcp), _) => Pin::new(tcp).poll_write_vectored(cx, parts),
            (Self::Tls(tls), _) => Pin::new(tls).poll_write_vectored(cx, parts),
        }
    }

    /// Pushes out what TLS still holds.
    pub(crate) fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Plain(_) => Poll::Ready(Ok(())),
            Self::Tls(tls) => Pin::new(tls).poll_flush(cx),
        }
    }
}
