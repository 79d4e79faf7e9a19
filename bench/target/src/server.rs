//! The listener and its connections. Nothing is printed or logged per request: benches measure load
//! generators against this server.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::header::{ALLOW, AUTHORIZATION, CONTENT_TYPE, WWW_AUTHENTICATE};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpSocket, TcpStream};

use crate::routes::{Asked, Reply, error, reply};

/// Maximum number of connections that the kernel completes before they are accepted.
const BACKLOG: u32 = 4096;
/// Maximum size of a request body, bytes.
const BODY_BYTES_MAX: usize = 1024 * 1024;
/// Delay after a failed accept, so that the loop does not spin without file descriptors.
const ACCEPT_RETRY: Duration = Duration::from_millis(20);

/// Listens there; port 0 lets the kernel choose.
pub(crate) fn listen(host: Ipv4Addr, port: u16) -> io::Result<TcpListener> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.bind(SocketAddr::from((host, port)))?;
    socket.listen(BACKLOG)
}

/// The counts since the start of the server.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// Requests that were answered.
    pub(crate) answered: AtomicU64,
    /// Those among them with a status of 400 or above.
    pub(crate) refused: AtomicU64,
    orders: AtomicU64,
}

/// Serves until `shutdown` is done; requests that are in flight then are dropped.
pub(crate) async fn serve(
    listener: TcpListener,
    counts: &Arc<Counts>,
    shutdown: impl Future<Output = ()>,
) {
    tokio::pin!(shutdown);
    loop {
        tokio::select! {
            () = &mut shutdown => return,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    tokio::spawn(serve_connection(stream, Arc::clone(counts)));
                }
                Err(e) => {
                    eprintln!("loadpilot-target: accept: {e}");
                    tokio::time::sleep(ACCEPT_RETRY).await;
                }
            },
        }
    }
}

async fn serve_connection(stream: TcpStream, counts: Arc<Counts>) {
    // Fails only when the client is gone; the connection's next read reports it.
    let _ = stream.set_nodelay(true);
    let service = service_fn(|request| answer(request, &counts));
    // An error of one connection does not concern the server.
    let _ = hyper::server::conn::http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

async fn answer(
    request: Request<Incoming>,
    counts: &Counts,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    let reply = match Limited::new(body, BODY_BYTES_MAX).collect().await {
        Ok(body) => {
            let body = body.to_bytes();
            let asked = Asked {
                method: &head.method,
                path: head.uri.path(),
                authorization: head
                    .headers
                    .get(AUTHORIZATION)
                    .map(|value| value.as_bytes()),
                body: &body,
            };
            reply(asked, || counts.orders.fetch_add(1, Ordering::Relaxed) + 1)
        }
        Err(_) => error(
            StatusCode::PAYLOAD_TOO_LARGE,
            "the body is above 1 MiB or broken",
        ),
    };
    counts.answered.fetch_add(1, Ordering::Relaxed);
    if reply.status >= StatusCode::BAD_REQUEST {
        counts.refused.fetch_add(1, Ordering::Relaxed);
    }
    Ok(to_response(reply))
}

fn to_response(reply: Reply) -> Response<Full<Bytes>> {
    let mut response = Response::builder()
        .status(reply.status)
        .header(CONTENT_TYPE, "application/json");
    if let Some(allow) = reply.allow {
        response = response.header(ALLOW, allow);
    }
    if reply.status == StatusCode::UNAUTHORIZED {
        response = response.header(WWW_AUTHENTICATE, "Bearer");
    }
    response
        .body(Full::new(Bytes::from(reply.body.to_string())))
        .expect("status and headers are constants")
}
