//! A second opinion: hyper's reading of a response, from the same bytes. It shares nothing with the
//! encoder, so that a mistake of the encoder does not become a law.

use http_body_util::{BodyExt as _, Empty};
use hyper::Request;
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::support::encoder::Answer;

/// hyper's reading of one response.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Read {
    pub(crate) status: u16,
    pub(crate) body_bytes: usize,
    /// Whether the connection can take another request.
    pub(crate) keeps: bool,
}

/// Reads one response on a connection of its own; `None` when hyper refuses it.
pub(crate) fn of(answer: &Answer) -> Option<Read> {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.expect("a runtime").block_on(read(answer))
}

async fn read(answer: &Answer) -> Option<Read> {
    let (client, mut server) = tokio::io::duplex(1 << 20);
    let (bytes, keeps) = (answer.encode(), answer.keeps());
    tokio::spawn(async move {
        let mut request = [0; 4096];
        let came = server.read(&mut request).await.expect("a pipe");
        assert!(
            request[..came].ends_with(b"\r\n\r\n"),
            "a request without a body"
        );
        server.write_all(&bytes).await.expect("a pipe with room");
        if keeps {
            // Ends when the client closes.
            drop(server.read(&mut request).await);
        }
    });
    let (mut sender, connection) = http1::handshake(TokioIo::new(client)).await.ok()?;
    tokio::spawn(connection);
    let request = Request::builder().method(answer.method.name()).uri("/");
    let request = request.header("host", "here").body(Empty::<Bytes>::new());
    let response = sender
        .send_request(request.expect("a request"))
        .await
        .ok()?;
    let status = response.status().as_u16();
    let body = response.into_body().collect().await.ok()?;
    Some(Read {
        status,
        body_bytes: body.to_bytes().len(),
        keeps: sender.ready().await.is_ok(),
    })
}
