//! The bytes to and from a target: over TCP, through TLS, or through a Unix socket.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::client::TlsStream;

use super::error_classification::with_kind;

/// An open connection.
#[derive(Debug)]
pub(crate) enum Stream {
    /// http.
    Tcp(TcpStream),
    /// https; boxed, since it is ten times as large.
    Tls(Box<TlsStream<TcpStream>>),
    /// http through a socket of this machine.
    Unix(UnixStream),
}

/// Evaluates the same expression for each kind of stream.
macro_rules! each {
    ($stream:expr, $inner:ident => $what:expr) => {
        match $stream {
            Stream::Tcp($inner) => $what,
            Stream::Tls($inner) => $what,
            Stream::Unix($inner) => $what,
        }
    };
}

impl Stream {
    /// Whether the TLS handshake agreed on HTTP/2.
    pub(crate) fn agreed_on_http2(&self) -> bool {
        match self {
            Self::Tls(tls) => tls.get_ref().1.alpn_protocol() == Some(b"h2"),
            Self::Tcp(_) | Self::Unix(_) => false,
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = each!(&mut *self, inner => Pin::new(inner).poll_read(cx, buf));
        read.map_err(with_kind)
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        each!(&mut *self, inner => Pin::new(inner).poll_write(cx, bytes))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        each!(&mut *self, inner => Pin::new(inner).poll_write_vectored(cx, parts))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        each!(&mut *self, inner => Pin::new(inner).poll_flush(cx))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        each!(&mut *self, inner => Pin::new(inner).poll_shutdown(cx))
    }
}
