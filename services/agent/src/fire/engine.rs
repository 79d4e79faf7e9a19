//! Which HTTP a core speaks: as the plan says, or as the target chooses.

use std::cell::Cell;
use std::sync::Arc;

use loadpilot_events::connections::Http;

use super::dial::Dial;
use super::http1::Http1;
use super::http2::Http2;
use super::program::Program;
use super::tls::Offer;
use super::wire::{Broken, Order, Trace, Wire};

/// The engine of one core. The size of a variant does not matter: there is one per core.
#[expect(clippy::large_enum_variant, reason = "one per core")]
pub(crate) enum Engine {
    Http1(Http1),
    Http2(Http2),
    Agreed(Agreed),
}

/// What the target agrees to on the first connection holds for all: a target that changes its mind
/// within a run breaks the calls concerned.
pub(crate) struct Agreed {
    dial: Dial,
    http1: Http1,
    http2: Http2,
    choice: Cell<Option<Http>>,
}

impl Engine {
    /// What the connections of `program` ask for.
    pub(crate) fn new(program: Arc<Program>) -> Self {
        let is_tls = program.target.tls.is_some();
        match program.connections.http {
            Http::V2 => Self::Http2(Http2::new(program)),
            Http::Auto if is_tls => Self::Agreed(Agreed {
                dial: Dial::new(Arc::clone(&program)),
                http1: Http1::new(Arc::clone(&program)),
                http2: Http2::new(program),
                choice: Cell::new(None),
            }),
            Http::V1 | Http::Auto => Self::Http1(Http1::new(program)),
        }
    }
}

impl Agreed {
    /// Opens a connection and asks; the engine chosen keeps it.
    async fn choose(&self, trace: &mut Trace) -> Result<Http, Broken> {
        if let Some(choice) = self.choice.get() {
            return Ok(choice);
        }
        let stream = self.dial.open(Offer::Both, trace).await?;
        let choice = match stream.agreed_on_http2() {
            true => Http::V2,
            false => Http::V1,
        };
        match choice {
            Http::V2 => drop(self.http2.adopt(stream).await?),
            Http::V1 | Http::Auto => self.http1.adopt(stream),
        }
        self.choice.set(Some(choice));
        Ok(choice)
    }
}

impl Wire for Engine {
    async fn send(&self, order: Order<'_>, trace: &mut Trace) -> Result<u16, Broken> {
        match self {
            Self::Http1(http1) => http1.send(order, trace).await,
            Self::Http2(http2) => http2.send(order, trace).await,
            Self::Agreed(agreed) => match agreed.choose(trace).await? {
                Http::V2 => agreed.http2.send(order, trace).await,
                Http::V1 | Http::Auto => agreed.http1.send(order, trace).await,
            },
        }
    }

    async fn warm(&self) {
        match self {
            Self::Http1(http1) => http1.warm().await,
            Self::Http2(http2) => http2.warm().await,
            Self::Agreed(agreed) => agreed.dial.warm().await,
        }
    }

    fn tidy(&self) {
        match self {
            Self::Http1(http1) => http1.tidy(),
            Self::Http2(http2) => http2.tidy(),
            Self::Agreed(agreed) => {
                agreed.http1.tidy();
                agreed.http2.tidy();
            }
        }
    }
}
