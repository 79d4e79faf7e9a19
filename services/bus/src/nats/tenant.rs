//! How a user reads whom the server confines to the subjects of one tenant (ADR 0062).
//!
//! A server restricts subjects, but nothing inside a payload. So every request here names in its
//! subject what it reads: a consumer names its one filter, a direct read names its message. Names
//! of consumers are random, and no such user can list them.

use std::sync::Arc;
use std::time::Duration;

use async_nats::StatusCode;
use async_nats::jetstream::consumer::pull::Config;
use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy};
use async_nats::jetstream::message::StreamMessage;
use async_nats::jetstream::stream::DirectGetErrorKind;
use nkeys::KeyPair;
use tokio::time::{Instant, timeout};

use super::{ACK_TIMEOUT, Nats, api};
use crate::pattern::cover;
use crate::{Fault, Reach, Step, Stored, Stream};

/// Time after which the server removes a consumer that was created to read the head of a stream.
const HEAD_INACTIVE_THRESHOLD: Duration = Duration::from_secs(5);
/// Key in the bucket under which the creation time of a stream is stored. Names of tenants are in
/// lower case, so that it is not the key of any tenant.
const CREATED_KEY: &str = "CREATED";

impl Nats {
    /// Determines by one request whether the server confines this user to one tenant.
    pub(super) async fn find_reach(&mut self) {
        let Reach::Within(filter) = self.options.reach.clone() else {
            return;
        };
        let subject = self.api(&format!("STREAM.INFO.{}", self.options.names.ctl));
        let sent_at = Instant::now();
        let answer = self.client.request(subject.clone(), "".into());
        let is_denied = tokio::select! {
            _ = answer => false,
            _ = self.line.denied(&subject, sent_at) => true,
        };
        self.within = is_denied.then(|| Arc::from(filter));
    }

    /// One filter that covers `subjects`; `None` if the server does not confine this user. The
    /// filter may select further events.
    pub(super) fn one_filter(&self, subjects: &[String]) -> Option<String> {
        let within = self.within.as_deref()?;
        Some(match subjects {
            [] => within.to_owned(),
            several => cover(several),
        })
    }

    /// Name of a consumer that cannot be guessed: any user that knows the name can read from it.
    pub(super) fn consumer_name(&self) -> Result<String, Fault> {
        // Half of a new key: the client library already contains this generator.
        let random = KeyPair::new_user().public_key();
        random.get(1..33).map(str::to_owned).ok_or(Fault::Server {
            what: "name a consumer".to_owned(),
            why: "the generator made a short key".to_owned(),
        })
    }

    /// Sequence of the last event of `stream`, of any subject: a consumer of new events under
    /// `filter` begins directly after it.
    pub(super) async fn head_within(&self, stream: Stream, filter: &str) -> Result<u64, Fault> {
        let asset = self.options.names.of(stream);
        let what = format!("read the head of {asset}");
        let config = Config {
            name: Some(self.consumer_name()?),
            deliver_policy: DeliverPolicy::New,
            ack_policy: AckPolicy::None,
            filter_subject: filter.to_owned(),
            inactive_threshold: HEAD_INACTIVE_THRESHOLD,
            num_replicas: 1,
            memory_storage: true,
            ..Config::default()
        };
        let consumer = self.create_consumer(config, asset, &what).await?;
        let info = consumer.cached_info();
        let (nats, name) = (self.clone(), info.name.clone());
        let head = info.delivered.stream_sequence;
        let asset = asset.to_owned();
        tokio::spawn(async move {
            let delete = nats.jetstream.delete_consumer_from_stream(&name, &asset);
            let _ = timeout(ACK_TIMEOUT, delete).await;
        });
        Ok(head)
    }

    /// The last event of exactly this subject, read through a consumer: the streams of the log
    /// allow no direct reads.
    pub(super) async fn last_within(
        &self,
        stream: Stream,
        subject: &str,
    ) -> Result<Option<Stored>, Fault> {
        let mut tail = self.tail(stream, vec![subject.to_owned()], 1).await?;
        let mut last = None;
        loop {
            match tail.next().await? {
                Step::Event(stored) => last = Some(stored),
                Step::CaughtUp => return Ok(last),
            }
        }
    }

    /// The last message of exactly this subject, from any copy of the asset.
    pub(super) async fn direct(
        &self,
        asset: &str,
        subject: &str,
    ) -> Result<Option<StreamMessage>, Fault> {
        self.line.must_be_up()?;
        let what = || format!("read the last of {subject}");
        let handle = self.jetstream.get_stream_no_info(asset).await;
        let handle = handle.map_err(|err| api::fault(&what(), &err))?;
        let sent_at = Instant::now();
        let requested = self.api(&format!("DIRECT.GET.{asset}.{subject}"));
        let found = tokio::select! {
            found = handle.direct_get_last_for_subject(subject) => found,
            denied = self.line.denied(&requested, sent_at) => return Err(denied),
        };
        match found {
            Ok(found) => Ok(Some(found)),
            Err(err) if matches!(err.kind(), DirectGetErrorKind::NotFound) => Ok(None),
            Err(err) if is_unanswered(&err.kind()) => Err(Fault::Unanswered {
                stream: asset.to_owned(),
            }),
            Err(err) => Err(api::fault(&what(), &err)),
        }
    }

    /// The last event of exactly this subject, from the leader or, for a confined user, any copy.
    pub(super) async fn last_of(
        &self,
        asset: &str,
        subject: &str,
    ) -> Result<Option<Stored>, Fault> {
        if self.within.is_none() {
            return self.last_in(asset, subject).await;
        }
        Ok(self.direct(asset, subject).await?.map(api::stored))
    }

    /// Creates bucket and object store. Stores the creation time of each stream where confined
    /// users can read it.
    pub(crate) async fn open_stores(&self) -> Result<(), Fault> {
        self.open_bucket().await?;
        self.open_objects().await?;
        for stream in Stream::ALL {
            let key = self.created_key(stream);
            let created = self.created(stream).await?.to_string();
            let stored = self.last_in(&self.bucket_asset(), &key).await?;
            if stored.is_none_or(|stored| stored.payload != created.as_bytes()) {
                let to = self.kv_target(&key);
                let put = async { self.jetstream.publish(to, created.into()).await?.await };
                let put = timeout(ACK_TIMEOUT, put).await;
                let what = "store when the log was created";
                let put = put.map_err(|_| Fault::TimedOut {
                    what: what.to_owned(),
                })?;
                put.map_err(|err| api::fault(what, &err))?;
            }
        }
        Ok(())
    }

    /// Time of the stream's creation as [`Nats::open_stores`] stored it.
    pub(super) async fn stored_creation(&self, stream: Stream) -> Result<u64, Fault> {
        let asset = self.options.names.of(stream);
        let found = self
            .direct(&self.bucket_asset(), &self.created_key(stream))
            .await?;
        let Some(found) = found else {
            return Err(Fault::Missing {
                stream: asset.to_owned(),
            });
        };
        let text = String::from_utf8_lossy(&found.payload);
        text.parse().map_err(|_| Fault::Server {
            what: format!("read when {asset} was created"),
            why: "what is stored is not a number".to_owned(),
        })
    }

    fn created_key(&self, stream: Stream) -> String {
        let names = &self.options.names;
        format!("$KV.{}.{CREATED_KEY}.{}", names.kv, names.of(stream))
    }
}

/// Whether nothing listens on the subject of a read.
fn is_unanswered(kind: &DirectGetErrorKind) -> bool {
    matches!(kind, DirectGetErrorKind::ErrorResponse(status, _)
        if *status == StatusCode::NO_RESPONDERS)
}
