//! The HTTP version of a core, target by target: as the plan says, or as the target chooses.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use loadpilot_events::plan::connections::Http;
use tokio::sync::Mutex;

use super::connect::connection_quota::ConnectionQuota;
use super::connect::dial::Dialer;
use super::connect::error_classification::ErrorClass;
use super::connect::preconnect::{self, Preconnected};
use super::http1::Http1;
use super::http2::Http2;
use super::wire::{Order, Wire};
use crate::fire::clock::MonoTime;
use crate::fire::futures::join_all;
use crate::fire::request::program::Program;
use crate::fire::request::progress::{Stage, Trace};
use crate::fire::request::target::Role;
use crate::fire::request::tls::Offer;

/// The engine of one core.
pub(crate) enum Engine {
    Http1(Http1),
    Http2(Http2),
    Negotiated(Negotiated),
    /// One engine for each target, in the order of the targets.
    Several(Vec<Engine>),
}

/// The protocol that the target agrees to on the first connection is used for all. If the target
/// changes its choice within a run, the affected calls fail.
pub(crate) struct Negotiated {
    dialer: Rc<Dialer>,
    http1: Http1,
    http2: Http2,
    /// Number of connections to open before the start.
    open_first: u32,
    choice: Cell<Option<Http>>,
    /// Held during the negotiation, so that it happens once.
    negotiation: Mutex<()>,
}

impl Engine {
    /// The engine that the plan's targets and connection settings require.
    pub(crate) fn new(program: Arc<Program>, quota: ConnectionQuota) -> Self {
        let targets = (0_u16..).zip(&program.targets).map(|(target, _)| target);
        let mut engines: Vec<Self> = targets
            .map(|target| Self::of_target(Arc::clone(&program), target, quota))
            .collect();
        match engines.len() {
            1 => engines.remove(0),
            _ => Self::Several(engines),
        }
    }

    fn of_target(program: Arc<Program>, target: u16, mut quota: ConnectionQuota) -> Self {
        let dialer = Rc::new(Dialer::new(Arc::clone(&program), target));
        if dialer.target().role == Role::RedirectOrigin {
            // It is unknown whether a redirect leads there.
            quota.open_first = 0;
        }
        let is_tls = dialer.target().tls.is_some();
        match program.connections.http {
            Http::V2 => Self::Http2(Http2::new(program, dialer, quota)),
            Http::Auto if is_tls => Self::Negotiated(Negotiated {
                http1: Http1::new(Arc::clone(&program), Rc::clone(&dialer), quota),
                http2: Http2::new(program, Rc::clone(&dialer), quota),
                dialer,
                open_first: quota.open_first,
                choice: Cell::new(None),
                negotiation: Mutex::new(()),
            }),
            Http::V1 | Http::Auto => Self::Http1(Http1::new(program, dialer, quota)),
        }
    }
}

impl Negotiated {
    async fn send(&self, order: &Order<'_>, trace: &mut Trace) -> Result<u16, ErrorClass> {
        let mut choice = self.choice.get();
        if choice.is_none() {
            order.progress.enter(Stage::Queueing);
            let negotiation = self.negotiation.lock().await;
            choice = self.choice.get();
            if choice.is_none() {
                // The call that negotiates is the first to use its connection.
                let stream = self.dialer.open(Offer::Both, order.progress, trace).await?;
                if !stream.agreed_on_http2() {
                    self.choice.set(Some(Http::V1));
                    drop(negotiation);
                    return self.http1.send_on(stream, order, trace).await;
                }
                let slot = self.http2.adopt(stream).await?;
                self.choice.set(Some(Http::V2));
                drop(negotiation);
                return self.http2.send_on(slot, order, trace).await;
            }
        }
        match choice {
            Some(Http::V2) => self.http2.send(order, trace).await,
            _ => self.http1.send(order, trace).await,
        }
    }

    async fn preconnect(&self) -> Preconnected {
        preconnect::preconnect(&self.dialer, self.open_first, || self.open_one()).await
    }

    /// Opens an unused connection; the first one negotiates.
    async fn open_one(&self) -> Result<(), ErrorClass> {
        let mut negotiation = None;
        if self.choice.get().is_none() {
            negotiation = Some(self.negotiation.lock().await);
        }
        let offer = match self.choice.get() {
            None => Offer::Both,
            Some(Http::V2) => Offer::Http2,
            Some(_) => Offer::Http1,
        };
        if offer != Offer::Both {
            // Another task has negotiated meanwhile: the lock is no longer needed.
            negotiation = None;
        }
        let stream = self.dialer.open_unused(offer).await?;
        if stream.agreed_on_http2() {
            self.http2.keep(stream).await?;
            self.choice.set(Some(Http::V2));
        } else {
            self.http1.keep(stream);
            self.choice.set(Some(Http::V1));
        }
        drop(negotiation);
        Ok(())
    }
}

impl Wire for Engine {
    async fn send(&self, order: &Order<'_>, trace: &mut Trace) -> Result<u16, ErrorClass> {
        match self {
            Self::Http1(http1) => http1.send(order, trace).await,
            Self::Http2(http2) => http2.send(order, trace).await,
            Self::Negotiated(agreed) => agreed.send(order, trace).await,
            Self::Several(engines) => {
                let engine = &engines[usize::from(order.call.target)];
                // Boxed: the future would contain itself.
                Box::pin(engine.send(order, trace)).await
            }
        }
    }

    fn calls_max(&self) -> usize {
        match self {
            Self::Http1(http1) => http1.calls_max(),
            Self::Http2(http2) => http2.calls_max(),
            Self::Negotiated(agreed) => match agreed.choice.get() {
                Some(Http::V2) => agreed.http2.calls_max(),
                // Until the target has chosen, a connection may carry one call only.
                _ => agreed.http1.calls_max(),
            },
            // The minimum, since the target of the next call is unknown. A plan with several
            // targets has no limit on connections.
            Self::Several(engines) => {
                let each = engines.iter().map(Self::calls_max);
                each.min().unwrap_or(usize::MAX)
            }
        }
    }

    async fn preconnect(&self) -> Preconnected {
        match self {
            Self::Http1(http1) => http1.preconnect().await,
            Self::Http2(http2) => http2.preconnect().await,
            Self::Negotiated(agreed) => agreed.preconnect().await,
            Self::Several(engines) => {
                let sum = Cell::new(Preconnected::default());
                let each = engines.iter().map(|engine| {
                    let sum = &sum;
                    Box::pin(async move {
                        let one = engine.preconnect().await;
                        sum.set(sum.get().and(one));
                    })
                });
                join_all(each.collect()).await;
                sum.get()
            }
        }
    }

    fn close_idle(&self, unused_since: MonoTime) -> usize {
        match self {
            Self::Http1(http1) => http1.close_idle(unused_since),
            Self::Http2(http2) => http2.close_idle(unused_since),
            Self::Negotiated(agreed) => {
                agreed.http1.close_idle(unused_since) + agreed.http2.close_idle(unused_since)
            }
            Self::Several(engines) => {
                let each = engines.iter().map(|engine| engine.close_idle(unused_since));
                each.sum()
            }
        }
    }
}
