//! The one loop that takes connections, with a bound on their number and on how long a silent one
//! may stay. HTTP/1.1, over TLS where there is a certificate.

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

/// Most connections at a time.
const CONNECTIONS_MAX: usize = 256;
/// How long a handshake, or the head of a request, may take.
const HEAD_WITHIN: Duration = Duration::from_secs(10);
/// A caller that does not acknowledge what it is sent for so long is gone.
const GONE_AFTER: Duration = Duration::from_secs(10);
/// The most that one connection buffers of what it has read.
const BUFFER_BYTES_MAX: usize = 64 << 10;
/// Pause after a connection could not be taken: out of file descriptors, most likely.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Takes connections until `ending`; returns when all of them have ended.
pub(super) async fn serve(
    listener: TcpListener,
    tls: Option<Arc<ServerConfig>>,
    app: Router,
    mut ending: watch::Receiver<bool>,
) {
    let acceptor = tls.map(TlsAcceptor::from);
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let mut connections = JoinSet::new();
    loop {
        let accepted = async {
            let place = places.clone().acquire_owned().await;
            (place, listener.accept().await)
        };
        let (place, accepted) = tokio::select! {
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
            let _place = place;
            let noticing = notice_absence(&stream);
            if let Err(error) = noticing {
                tracing::debug!(%error, "a caller that vanishes will be noticed late");
            }
            match acceptor {
                None => speak(stream, app, ending).await,
                Some(acceptor) => {
                    let shaken = timeout(HEAD_WITHIN, acceptor.accept(stream)).await;
                    if let Ok(Ok(stream)) = shaken {
                        speak(stream, app, ending).await;
                    }
                }
            }
        });
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

/// A machine that vanishes says nothing: the kernel asks.
fn notice_absence(stream: &TcpStream) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let socket = SockRef::from(stream);
    let asking = TcpKeepalive::new()
        .with_time(GONE_AFTER / 2)
        .with_interval(GONE_AFTER / 4);
    socket.set_tcp_keepalive(&asking)?;
    #[cfg(target_os = "linux")]
    socket.set_tcp_user_timeout(Some(GONE_AFTER))?;
    Ok(())
}

/// Answers what comes on one connection until it closes, or `ending` and the answer has ended.
async fn speak(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    app: Router,
    mut ending: watch::Receiver<bool>,
) {
    let mut connection = pin!(
        http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_WITHIN)
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
