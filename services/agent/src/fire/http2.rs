//! HTTP/2 of one core: few connections, many requests at a time on each (RFC 9113).
//!
//! A request goes out a second time, and no third, only when the target cannot have begun with it:
//! its connection took no new stream, or the target refused the stream or said that it had not come
//! so far. Bytes are counted before header compression, since the connection is shared.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use bytes::Bytes;
use h2::client::{Builder, SendRequest};
use h2::{Reason, RecvStream};
use hyper::http::Response;
use loadpilot_engine::tally::ConnectionUse;
use loadpilot_events::cause::Cause;
use loadpilot_events::connections::Reuse;
use loadpilot_events::outcome::Outcome;
use tokio::sync::Mutex;

use super::broken::Broken;
use super::clock::MonoTime;
use super::dial::Dial;
use super::program::Program;
use super::progress::{Progress, Stage};
use super::seen::Seen;
use super::stream::Stream;
use super::tls::Offer;
use super::wire::{Order, Trace, Wire};

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
    dial: Rc<Dial>,
    /// Those that may take a further request; the others end with their last stream.
    links: RefCell<Vec<Rc<Link>>>,
    /// Held while a connection is opened, so that all who wait for one share it.
    opening: Mutex<()>,
}

/// An open connection.
struct Link {
    sender: SendRequest<Bytes>,
    streams: Cell<u32>,
    requests: Cell<u32>,
    opened: MonoTime,
    /// It takes no further request.
    closed: Cell<bool>,
}

/// A place among the streams of a connection.
pub(crate) struct Place(Rc<Link>);

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
    pub(crate) fn new(program: Arc<Program>, dial: Rc<Dial>) -> Self {
        Self {
            program,
            dial,
            links: RefCell::default(),
            opening: Mutex::new(()),
        }
    }

    /// Takes over a connection on which HTTP/2 was agreed, and the first place on it.
    ///
    /// # Errors
    /// When the target does not begin as HTTP/2 does.
    pub(crate) async fn adopt(&self, stream: Stream) -> Result<Place, Broken> {
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
        let driven = Rc::downgrade(&link);
        tokio::task::spawn_local(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "connection ended");
            }
            if let Some(link) = driven.upgrade() {
                link.closed.set(true);
            }
        });
        let place = take_place(&link);
        if self.takes_more(&link) {
            self.links.borrow_mut().push(link);
        }
        Ok(place)
    }

    /// Sends on a connection that was opened for it; else as [`Wire::send`].
    pub(crate) async fn send_on(
        &self,
        place: Place,
        order: Order<'_>,
        trace: &mut Trace,
    ) -> Result<u16, Broken> {
        trace.phases.connection = Some(ConnectionUse::Opened);
        self.send_from(place, order, trace).await
    }

    async fn send_from(
        &self,
        place: Place,
        order: Order<'_>,
        trace: &mut Trace,
    ) -> Result<u16, Broken> {
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

    /// A place on an open connection; opens one if there is none.
    async fn place(&self, order: Order<'_>, trace: &mut Trace) -> Result<Place, Broken> {
        if !order.may_reuse {
            self.retire();
            return self.open(order.progress, trace).await;
        }
        trace.phases.connection = Some(ConnectionUse::Reused);
        if let Some(place) = self.free_place() {
            return Ok(place);
        }
        order.progress.enter(Stage::Queueing);
        let _alone = self.opening.lock().await;
        match self.free_place() {
            Some(place) => Ok(place),
            None => self.open(order.progress, trace).await,
        }
    }

    async fn open(&self, progress: &Progress, trace: &mut Trace) -> Result<Place, Broken> {
        trace.phases.connection = None;
        let stream = self.dial.open(Offer::Http2, progress, trace).await?;
        let place = self.adopt(stream).await?;
        trace.phases.connection = Some(ConnectionUse::Opened);
        Ok(place)
    }

    fn free_place(&self) -> Option<Place> {
        let mut links = self.links.borrow_mut();
        let at = self.find_free(&mut links)?;
        let place = take_place(&links[at]);
        if !self.takes_more(&links[at]) {
            links.swap_remove(at);
        }
        Some(place)
    }

    /// Gives up the connection that a call would have used that may use none: it comes as a new
    /// client does, for one that left.
    fn retire(&self) {
        let mut links = self.links.borrow_mut();
        if let Some(at) = self.find_free(&mut links) {
            links.swap_remove(at);
        }
    }

    fn find_free(&self, links: &mut Vec<Rc<Link>>) -> Option<usize> {
        links.retain(|link| self.takes_more(link));
        let wanted_max = self.program.connections.streams_max.unwrap_or(STREAMS_MAX);
        links.iter().position(|link| {
            // A target that allows none for a while is asked all the same: the call then waits.
            let allowed_max = link.sender.current_max_send_streams().max(1);
            let streams = link.streams.get();
            streams < wanted_max && (streams as usize) < allowed_max
        })
    }

    fn takes_more(&self, link: &Link) -> bool {
        let settings = &self.program.connections;
        !link.closed.get()
            && settings.reuse != Reuse::Never
            && settings
                .requests_max
                .is_none_or(|most| link.requests.get() < most)
            && settings
                .age_us_max
                .is_none_or(|most| MonoTime::now().since_us(link.opened) < most)
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
        order.progress.enter(Stage::Queueing);
        let mut sender = link.sender.clone().ready().await.map_err(unsent)?;
        order.progress.enter(Stage::Sending);
        let (request, request_bytes) = template.with_id(order.id.unwrap_or_default());
        let has_body = !template.body().is_empty();
        let sent = sender.send_request(request, !has_body);
        let (answer, mut body) = sent.map_err(unsent)?;
        trace.sent_bytes += request_bytes;
        if has_body {
            let sent = body.send_data(template.body().clone(), true);
            sent.map_err(|error| Failed::Broken(broken(&error)))?;
            trace.sent_bytes += template.body().len() as u64;
        }
        let sent_at = MonoTime::now();
        order.progress.enter_at(Stage::Waiting, sent_at);
        let answer = answer.await.map_err(|error| {
            let is_unsent = was_not_begun(&error);
            link.closed.set(link.closed.get() || error.is_go_away());
            match is_unsent {
                true => Failed::Unsent(broken(&error)),
                false => Failed::Broken(broken(&error)),
            }
        })?;
        let answered_at = MonoTime::now();
        order.progress.enter(Stage::Reading);
        trace.phases.first_byte_us = Some(answered_at.since_us(sent_at));
        trace.received_bytes += header_bytes(&answer);
        let status = answer.status().as_u16();
        if let Some(seen) = order.seen {
            show(&answer, &mut seen.borrow_mut());
        }
        let drained = drain(answer, order, trace).await;
        match drained {
            Err(error) if !(has_body && refuses_the_rest(&error)) => {
                return Err(Failed::Broken(broken(&error)));
            }
            _ => trace.phases.last_byte_us = Some(MonoTime::now().since_us(answered_at)),
        }
        Ok(status)
    }
}

/// Takes a place that is free.
fn take_place(link: &Rc<Link>) -> Place {
    link.streams.set(link.streams.get() + 1);
    link.requests.set(link.requests.get() + 1);
    Place(Rc::clone(link))
}

/// Whether the target has said that it did not begin with the request: it refused the stream, or
/// closed the connection before it came to it (RFC 9113, section 8.7).
fn was_not_begun(error: &h2::Error) -> bool {
    let refused = error.reason() == Some(Reason::REFUSED_STREAM);
    error.is_remote() && (refused || error.is_go_away())
}

/// Whether an answer in full is followed by a word that the rest of the request is not wanted
/// (RFC 9113, section 8.1).
fn refuses_the_rest(error: &h2::Error) -> bool {
    error.is_remote() && error.is_reset() && error.reason() == Some(Reason::NO_ERROR)
}

/// Throws a body away as it comes.
async fn drain(
    answer: Response<RecvStream>,
    order: Order<'_>,
    trace: &mut Trace,
) -> Result<(), h2::Error> {
    let mut body = answer.into_body();
    while let Some(data) = body.data().await {
        let data = data?;
        if let Some(tokens) = order.tokens {
            let (now, mut tokens) = (MonoTime::now(), tokens.borrow_mut());
            tokens.data(&data, now);
            tokens.chunk_end(now);
        }
        let bytes = data.len();
        trace.received_bytes += bytes as u64;
        body.flow_control().release_capacity(bytes)?;
    }
    // An answer ends with its trailers.
    body.trailers().await?;
    Ok(())
}

/// Hands over the head of an answer, in the form of HTTP/1.1.
fn show(answer: &Response<RecvStream>, seen: &mut Seen) {
    seen.add(format!("HTTP/2 {}\r\n", answer.status()).as_bytes());
    for (name, value) in answer.headers() {
        for part in [name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"] {
            seen.add(part);
        }
    }
}

fn header_bytes(answer: &Response<RecvStream>) -> u64 {
    let lines = answer.headers().iter();
    let lines = lines.map(|(name, value)| name.as_str().len() + value.len());
    (":status200".len() + lines.sum::<usize>()) as u64
}

fn broken(error: &h2::Error) -> Broken {
    if let Some(error) = error.get_io() {
        return Broken::exchanging(error);
    }
    tracing::debug!(%error, "exchange broken");
    let cause = match error.is_remote() {
        true if error.is_go_away() => Cause::GoneAway,
        true if error.is_reset() => Cause::StreamReset,
        _ => Cause::Http2,
    };
    Broken::new(Outcome::Io, cause)
}

impl Wire for Http2 {
    async fn send(&self, order: Order<'_>, trace: &mut Trace) -> Result<u16, Broken> {
        let place = self.place(order, trace).await?;
        self.send_from(place, order, trace).await
    }

    async fn warm(&self) {
        self.dial.warm().await;
    }

    fn tidy(&self) {
        let mut links = self.links.borrow_mut();
        links.retain(|link| self.takes_more(link));
    }
}
