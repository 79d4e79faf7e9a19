//! One ephemeral ordered consumer: the shortest-lived part of a tail.
//!
//! It delivers events in order until it detects a gap, and reports the gap. It must never skip an
//! event and never deliver one twice. The tail creates the next one.

use std::time::Duration;

use async_nats::jetstream::consumer::push::Config;
use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy, ReplayPolicy};
use async_nats::jetstream::stream::ConsumerErrorKind;
use async_nats::jetstream::{self, ErrorCode};
use async_nats::{HeaderMap, StatusCode, Subscriber};
use bytes::Bytes;
use futures_util::StreamExt;
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

use super::{Nats, api};
use crate::{Fault, Link, Stored, Stream};

/// Interval of the server's heartbeats while it has nothing to deliver.
const HEARTBEAT_INTERVAL: Duration = Duration::from_millis(500);
/// Timeout for the next event or heartbeat, after which the consumer counts as lost.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(2);
/// Time after which the server removes a consumer without a subscriber.
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
    asset: String,
    name: String,
    deliveries: Subscriber,
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
}

impl Cursor {
    pub(super) async fn open(nats: &Nats, spec: &Spec) -> Result<Cursor, Fault> {
        let mut link = nats.watch_link();
        let opened_on = *link.borrow_and_update();
        nats.line.must_be_up()?;
        let asset = nats.options.names.of(spec.stream).to_owned();
        let what = || format!("read {asset}");
        let inbox = nats.client.new_inbox();
        let name = format!("tail_{}", inbox.rsplit('.').next().unwrap_or_default());
        let deliveries = nats.client.subscribe(inbox.clone()).await;
        let deliveries = deliveries.map_err(|err| api::fault(&what(), &err))?;
        let config = consumer(&name, inbox, spec);
        let consumer = nats
            .jetstream
            .create_consumer_on_stream(config, &asset)
            .await;
        let consumer = consumer.map_err(|err| match err.kind() {
            ConsumerErrorKind::JetStream(reason)
                if reason.error_code() == ErrorCode::STREAM_NOT_FOUND =>
            {
                Fault::Missing {
                    stream: asset.clone(),
                }
            }
            _ => api::fault(&what(), &err),
        })?;
        Ok(Cursor {
            nats: nats.clone(),
            asset,
            name,
            deliveries,
            delivered: 0,
            pending_at_start: consumer.cached_info().num_pending,
            link,
            opened_on,
        })
    }

    /// The next delivery. Not to be cancelled half-way: the tail's task owns it.
    pub(super) async fn next(&mut self) -> Delivery {
        let silent_at = Instant::now() + SILENCE_TIMEOUT;
        loop {
            let message = tokio::select! {
                biased;
                _ = reconnected(&mut self.link, self.opened_on) => return Delivery::Broken,
                message = tokio::time::timeout_at(silent_at, self.deliveries.next()) => message,
            };
            let Ok(Some(message)) = message else {
                return Delivery::Broken;
            };
            let delivery = match message.status {
                None => self.event(message),
                Some(StatusCode::IDLE_HEARTBEAT) => self.heartbeat(message).await,
                Some(_) => Some(Delivery::Broken),
            };
            if let Some(delivery) = delivery {
                return delivery;
            }
        }
    }

    fn event(&mut self, message: async_nats::Message) -> Option<Delivery> {
        let context = self.nats.jetstream.clone();
        let message = jetstream::Message { message, context };
        let Ok(info) = message.info() else {
            return Some(Delivery::Broken);
        };
        if info.consumer_sequence != self.delivered + 1 {
            return Some(Delivery::Broken);
        }
        self.delivered = info.consumer_sequence;
        let stored = Stored {
            subject: message.subject.to_string(),
            seq: info.stream_sequence,
            stored_at_us: api::micros(info.published.unix_timestamp_nanos()),
            payload: message.payload.clone(),
        };
        Some(Delivery::Event(stored, info.pending))
    }

    /// Replies to flow control, or compares the count of deliveries in a plain heartbeat.
    async fn heartbeat(&self, message: async_nats::Message) -> Option<Delivery> {
        if let Some(reply) = message.reply {
            self.reply(reply.to_string()).await;
            return None;
        }
        let headers = message.headers.unwrap_or_default();
        if let Some(stalled) = header(&headers, "Nats-Consumer-Stalled") {
            self.reply(stalled.to_owned()).await;
            return None;
        }
        let sent = header(&headers, "Nats-Last-Consumer").and_then(|sent| sent.parse().ok());
        if sent == Some(self.delivered) {
            Some(Delivery::Idle)
        } else {
            Some(Delivery::Broken)
        }
    }

    async fn reply(&self, subject: String) {
        // If the reply is lost, the server requests it again in the next heartbeat.
        let _ = self.nats.client.publish(subject, Bytes::new()).await;
    }

    /// Number of stored events that are not delivered yet, as the server counts them.
    pub(super) async fn pending(&self) -> Result<u64, Fault> {
        let what = || format!("read consumer {}", self.name);
        let stream = self.nats.jetstream.get_stream_no_info(&self.asset).await;
        let stream = stream.map_err(|err| api::fault(&what(), &err))?;
        let info = stream.consumer_info(&self.name).await;
        let info = info.map_err(|err| api::fault(&what(), &err))?;
        let undelivered = info
            .delivered
            .consumer_sequence
            .saturating_sub(self.delivered);
        Ok(info.num_pending + undelivered)
    }

    /// Removes the consumer; if that fails, the server removes it after [`INACTIVE_THRESHOLD`].
    pub(super) fn close(self) {
        tokio::spawn(async move {
            let delete = self
                .nats
                .jetstream
                .delete_consumer_from_stream(&self.name, &self.asset);
            let _ = timeout(SILENCE_TIMEOUT, delete).await;
        });
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

fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get_last(name).map(|value| value.as_str())
}

fn consumer(name: &str, inbox: String, spec: &Spec) -> Config {
    let (filter_subject, filter_subjects) = match spec.subjects.as_slice() {
        [one] => (one.clone(), Vec::new()),
        several => (String::new(), several.to_vec()),
    };
    Config {
        name: Some(name.to_owned()),
        deliver_subject: inbox,
        deliver_policy: DeliverPolicy::ByStartSequence {
            start_sequence: spec.from_seq.max(1),
        },
        ack_policy: AckPolicy::None,
        max_deliver: 1,
        filter_subject,
        filter_subjects,
        replay_policy: ReplayPolicy::Instant,
        flow_control: true,
        idle_heartbeat: HEARTBEAT_INTERVAL,
        inactive_threshold: INACTIVE_THRESHOLD,
        num_replicas: 1,
        memory_storage: true,
        ..Config::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testserver::TestServer;

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
}
