//! HTTP/2 of one core: few connections, many requests at a time on each (RFC 9113).
//!
//! A request goes out a second time only on another connection, and only when the target cannot
//! have begun with it: its connection took no new stream, or refused the stream. Bytes are counted
//! before header compression, since the connection is shared.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use bytes::Bytes;
use h2::client::{Builder, ResponseFuture, SendRequest};
use h2::{Reason, RecvStream};
use hyper::http::Response;
use loadpilot_engine::tally::ConnectionUse;
use loadpilot_events::connections::Reuse;
use tokio::sync::Mutex;

use super::clock::MonoTime;
use super::dial::{Dial, broken_by};
use super::program::Program;
use super::stream::Stream;
use super::tls::Offer;
use super::wire::{Broken, Order, Trace, Wire};

/// Requests at a time on one connection unless the plan says otherwise: what RFC 9113 recommends
/// servers to allow at least.
const STREAMS_MAX: u32 = 100;
/// What the target may send on one stream, and on one connection, before we have taken it in.
const STREAM_WINDOW_BYTES: u32 = 1 << 20;
const CONNECTION_WINDOW_BYTES: u32 = 16 << 20;
/// Most bytes of the headers of one answer.
const HEADERS_BYTES_MAX: u32 = 64 << 10;

/// The engine of one core.
pub(crate) struct Http2 {
    program: Arc<Program>,
    dial: Dial,
    links: RefCell<Vec<Rc<Link>>>,
    /// Held while a connection is opened, so that all who wait for one share it.
    opening: Mutex<()>,
}

/// An open connection.
pub(crate) struct Link {
    sender: SendRequest<Bytes>,
    streams: Cell<u32>,
    requests: Cell<u32>,
    opened: MonoTime,
    /// It takes no further request.
    closed: Cell<bool>,
}

/// A place among the streams of a connection.
struct Place(Rc<Link>);

impl Place {
    fn on(link: Rc<Link>) -> Self {
        link.streams.set(link.streams.get() + 1);
        link.requests.set(link.requests.get() + 1);
        Self(link)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.streams.set(self.0.streams.get() - 1);
    }
}

/// How an exchange ended without an answer.
enum Failed {
    /// The target has not begun with the request.
    Unsent(Broken),
    Broken(Broken),
}

impl Http2 {
    pub(crate) fn new(program: Arc<Program>) -> Self {
        Self {
            dial: Dial::new(Arc::clone(&program)),
            program,
            links: RefCell::default(),
            opening: Mutex::new(()),
        }
    }

    /// Takes over a connection on which HTTP/2 was agreed.
    ///
    /// # Errors
    /// When the target does not begin as HTTP/2 does.
    pub(crate) async fn adopt(&self, stream: Stream) -> Result<Rc<Link>, Broken> {
        let mut builder = Builder::new();
        builder
            .enable_push(false)
            .initial_window_size(STREAM_WINDOW_BYTES)
            .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
            .max_header_list_size(HEADERS_BYTES_MAX);
        let (sender, connection) = builder
            .handshake(stream)
            .await
            .map_err(|error| broken(&error))?;
        let link = Rc::new(Link {
            sender,
            streams: Cell::new(0),
            requests: Cell::new(0),
            opened: MonoTime::now(),
            closed: Cell::new(false),
        });
        self.links.borrow_mut().push(Rc::clone(&link));
        let driven = Rc::downgrade(&link);
        tokio::task::spawn_local(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "connection ended");
            }
            if let Some(link) = driven.upgrade() {
                link.closed.set(true);
            }
        });
        Ok(link)
    }

    /// A place on an open connection; opens one if there is none.
    async fn place(&self, order: Order<'_>, trace: &mut Trace) -> Result<Place, Broken> {
        trace.phases.connection = Some(ConnectionUse::Reused);
        if let Some(place) = self.free_place(order) {
            return Ok(place);
        }
        let _alone = self.opening.lock().await;
        if let Some(place) = self.free_place(order) {
            return Ok(place);
        }
        trace.phases.connection = None;
        let stream = self.dial.open(Offer::Http2, trace).await?;
        let link = self.adopt(stream).await?;
        trace.phases.connection = Some(ConnectionUse::Opened);
        if self.program.connections.reuse == Reuse::Never {
            link.closed.set(true);
        }
        Ok(Place::on(link))
    }

    fn free_place(&self, order: Order<'_>) -> Option<Place> {
        if !order.may_reuse {
            return None;
        }
        let settings = &self.program.connections;
        let streams_max = settings.streams_max.unwrap_or(STREAMS_MAX);
        let requests_max = settings.requests_max.unwrap_or(u32::MAX);
        let age_us_max = settings.age_us_max.unwrap_or(u64::MAX);
        let now = MonoTime::now();
        let links = self.links.borrow();
        let link = links.iter().find(|link| {
            !link.closed.get()
                && link.streams.get() < streams_max
                && link.requests.get() < requests_max
                && now.since_us(link.opened) < age_us_max
        })?;
        Some(Place::on(Rc::clone(link)))
    }

    async fn exchange(
        &self,
        place: &Place,
        order: Order<'_>,
        trace: &mut Trace,
    ) -> Result<u16, Failed> {
        let link = &place.0;
        let unsent = |error: h2::Error| {
            link.closed.set(true);
            Failed::Unsent(broken(&error))
        };
        let template = order.call.http2();
        let mut sender = link.sender.clone().ready().await.map_err(unsent)?;
        let (request, header_bytes) = template.with_id(order.id.unwrap_or_default());
        let has_body = !template.body().is_empty();
        let sent = sender.send_request(request, !has_body);
        let (answer, mut body) = sent.map_err(unsent)?;
        trace.sent_bytes += header_bytes;
        if has_body {
            let sent = body.send_data(template.body().clone(), true);
            sent.map_err(|error| Failed::Broken(broken(&error)))?;
            trace.sent_bytes += template.body().len() as u64;
        }
        read(answer, trace).await.map_err(|error| {
            let refused = error.reason() == Some(Reason::REFUSED_STREAM);
            match refused {
                true => Failed::Unsent(broken(&error)),
                false => Failed::Broken(broken(&error)),
            }
        })
    }
}

/// Reads one answer to its end; gives its status code.
async fn read(answer: ResponseFuture, trace: &mut Trace) -> Result<u16, h2::Error> {
    let sent_at = MonoTime::now();
    let answer = answer.await?;
    let answered_at = MonoTime::now();
    trace.phases.first_byte_us = Some(answered_at.since_us(sent_at));
    trace.received_bytes += header_bytes(&answer);
    let status = answer.status().as_u16();
    drain(answer.into_body(), trace).await?;
    trace.phases.last_byte_us = Some(MonoTime::now().since_us(answered_at));
    Ok(status)
}

/// Throws a body away as it comes.
async fn drain(mut body: RecvStream, trace: &mut Trace) -> Result<(), h2::Error> {
    while let Some(data) = body.data().await {
        let bytes = data?.len();
        trace.received_bytes += bytes as u64;
        body.flow_control().release_capacity(bytes)?;
    }
    // An answer ends with its trailers.
    body.trailers().await?;
    Ok(())
}

fn header_bytes(answer: &Response<RecvStream>) -> u64 {
    let lines = answer.headers().iter();
    let lines = lines.map(|(name, value)| name.as_str().len() + value.len());
    (":status200".len() + lines.sum::<usize>()) as u64
}

fn broken(error: &h2::Error) -> Broken {
    tracing::debug!(%error, "exchange broken");
    error.get_io().map_or(Broken::Io, |error| broken_by(error))
}

impl Wire for Http2 {
    async fn send(&self, order: Order<'_>, trace: &mut Trace) -> Result<u16, Broken> {
        let place = self.place(order, trace).await?;
        match self.exchange(&place, order, trace).await {
            Ok(status) => return Ok(status),
            Err(Failed::Broken(broken)) => return Err(broken),
            Err(Failed::Unsent(_)) => drop(place),
        }
        let place = self.place(order, trace).await?;
        match self.exchange(&place, order, trace).await {
            Ok(status) => Ok(status),
            Err(Failed::Broken(broken) | Failed::Unsent(broken)) => Err(broken),
        }
    }

    async fn warm(&self) {
        self.dial.warm().await;
    }

    fn tidy(&self) {
        let mut links = self.links.borrow_mut();
        links.retain(|link| !link.closed.get() || link.streams.get() > 0);
    }
}
