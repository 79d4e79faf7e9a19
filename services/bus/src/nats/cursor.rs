//! One ephemeral ordered consumer: the shortest-lived part of a tail.
//!
//! It delivers events in order until it detects a gap, and reports the gap. It must never skip an
//! event and never deliver one twice. The tail creates the next one.
//!
//! The cursor requests events in batches and has one request open at a time, so that a reader that
//! is slower than the server holds [`BATCH_BYTES`] and not the 32 MiB that the server would push.

use std::time::Duration;

use async_nats::jetstream::consumer::pull::{BatchConfig, BatchRequestError, Config};
use async_nats::jetstream::consumer::{AckPolicy, Consumer, DeliverPolicy, ReplayPolicy};
use async_nats::jetstream::stream::ConsumerErrorKind;
use async_nats::jetstream::{self, ErrorCode};
use async_nats::{Message, StatusCode, Subscriber};
use futures_util::StreamExt;
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

use super::{Nats, api};
use crate::{Fault, Link, Stored, Stream};

/// Interval of the server's heartbeats while it has nothing to deliver.
const HEARTBEAT_INTERVAL: Duration = Duration::from_millis(500);
/// Timeout for the next event or heartbeat, after which the consumer counts as lost.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(2);
/// Subject for which a user lacks the permission if the server lets it create a consumer but not
/// read from it.
const NEXT: &str = "CONSUMER.MSG.NEXT";
/// Maximum number of events of one request.
const BATCH_EVENTS: usize = 1024;
/// Maximum size of the events of one request, in bytes.
const BATCH_BYTES: usize = 2 * 1024 * 1024;
/// Time after which an unfinished request ends, and the next one follows.
const REQUEST_EXPIRY: Duration = Duration::from_secs(10);
/// Time after which the server removes a consumer without a request.
const INACTIVE_THRESHOLD: Duration = Duration::from_secs(30);

/// Selection of events.
#[derive(Clone, Debug)]
pub(super) struct Spec {
    pub(super) stream: Stream,
    pub(super) subjects: Vec<String>,
    /// Sequence of the first event to deliver.
    pub(super) from_seq: u64,
}

/// A consumer on the server and the subscription to its deliveries.
#[derive(Debug)]
pub(super) struct Cursor {
    nats: Nats,
    consumer: Consumer<Config>,
    deliveries: Subscriber,
    inbox: String,
    requested_at: Instant,
    /// Number of deliveries before the open request.
    delivered_before: u64,
    /// Number of deliveries so far. The server numbers them, which reveals a gap.
    delivered: u64,
    /// Number of matching events when the consumer was created.
    pub(super) pending_at_start: u64,
    link: watch::Receiver<Link>,
    /// Connection on which the consumer was created.
    opened_on: Link,
}

/// Outcome of [`Cursor::next`].
#[derive(Debug)]
pub(super) enum Delivery {
    /// The next event, and the number of further matching events.
    Event(Stored, u64),
    /// Nothing to deliver for now.
    Idle,
    /// An event was missed, or the consumer is gone: the tail creates another.
    Broken,
    /// The server lets this user create a consumer but not read from it.
    Denied(Fault),
}

impl Cursor {
    pub(super) async fn open(nats: &Nats, spec: &Spec) -> Result<Cursor, Fault> {
        let mut link = nats.watch_link();
        let opened_on = *link.borrow_and_update();
        nats.line.must_be_up()?;
        let asset = nats.options.names.of(spec.stream).to_owned();
        let what = || format!("read {asset}");
        let inbox = nats.client.new_inbox();
        let name = match nats.within.is_some() {
            true => nats.consumer_name()?,
            false => format!("tail_{}", inbox.rsplit('.').next().unwrap_or_default()),
        };
        let deliveries = nats.client.subscribe(inbox.clone()).await;
        let deliveries = deliveries.map_err(|err| api::fault(&what(), &err))?;
        let filters = match nats.one_filter(&spec.subjects) {
            Some(one) => vec![one],
            None => spec.subjects.clone(),
        };
        let config = config(&name, &filters, spec.from_seq);
        let consumer = nats.create_consumer(config, &asset, &what()).await?;
        let mut cursor = Cursor {
            nats: nats.clone(),
            pending_at_start: consumer.cached_info().num_pending,
            consumer,
            deliveries,
            inbox,
            requested_at: Instant::now(),
            delivered_before: 0,
            delivered: 0,
            link,
            opened_on,
        };
        let limits = (BATCH_EVENTS, BATCH_BYTES);
        let requested = cursor.request(limits).await;
        requested.map_err(|err| api::fault(&what(), &err))?;
        Ok(cursor)
    }

    /// Requests up to `batch` events and `max_bytes` bytes. Without a limit of bytes, the server
    /// would not report the end of a request.
    async fn request(
        &mut self,
        (batch, max_bytes): (usize, usize),
    ) -> Result<(), BatchRequestError> {
        self.requested_at = Instant::now();
        self.delivered_before = self.delivered;
        let request = BatchConfig {
            batch,
            max_bytes,
            expires: Some(REQUEST_EXPIRY),
            idle_heartbeat: HEARTBEAT_INTERVAL,
            ..BatchConfig::default()
        };
        let inbox = self.inbox.clone().into();
        self.consumer.request_batch(request, inbox).await
    }

    /// The next delivery. Must not be cancelled half-way: the tail's task owns the cursor.
    pub(super) async fn next(&mut self) -> Delivery {
        let silent_at = Instant::now() + SILENCE_TIMEOUT;
        loop {
            let message = tokio::select! {
                biased;
                _ = reconnected(&mut self.link, self.opened_on) => return Delivery::Broken,
                message = tokio::time::timeout_at(silent_at, self.deliveries.next()) => message,
            };
            let Ok(Some(message)) = message else {
                let requested = self.nats.api(NEXT);
                let denial = self.nats.line.denial(&requested, self.requested_at);
                return denial.map_or(Delivery::Broken, Delivery::Denied);
            };
            return match message.status {
                None => self.event(message),
                Some(StatusCode::IDLE_HEARTBEAT) => self.heartbeat(&message),
                Some(status) if header(&message, "Nats-Pending-Messages").is_some() => {
                    match self.request_next(status).await {
                        Ok(()) => continue,
                        Err(_) => Delivery::Broken,
                    }
                }
                Some(_) => Delivery::Broken,
            };
        }
    }

    /// Sends the request after one that the server has ended with `status`. If that one ended
    /// before it expired and brought no event, the next event is larger than its limit of bytes.
    async fn request_next(&mut self, status: StatusCode) -> Result<(), BatchRequestError> {
        let is_too_large = status != StatusCode::TIMEOUT && self.delivered == self.delivered_before;
        let limits = match is_too_large {
            true => (1, u32::MAX as usize),
            false => (BATCH_EVENTS, BATCH_BYTES),
        };
        self.request(limits).await
    }

    fn event(&mut self, message: Message) -> Delivery {
        let context = self.nats.jetstream.clone();
        let message = jetstream::Message { message, context };
        let Ok(info) = message.info() else {
            return Delivery::Broken;
        };
        if info.consumer_sequence != self.delivered + 1 {
            return Delivery::Broken;
        }
        self.delivered = info.consumer_sequence;
        let stored = Stored {
            subject: message.subject.to_string(),
            seq: info.stream_sequence,
            stored_at_us: api::micros(info.published.unix_timestamp_nanos()),
            payload: message.payload.clone(),
        };
        Delivery::Event(stored, info.pending)
    }

    /// Compares the count of deliveries with the server's.
    fn heartbeat(&self, message: &Message) -> Delivery {
        let sent = header(message, "Nats-Last-Consumer").and_then(|sent| sent.parse().ok());
        if sent == Some(self.delivered) {
            Delivery::Idle
        } else {
            Delivery::Broken
        }
    }

    /// Number of stored events that are not delivered yet, as the server counts them.
    pub(super) async fn pending(&mut self) -> Result<u64, Fault> {
        let info = self.consumer.info().await;
        let info = info.map_err(|err| api::fault("read a consumer", &err))?;
        let undelivered = info
            .delivered
            .consumer_sequence
            .saturating_sub(self.delivered);
        Ok(info.num_pending + undelivered)
    }

    /// Removes the consumer; if that fails, the server removes it after [`INACTIVE_THRESHOLD`].
    pub(super) fn close(self) {
        tokio::spawn(async move {
            let info = self.consumer.cached_info();
            let delete = self
                .nats
                .jetstream
                .delete_consumer_from_stream(&info.name, &info.stream_name);
            let _ = timeout(SILENCE_TIMEOUT, delete).await;
        });
    }
}

impl Nats {
    /// Creates a consumer of the stream called `asset`.
    pub(super) async fn create_consumer(
        &self,
        config: Config,
        asset: &str,
        what: &str,
    ) -> Result<Consumer<Config>, Fault> {
        let sent_at = Instant::now();
        let requested = self.api(&format!("CONSUMER.CREATE.{asset}"));
        let created = tokio::select! {
            created = self.jetstream.create_consumer_on_stream(config, asset) => created,
            denied = self.line.denied(&requested, sent_at) => return Err(denied),
        };
        created.map_err(|err| match err.kind() {
            ConsumerErrorKind::JetStream(reason)
                if reason.error_code() == ErrorCode::STREAM_NOT_FOUND =>
            {
                Fault::Missing {
                    stream: asset.to_owned(),
                }
            }
            _ => api::fault(what, &err),
        })
    }
}

/// Waits until the client has reconnected since `opened_on`.
async fn reconnected(link: &mut watch::Receiver<Link>, opened_on: Link) {
    let other = |link: &Link| link.is_up() && *link != opened_on;
    if link.wait_for(other).await.is_err() {
        // The client is dropped: the subscription ends, and `next` returns for that reason.
        std::future::pending::<()>().await;
    }
}

fn header<'a>(message: &'a Message, name: &str) -> Option<&'a str> {
    let headers = message.headers.as_ref()?;
    headers.get_last(name).map(|value| value.as_str())
}

fn config(name: &str, filters: &[String], from_seq: u64) -> Config {
    let (filter_subject, filter_subjects) = match filters {
        [one] => (one.clone(), Vec::new()),
        several => (String::new(), several.to_vec()),
    };
    Config {
        name: Some(name.to_owned()),
        deliver_policy: DeliverPolicy::ByStartSequence {
            start_sequence: from_seq.max(1),
        },
        ack_policy: AckPolicy::None,
        max_deliver: 1,
        filter_subject,
        filter_subjects,
        replay_policy: ReplayPolicy::Instant,
        inactive_threshold: INACTIVE_THRESHOLD,
        num_replicas: 1,
        memory_storage: true,
        ..Config::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Options;
    use crate::testserver::{NoServer, TestServer};
    use bytes::Bytes;

    /// Broken if the cursor delivers an event behind a gap, or takes a heartbeat with a higher
    /// count for an idle one.
    #[tokio::test]
    async fn a_gap_breaks_the_cursor() {
        let Some(server) = TestServer::start_or_skip("a_gap_breaks_the_cursor") else {
            return;
        };
        let nats = Nats::connect(&server.options()).await.expect("connects");
        nats.open_log().await.expect("opens");
        let spec = Spec {
            stream: Stream::Ctl,
            subjects: vec![],
            from_seq: 1,
        };
        for lost in [0, 3] {
            let mut cursor = Cursor::open(&nats, &spec).await.expect("a consumer");
            cursor.delivered = lost;
            let is_idle = matches!(cursor.next().await, Delivery::Idle);
            assert_eq!(is_idle, lost == 0, "heartbeat, {lost} lost");
        }
        let subject = "lp.local.run.R.ctl";
        nats.append(Stream::Ctl, subject, "id", Bytes::new())
            .await
            .expect("appends");
        for lost in [0, 3] {
            let mut cursor = Cursor::open(&nats, &spec).await.expect("a consumer");
            cursor.delivered = lost;
            let is_delivered = matches!(cursor.next().await, Delivery::Event(..));
            assert_eq!(is_delivered, lost == 0, "event, {lost} lost");
        }
    }

    /// Broken if the cursor stops after its first request, or at an event that is larger than one
    /// request allows, or if the server sends more than a request allows to a slow reader.
    #[tokio::test]
    async fn requests_follow_each_other_and_bound_what_waits() {
        const SUBJECT: &str = "lp.local.run.R.ctl";
        let server = TestServer::start_open_to("max_payload: 4194304");
        let server = match server {
            Ok(server) => server,
            Err(NoServer::NotFound) => return eprintln!("SKIPPED: {}", NoServer::NotFound),
            Err(failed) => panic!("{failed}"),
        };
        let nats = Nats::connect(&Options::new(&server.url)).await;
        let nats = nats.expect("connects");
        nats.open_log().await.expect("opens");
        let small = vec![10; BATCH_EVENTS + 1];
        let large = vec![BATCH_BYTES / 4; 9];
        let sizes = [small, vec![BATCH_BYTES + 1], large].concat();
        for (number, size) in sizes.iter().enumerate() {
            let payload = Bytes::from(vec![0; *size]);
            let id = number.to_string();
            let stored = nats.append(Stream::Ctl, SUBJECT, &id, payload);
            stored.await.expect("appends");
        }
        let spec = Spec {
            stream: Stream::Ctl,
            subjects: vec![],
            from_seq: 1,
        };
        let mut cursor = Cursor::open(&nats, &spec).await.expect("a consumer");
        for size in sizes {
            match cursor.next().await {
                Delivery::Event(stored, _) => assert_eq!(stored.payload.len(), size),
                other => panic!("{other:?} after {} events", cursor.delivered),
            }
        }
        assert!(matches!(cursor.next().await, Delivery::Idle));

        // Of the nine large events, one request brings three while none of them is read.
        let from_seq = BATCH_EVENTS as u64 + 3;
        let spec = Spec { from_seq, ..spec };
        let mut slow = Cursor::open(&nats, &spec).await.expect("a consumer");
        let info = async |cursor: &mut Cursor| {
            let info = cursor.consumer.info().await.expect("its consumer");
            info.delivered.consumer_sequence
        };
        while info(&mut slow).await < 3 {}
        // The server answers in order: had it sent more, its next answers would show that.
        for _ in 0..20 {
            assert_eq!(info(&mut slow).await, 3);
        }
    }

    /// Broken if a user without permission to read waits for ever and gets no reason.
    #[tokio::test]
    async fn a_user_that_may_not_read_is_told() {
        let server = TestServer::start_with(
            "users = [{user: a, password: b, permissions: {publish: {deny: \
             \"$JS.API.CONSUMER.MSG.NEXT.>\"}}}]",
        );
        let server = match server {
            Ok(server) => server,
            Err(NoServer::NotFound) => return eprintln!("SKIPPED: {}", NoServer::NotFound),
            Err(failed) => panic!("{failed}"),
        };
        let options = Options {
            token: Some("a:b".to_owned()),
            ..Options::new(&server.url)
        };
        let nats = Nats::connect(&options).await.expect("connects");
        nats.open_log().await.expect("opens");
        let mut tail = nats.tail(Stream::Ctl, vec![], 1).await.expect("a tail");
        let mut steps = Vec::new();
        while !matches!(steps.last(), Some(Err(_))) {
            steps.push(tail.next().await);
        }
        let denied = steps.pop();
        let is_named =
            matches!(&denied, Some(Err(Fault::Denied { what, .. })) if what.ends_with(NEXT));
        assert!(is_named, "{denied:?}");
    }
}
