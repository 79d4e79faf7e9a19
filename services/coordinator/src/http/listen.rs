//! Accepts connections, with a limit on their number and timeouts for silent ones. HTTP/1.1, over
//! TLS if there is a certificate.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;

/// Maximum number of connections.
const CONNECTIONS_MAX: usize = 256;
/// Timeout for a TLS handshake, and for the head of a request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// Timeout for TCP acknowledgements of the caller; afterwards the kernel closes the connection.
const ACKNOWLEDGE_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum bytes of its requests that one connection buffers.
const BUFFER_BYTES_MAX: usize = 64 << 10;
/// Pause after a failed accept: most likely no file descriptor is free.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves connections until `ending`; returns when all of them have ended.
pub(super) async fn serve(
    listener: TcpListener,
    tls: Option<Arc<ServerConfig>>,
    app: Router,
    mut ending: watch::Receiver<bool>,
) {
    let acceptor = tls.map(TlsAcceptor::from);
    let permits = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let mut connections = JoinSet::new();
    loop {
        let accepted = async {
            let permit = permits.clone().acquire_owned().await;
            (permit, listener.accept().await)
        };
        let (permit, accepted) = tokio::select! {
            accepted = accepted => accepted,
            Some(_) = connections.join_next() => continue,
            _ = ending.wait_for(|ends| *ends) => break,
        };
        let Ok((stream, _)) = accepted else {
            sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let (app, acceptor, ending) = (app.clone(), acceptor.clone(), ending.clone());
        connections.spawn(async move {
            let _permit = permit;
            if let Err(error) = set_tcp_options(&stream) {
                tracing::debug!(%error, "a vanished caller will be detected late");
            }
            match acceptor {
                None => serve_connection(stream, app, ending).await,
                Some(acceptor) => {
                    let handshake = timeout(HEAD_TIMEOUT, acceptor.accept(stream)).await;
                    if let Ok(Ok(stream)) = handshake {
                        serve_connection(stream, app, ending).await;
                    }
                }
            }
        });
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

/// Sends without delay, and lets the kernel detect callers whose machine vanished.
fn set_tcp_options(stream: &TcpStream) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let socket = SockRef::from(stream);
    let keepalive = TcpKeepalive::new()
        .with_time(ACKNOWLEDGE_TIMEOUT / 2)
        .with_interval(ACKNOWLEDGE_TIMEOUT / 4);
    socket.set_tcp_keepalive(&keepalive)?;
    #[cfg(target_os = "linux")]
    socket.set_tcp_user_timeout(Some(ACKNOWLEDGE_TIMEOUT))?;
    Ok(())
}

/// Serves one connection until it closes, or until its answer ends after `ending`.
async fn serve_connection(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    app: Router,
    mut ending: watch::Receiver<bool>,
) {
    let mut connection = pin!(
        http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_TIMEOUT)
            .max_buf_size(BUFFER_BYTES_MAX)
            .serve_connection(TokioIo::new(stream), TowerToHyperService::new(app))
    );
    let mut is_ending = false;
    loop {
        tokio::select! {
            ended = connection.as_mut() => {
                if let Err(error) = ended {
                    tracing::debug!(%error, "a connection of the HTTP interface ended");
                }
                return;
            }
            _ = ending.wait_for(|ends| *ends), if !is_ending => {
                is_ending = true;
                connection.as_mut().graceful_shutdown();
            }
        }
    }
}
