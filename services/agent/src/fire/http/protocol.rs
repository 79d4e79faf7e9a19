//! Which HTTP a core speaks: as the plan says, or as the target chooses.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use loadpilot_events::plan::connections::Http;
use tokio::sync::Mutex;

use super::connect::connection_quota::ConnectionQuota;
use super::connect::dial::Dial;
use super::connect::error_classification::Broken;
use super::connect::preconnect::{self, Preconnected};
use super::http1::Http1;
use super::http2::Http2;
use super::wire::{Order, Trace, Wire};
use crate::fire::clock::MonoTime;
use crate::fire::request::program::Program;
use crate::fire::request::progress::Stage;
use crate::fire::request::tls::Offer;

/// The engine of one core.
pub(crate) enum Engine {
    Http1(Http1),
    Http2(Http2),
    Agreed(Agreed),
}

/// What the target agrees to on the first connection holds for all: a target that changes its mind
/// within a run breaks the calls concerned.
pub(crate) struct Agreed {
    dial: Rc<Dial>,
    http1: Http1,
    http2: Http2,
    /// Connections to open before the start.
    open_first: u32,
    choice: Cell<Option<Http>>,
    /// Held while the target is asked, so that it is asked once.
    asking: Mutex<()>,
}

impl Engine {
    /// What the connections of `program` ask for.
    pub(crate) fn new(program: Arc<Program>, pool: ConnectionQuota) -> Self {
        let dial = Rc::new(Dial::new(Arc::clone(&program)));
        let is_tls = program.target.tls.is_some();
        match program.connections.http {
            Http::V2 => Self::Http2(Http2::new(program, dial, pool)),
            Http::Auto if is_tls => Self::Agreed(Agreed {
                http1: Http1::new(Arc::clone(&program), Rc::clone(&dial), pool),
                http2: Http2::new(program, Rc::clone(&dial), pool),
                dial,
                open_first: pool.open_first,
                choice: Cell::new(None),
                asking: Mutex::new(()),
            }),
            Http::V1 | Http::Auto => Self::Http1(Http1::new(program, dial, pool)),
        }
    }
}

impl Agreed {
    async fn send(&self, order: &Order<'_>, trace: &mut Trace) -> Result<u16, Broken> {
        let mut choice = self.choice.get();
        if choice.is_none() {
            order.progress.enter(Stage::Queueing);
            let asking = self.asking.lock().await;
            choice = self.choice.get();
            if choice.is_none() {
                // Whoever asks is the first to use the connection on which it did.
                let stream = self.dial.open(Offer::Both, order.progress, trace).await?;
                if !stream.agreed_on_http2() {
                    self.choice.set(Some(Http::V1));
                    drop(asking);
                    return self.http1.send_on(stream, order, trace).await;
                }
                let place = self.http2.adopt(stream).await?;
                self.choice.set(Some(Http::V2));
                drop(asking);
                return self.http2.send_on(place, order, trace).await;
            }
        }
        match choice {
            Some(Http::V2) => self.http2.send(order, trace).await,
            _ => self.http1.send(order, trace).await,
        }
    }

    async fn warm(&self) -> Preconnected {
        preconnect::warm(&self.dial, self.open_first, || self.keep_one()).await
    }

    /// Opens a connection that nobody uses yet; the first one asks the target.
    async fn keep_one(&self) -> Result<(), Broken> {
        let mut asking = None;
        if self.choice.get().is_none() {
            asking = Some(self.asking.lock().await);
        }
        let offer = match self.choice.get() {
            None => Offer::Both,
            Some(Http::V2) => Offer::Http2,
            Some(_) => Offer::Http1,
        };
        if offer != Offer::Both {
            // Somebody else has asked meanwhile: no need to stand in line.
            asking = None;
        }
        let stream = self.dial.open_ahead(offer).await?;
        if stream.agreed_on_http2() {
            self.http2.keep(stream).await?;
            self.choice.set(Some(Http::V2));
        } else {
            self.http1.keep(stream);
            self.choice.set(Some(Http::V1));
        }
        drop(asking);
        Ok(())
    }
}

impl Wire for Engine {
    async fn send(&self, order: &Order<'_>, trace: &mut Trace) -> Result<u16, Broken> {
        match self {
            Self::Http1(http1) => http1.send(order, trace).await,
            Self::Http2(http2) => http2.send(order, trace).await,
            Self::Agreed(agreed) => agreed.send(order, trace).await,
        }
    }

    fn calls_max(&self) -> usize {
        match self {
            Self::Http1(http1) => http1.calls_max(),
            Self::Http2(http2) => http2.calls_max(),
            Self::Agreed(agreed) => match agreed.choice.get() {
                Some(Http::V2) => agreed.http2.calls_max(),
                // Until the target has chosen, a connection may carry one call only.
                _ => agreed.http1.calls_max(),
            },
        }
    }

    async fn warm(&self) -> Preconnected {
        match self {
            Self::Http1(http1) => http1.warm().await,
            Self::Http2(http2) => http2.warm().await,
            Self::Agreed(agreed) => agreed.warm().await,
        }
    }

    fn tidy(&self, unneeded: MonoTime) -> usize {
        match self {
            Self::Http1(http1) => http1.tidy(unneeded),
            Self::Http2(http2) => http2.tidy(unneeded),
            Self::Agreed(agreed) => agreed.http1.tidy(unneeded) + agreed.http2.tidy(unneeded),
        }
    }
}
