//! Runs over HTTP: a plan is posted, its snapshots come back as lines of JSON.
//!
//! It asks through the log as a command line does ([`loadpilot_client`]) and follows with the one
//! fold. It must never decide anything, never hold what is not in the log, and never delay those
//! who decide: it lives on a thread and a connection of its own.

mod config;
mod error;
mod follow;
mod guard;
mod listen;
mod routes;
mod status;
mod teardown;

use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use loadpilot_bus::{Bus, Options};
use loadpilot_events::wire::subject::Subjects;
use tokio::sync::{Semaphore, oneshot, watch};

pub(crate) use config::HttpArgs;
pub use config::{HttpConfig, Token};
pub(crate) use status::Facts;
pub use status::Status;

use loadpilot_client::session::Session;

/// How long answers may take to end when the coordinator does.
const END_WITHIN: Duration = Duration::from_secs(5);
/// Most bodies that are read at a time: each is held in memory.
const READERS_MAX: usize = 8;
/// Most runs that are followed at a time.
const FOLLOWED_MAX: usize = 64;

/// What every answer needs.
#[derive(Debug, Clone)]
struct Api {
    bus: Bus,
    subjects: Subjects,
    status: Status,
    token: Option<Token>,
    is_tls: bool,
    readers: Arc<Semaphore>,
    followed: Arc<Semaphore>,
    ending: watch::Receiver<bool>,
}

impl Api {
    /// Somebody who asks through the log, on the one connection.
    fn session(&self) -> Session {
        Session::on(self.bus.clone(), self.subjects.clone())
    }
}

/// An HTTP interface that answers until it is ended.
#[derive(Debug)]
pub(crate) struct Interface {
    end: watch::Sender<bool>,
    ended: oneshot::Receiver<()>,
}

impl Interface {
    /// Answers on `listener` with a connection to NATS of its own.
    ///
    /// # Errors
    /// When there is no such connection, or no thread.
    pub(crate) async fn start(
        config: HttpConfig,
        listener: TcpListener,
        nats: Options,
        subjects: Subjects,
        status: Status,
    ) -> Result<Self, String> {
        let (end, ending) = watch::channel(false);
        let (tell_ended, ended) = oneshot::channel();
        let (tell_ready, ready) = oneshot::channel();
        let serve = async move {
            let opened = open(&nats, listener).await;
            let (bus, listener) = match opened {
                Ok(opened) => opened,
                Err(why) => return drop(tell_ready.send(Err(why))),
            };
            let api = Api {
                bus,
                subjects,
                status,
                token: config.token,
                is_tls: config.tls.is_some(),
                readers: Arc::new(Semaphore::new(READERS_MAX)),
                followed: Arc::new(Semaphore::new(FOLLOWED_MAX)),
                ending: ending.clone(),
            };
            // Whoever started it may be gone already: then it ends at once.
            let _ = tell_ready.send(Ok(()));
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
                // Whoever waits for the end may be gone.
                let _ = tell_ended.send(());
            })
            .map_err(|error| error.to_string())?;
        let is_ready = ready.await;
        is_ready.map_err(|_| "the HTTP interface did not start".to_owned())??;
        Ok(Self { end, ended })
    }

    /// Takes nothing new, lets what is being answered end, and waits for that a while.
    pub(crate) async fn end(self) {
        // Nobody to tell: it has ended.
        let _ = self.end.send(true);
        let _ = tokio::time::timeout(END_WITHIN, self.ended).await;
    }
}

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
