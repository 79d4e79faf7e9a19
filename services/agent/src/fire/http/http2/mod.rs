//! HTTP/2 of one core: few connections, many requests at the same time on each (RFC 9113).
//!
//! - [`answer`]: the answer of one stream.
//! - [`liveness`]: how long the target has been silent.
//! - [`sending`]: the body of a request.
//!
//! A request is sent a second time, never a third, and only when the target cannot have begun with
//! it: its connection accepted no new stream, the target refused the stream, or the target closed
//! the connection before it. Bytes are counted before header compression, since the connection is
//! shared.

mod answer;
mod liveness;
mod sending;

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use bytes::Bytes;
use h2::client::{Builder, SendRequest};
use http::header::LOCATION;
use loadpilot_engine::tally::ConnectionUse;
use loadpilot_events::plan::connections::Reuse;
use tokio::sync::Notify;

use self::answer::{classify, drain, header_bytes, not_begun, refuses_the_rest, show};
use self::liveness::{HeardStream, Silence};
use self::sending::BodySender;
use super::connect::connection_quota::ConnectionQuota;
use super::connect::dial::Dialer;
use super::connect::error_classification::ErrorClass;
use super::connect::preconnect::{self, Preconnected};
use super::connect::stream::Stream;
use super::wire::{Order, Wire};
use crate::fire::clock::MonoTime;
use crate::fire::request::program::Program;
use crate::fire::request::progress::{Progress, Stage, Trace};
use crate::fire::request::redirect::is_redirect;
use crate::fire::request::tls::Offer;

/// Default number of concurrent requests on one connection: the minimum that RFC 9113 recommends
/// servers to allow.
pub const STREAMS_MAX: u32 = 100;
/// Flow-control windows of a stream and of a connection: the number of bytes that the target may
/// send before the agent has read them.
const STREAM_WINDOW_BYTES: u32 = 1 << 20;
const CONNECTION_WINDOW_BYTES: u32 = 16 << 20;
/// Maximum bytes of the headers of one answer.
const HEADERS_BYTES_MAX: u32 = 64 << 10;
/// Maximum number of streams that timed out within the last second and whose late answers are
/// dropped silently. A late answer to any further stream is answered with a reset.
const RESET_STREAMS_MAX: usize = 4096;

/// The engine of one core.
pub(crate) struct Http2 {
    program: Arc<Program>,
    dialer: Rc<Dialer>,
    quota: ConnectionQuota,
    /// Connections that may take a further request; the others end with their last stream.
    links: RefCell<Vec<Rc<Link>>>,
    counts: Rc<ConnectionCounts>,
    /// Maximum number of concurrent streams that the target stated last.
    allowed_max: Cell<usize>,
}

/// Numbers of connections, streams and waiting calls.
#[derive(Debug, Default)]
struct ConnectionCounts {
    /// Connections, from the first try to open them until they are closed.
    connections: Cell<usize>,
    /// Connections being opened.
    opening: Cell<usize>,
    /// Slots taken on connections.
    streams: Cell<usize>,
    /// Calls without a slot, including those that open a connection.
    waiting: Cell<usize>,
    /// Notified when a slot, or room for a connection, may be free.
    changed: Notify,
}

/// Counts one item until it is dropped.
struct CountGuard {
    counts: Rc<ConnectionCounts>,
    count: fn(&ConnectionCounts) -> &Cell<usize>,
}

impl CountGuard {
    fn new(counts: &Rc<ConnectionCounts>, count: fn(&ConnectionCounts) -> &Cell<usize>) -> Self {
        let cell = count(counts);
        cell.set(cell.get() + 1);
        Self {
            counts: Rc::clone(counts),
            count,
        }
    }
}

impl Drop for CountGuard {
    fn drop(&mut self) {
        let cell = (self.count)(&self.counts);
        cell.set(cell.get() - 1);
        if self.counts.waiting.get() > 0 {
            self.counts.changed.notify_waiters();
        }
    }
}

/// An open connection.
struct Link {
    sender: SendRequest<Bytes>,
    streams: Cell<u32>,
    requests: Cell<u32>,
    opened: MonoTime,
    /// Whether it takes no further request.
    closed: Cell<bool>,
    silence: Silence,
}

/// A slot among the streams of a connection.
pub(crate) struct StreamSlot {
    link: Rc<Link>,
    _stream: CountGuard,
}

impl Drop for StreamSlot {
    fn drop(&mut self) {
        self.link.streams.set(self.link.streams.get() - 1);
        if self.link.silence.is_long() {
            // Calls in flight keep it open until they end.
            self.link.closed.set(true);
        }
    }
}

/// How an exchange ended without an answer.
enum Failed {
    /// The target has not begun with the request.
    Unsent(ErrorClass),
    /// The target may have begun with it.
    Begun(ErrorClass),
}

impl Http2 {
    pub(crate) fn new(program: Arc<Program>, dialer: Rc<Dialer>, quota: ConnectionQuota) -> Self {
        Self {
            program,
            dialer,
            quota,
            links: RefCell::default(),
            counts: Rc::default(),
            allowed_max: Cell::new(usize::MAX),
        }
    }

    /// Takes over a connection on which HTTP/2 was agreed, and the first slot on it.
    ///
    /// # Errors
    /// The target does not begin the connection as HTTP/2 requires.
    pub(crate) async fn adopt(&self, stream: Stream) -> Result<StreamSlot, ErrorClass> {
        let connection = CountGuard::new(&self.counts, |counts| &counts.connections);
        let link = self.link(stream, connection).await?;
        Ok(self.first_slot(link))
    }

    /// Takes over an unused connection that any call may use.
    ///
    /// # Errors
    /// The target does not begin the connection as HTTP/2 requires.
    pub(crate) async fn keep(&self, stream: Stream) -> Result<(), ErrorClass> {
        let connection = CountGuard::new(&self.counts, |counts| &counts.connections);
        let link = self.link(stream, connection).await?;
        self.list(link);
        Ok(())
    }

    fn first_slot(&self, link: Rc<Link>) -> StreamSlot {
        let slot = self.take_slot(&link);
        self.list(link);
        slot
    }

    /// Lists a connection for calls, if it may take any.
    fn list(&self, link: Rc<Link>) {
        if self.takes_more(&link) {
            self.links.borrow_mut().push(link);
        }
    }

    async fn link(&self, stream: Stream, counted: CountGuard) -> Result<Rc<Link>, ErrorClass> {
        let mut builder = Builder::new();
        builder
            .enable_push(false)
            .initial_window_size(STREAM_WINDOW_BYTES)
            .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
            .max_header_list_size(HEADERS_BYTES_MAX)
            .max_concurrent_reset_streams(RESET_STREAMS_MAX)
            // By default h2 ends a connection after 1,024 late answers (hyperium/h2#856). A load
            // test must be able to measure a target that is slow at times.
            .max_local_error_reset_streams(None);
        let silence = Silence::default();
        let stream = HeardStream {
            stream,
            silence: silence.clone(),
        };
        // Boxed, since hardly any call opens a connection.
        let (sender, connection) = Box::pin(builder.handshake(stream))
            .await
            .map_err(|error| classify(&error))?;
        let link = Rc::new(Link {
            sender,
            streams: Cell::new(0),
            requests: Cell::new(0),
            opened: MonoTime::now(),
            closed: Cell::new(false),
            silence,
        });
        let driven = Rc::downgrade(&link);
        tokio::task::spawn_local(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "connection ended");
            }
            if let Some(link) = driven.upgrade() {
                link.closed.set(true);
            }
            drop(counted);
        });
        Ok(link)
    }

    /// Sends on a slot of a connection that was opened for it; otherwise as [`Wire::send`].
    pub(crate) async fn send_on(
        &self,
        slot: StreamSlot,
        order: &Order<'_>,
        trace: &mut Trace,
    ) -> Result<u16, ErrorClass> {
        trace.phases.connection = Some(ConnectionUse::Opened);
        self.send_from(slot, order, trace).await
    }

    async fn send_from(
        &self,
        slot: StreamSlot,
        order: &Order<'_>,
        trace: &mut Trace,
    ) -> Result<u16, ErrorClass> {
        match self.exchange(&slot, order, trace).await {
            Ok(status) => return Ok(status),
            Err(Failed::Begun(class)) => return Err(class),
            Err(Failed::Unsent(_)) => drop(slot),
        }
        let slot = self.slot(order, trace).await?;
        match self.exchange(&slot, order, trace).await {
            Ok(status) => Ok(status),
            Err(Failed::Begun(class) | Failed::Unsent(class)) => Err(class),
        }
    }

    /// A slot on an open connection; opens one if there is none.
    async fn slot(&self, order: &Order<'_>, trace: &mut Trace) -> Result<StreamSlot, ErrorClass> {
        if !order.may_reuse {
            self.retire();
            return self.open(order.progress, trace).await;
        }
        trace.phases.connection = Some(ConnectionUse::Reused);
        if let Some(slot) = self.free_slot() {
            return Ok(slot);
        }
        order.progress.enter(Stage::Queueing);
        let _waiting = CountGuard::new(&self.counts, |counts| &counts.waiting);
        loop {
            let changed = self.counts.changed.notified();
            if let Some(slot) = self.free_slot() {
                return Ok(slot);
            }
            if self.needs_connection() {
                return self.open(order.progress, trace).await;
            }
            changed.await;
        }
    }

    async fn open(&self, progress: &Progress, trace: &mut Trace) -> Result<StreamSlot, ErrorClass> {
        let _opening = CountGuard::new(&self.counts, |counts| &counts.opening);
        let connection = CountGuard::new(&self.counts, |counts| &counts.connections);
        trace.phases.connection = None;
        let stream = self.dialer.open(Offer::Http2, progress, trace).await?;
        let link = self.link(stream, connection).await?;
        trace.phases.connection = Some(ConnectionUse::Opened);
        Ok(self.first_slot(link))
    }

    /// Whether another connection may be opened, and more calls wait than the connections being
    /// opened can carry.
    fn needs_connection(&self) -> bool {
        let counts = &self.counts;
        let to_come = counts
            .opening
            .get()
            .saturating_mul(self.slots_of_new_connection());
        to_come < counts.waiting.get() && counts.connections.get() < self.quota.connections_max()
    }

    /// Number of concurrent calls on a connection that is not open yet, as far as it is known.
    fn slots_of_new_connection(&self) -> usize {
        let settings = &self.program.connections;
        let most = self
            .streams_max()
            .min(settings.requests_max.unwrap_or(u32::MAX));
        (most as usize).min(self.allowed_max.get())
    }

    fn streams_max(&self) -> u32 {
        self.program.connections.streams_max.unwrap_or(STREAMS_MAX)
    }

    /// Number of concurrent calls on a connection.
    fn slots_of(&self, link: &Link) -> usize {
        // If the target allows no stream for a while, a request is still sent; the call then waits.
        let allowed_max = link.sender.current_max_send_streams().max(1);
        self.allowed_max.set(allowed_max);
        allowed_max.min(self.streams_max() as usize)
    }

    fn free_slot(&self) -> Option<StreamSlot> {
        let mut links = self.links.borrow_mut();
        let at = self.find_free(&mut links)?;
        let slot = self.take_slot(&links[at]);
        if !self.takes_more(&links[at]) {
            links.swap_remove(at);
        }
        Some(slot)
    }

    /// Gives up the connection that the call would otherwise use: the call represents a new client
    /// in the place of one that left.
    fn retire(&self) {
        let mut links = self.links.borrow_mut();
        if let Some(at) = self.find_free(&mut links) {
            links.swap_remove(at);
        }
    }

    fn find_free(&self, links: &mut Vec<Rc<Link>>) -> Option<usize> {
        links.retain(|link| self.takes_more(link));
        let mut listed = links.iter();
        listed.position(|link| (link.streams.get() as usize) < self.slots_of(link))
    }

    /// Takes a free slot.
    fn take_slot(&self, link: &Rc<Link>) -> StreamSlot {
        link.streams.set(link.streams.get() + 1);
        link.requests.set(link.requests.get() + 1);
        link.silence.begin();
        StreamSlot {
            link: Rc::clone(link),
            _stream: CountGuard::new(&self.counts, |counts| &counts.streams),
        }
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
        slot: &StreamSlot,
        order: &Order<'_>,
        trace: &mut Trace,
    ) -> Result<u16, Failed> {
        let link = &slot.link;
        let unsent = |error: h2::Error| {
            link.closed.set(true);
            Failed::Unsent(classify(&error))
        };
        let template = order.call.http2();
        order.progress.enter(Stage::Queueing);
        let mut sender = link.sender.clone().ready().await.map_err(unsent)?;
        order.progress.enter(Stage::Sending);
        let (request, request_bytes) = template.with_id(order.id.unwrap_or_default());
        let has_body = !template.body().is_empty();
        let sent = sender.send_request(request, !has_body);
        let (answer, stream) = sent.map_err(unsent)?;
        trace.sent_bytes += request_bytes;
        let mut body = BodySender::new(stream, template.body().clone());
        let (answer, sent_at) = body.send_until(answer, order.progress, trace).await;
        let answer = answer.map_err(|error| {
            let is_unsent = not_begun(&error);
            link.closed.set(link.closed.get() || error.is_go_away());
            match is_unsent {
                true => Failed::Unsent(classify(&error)),
                false => Failed::Begun(classify(&error)),
            }
        })?;
        let answered_at = MonoTime::now();
        order.progress.enter(Stage::Reading);
        trace.phases.first_byte_us = Some(answered_at.since_us(sent_at));
        trace.received_bytes += header_bytes(&answer);
        let status = answer.status().as_u16();
        order.progress.answered(status);
        if let Some(shown) = order.shown
            && shown.borrow().wants(Some(status))
        {
            show(&answer, |part| shown.borrow_mut().add(part));
            shown.borrow_mut().add(b"\r\n");
        }
        if let Some(capture) = order.capture {
            show(&answer, |part| {
                capture.borrow_mut().head.extend_from_slice(part)
            });
        }
        if let Some(location) = order.location.filter(|_| is_redirect(status)) {
            let mut lines = answer.headers().get_all(LOCATION).iter();
            let only = lines.next().filter(|_| lines.next().is_none());
            location.replace(only.map(|value| value.as_bytes().to_vec()));
        }
        let drained = drain(answer, order, trace).await;
        match drained {
            Err(error) if !(has_body && refuses_the_rest(&error)) => {
                return Err(Failed::Begun(classify(&error)));
            }
            _ => trace.phases.last_byte_us = Some(MonoTime::now().since_us(answered_at)),
        }
        Ok(status)
    }
}

impl Wire for Http2 {
    async fn send(&self, order: &Order<'_>, trace: &mut Trace) -> Result<u16, ErrorClass> {
        let slot = self.slot(order, trace).await?;
        self.send_from(slot, order, trace).await
    }

    /// With a limit on connections: the slots of the listed connections and of those that may still
    /// be opened, plus the streams on connections that are ending.
    fn calls_max(&self) -> usize {
        let Some(connections_max) = self.quota.max else {
            return usize::MAX;
        };
        let (mut listed, mut streams, mut slots) = (0, 0, 0);
        for link in self
            .links
            .borrow()
            .iter()
            .filter(|link| self.takes_more(link))
        {
            let here = link.streams.get() as usize;
            let most = self.program.connections.requests_max.unwrap_or(u32::MAX);
            let left = (most - link.requests.get()) as usize;
            slots += self.slots_of(link).min(here.saturating_add(left));
            streams += here;
            listed += 1;
        }
        let counts = &self.counts;
        let ending = counts.connections.get() - counts.opening.get() - listed;
        let room = (connections_max as usize).saturating_sub(listed + ending);
        let on_ending = counts.streams.get() - streams;
        let calls_max = slots + room.saturating_mul(self.slots_of_new_connection()) + on_ending;
        calls_max.max(1)
    }

    async fn preconnect(&self) -> Preconnected {
        let open = || async {
            let stream = self.dialer.open_unused(Offer::Http2).await?;
            self.keep(stream).await
        };
        preconnect::preconnect(&self.dialer, self.quota.open_first, open).await
    }

    /// There are few connections, so unused ones stay open.
    fn close_idle(&self, _unused_since: MonoTime) -> usize {
        let mut links = self.links.borrow_mut();
        links.retain(|link| self.takes_more(link));
        0
    }
}
