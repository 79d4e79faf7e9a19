//! Runs over HTTP: the caller posts a plan and reads snapshots as lines of JSON (ADR 0034).
//!
//! The interface submits runs to the log, as the command line does ([`loadpilot_client`]). It has a
//! thread and a NATS connection of its own, so that it cannot delay decisions. It must never make a
//! decision, nor hold state that is not in the log.

mod api;
mod config;
mod error;
mod follow;
mod guard;
mod listen;
mod request_body;
mod routes;
mod status;
mod teardown;

use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use loadpilot_bus::{Bus, Options};
use loadpilot_events::wire::subject::Subjects;
use tokio::sync::{Semaphore, oneshot, watch};

use api::{Api, BODIES_MAX, FOLLOWED_MAX};
pub(crate) use config::HttpArgs;
pub use config::{HttpConfig, Token};
pub(crate) use status::Facts;
pub use status::Status;

/// Timeout for unfinished answers when the coordinator ends.
const END_TIMEOUT: Duration = Duration::from_secs(5);

/// A running HTTP interface.
#[derive(Debug)]
pub(crate) struct Interface {
    end: watch::Sender<bool>,
    ended: oneshot::Receiver<()>,
}

impl Interface {
    /// Serves `listener`, with a connection to NATS of its own.
    ///
    /// # Errors
    /// When NATS cannot be reached or the thread cannot be started.
    pub(crate) async fn start(
        config: HttpConfig,
        listener: TcpListener,
        nats: Options,
        subjects: Subjects,
        status: Status,
    ) -> Result<Self, String> {
        let (end, ending) = watch::channel(false);
        let (ended_sender, ended) = oneshot::channel();
        let (ready_sender, ready) = oneshot::channel();
        let serve = async move {
            let opened = open(&nats, listener).await;
            let (bus, listener) = match opened {
                Ok(opened) => opened,
                Err(error) => return drop(ready_sender.send(Err(error))),
            };
            let api = Api {
                bus,
                subjects,
                status,
                token: config.token,
                is_tls: config.tls.is_some(),
                body_permits: Arc::new(Semaphore::new(BODIES_MAX)),
                follow_permits: Arc::new(Semaphore::new(FOLLOWED_MAX)),
                ending: ending.clone(),
                exported_runs: config.exports_runs.then(Arc::default),
            };
            // The receiver is gone when `start` was cancelled.
            let _ = ready_sender.send(Ok(()));
            listen::serve(listener, config.tls, routes::routes(api), ending).await;
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| error.to_string())?;
        std::thread::Builder::new()
            .name("loadpilot-http".to_owned())
            .spawn(move || {
                runtime.block_on(serve);
                // The receiver is gone when `end` timed out.
                let _ = ended_sender.send(());
            })
            .map_err(|error| error.to_string())?;
        let is_ready = ready.await;
        is_ready.map_err(|_| "the HTTP interface did not start".to_owned())??;
        Ok(Self { end, ended })
    }

    /// Closes the listener, and waits up to [`END_TIMEOUT`] for unfinished answers.
    pub(crate) async fn end(self) {
        // The receiver is gone once the thread has ended.
        let _ = self.end.send(true);
        let _ = tokio::time::timeout(END_TIMEOUT, self.ended).await;
    }
}

/// Connects to NATS and registers the listener with the runtime of the thread.
async fn open(
    nats: &Options,
    listener: TcpListener,
) -> Result<(Bus, tokio::net::TcpListener), String> {
    let bus = Bus::connect(nats)
        .await
        .map_err(|fault| fault.to_string())?;
    listener
        .set_nonblocking(true)
        .and_then(|()| tokio::net::TcpListener::from_std(listener))
        .map(|listener| (bus, listener))
        .map_err(|error| format!("--http: {error}"))
}
