//! Objects: content that may be larger than a message, under a name, until it is removed.
//!
//! The layout is that of NATS' own object stores, so that its tools can list and read them: parts
//! under a subject of their own, then a description under the object's name. The description is
//! stored last, so that an object with a description is complete. Reading leaves no consumer
//! behind. It must never repeat a put by itself.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_nats::header::NATS_ROLLUP;
use async_nats::jetstream::ErrorCode;
use async_nats::jetstream::context::{PublishAckFuture, PublishError, PublishErrorKind};
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::stream::{LastRawMessageErrorKind, Stream as Handle};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE;
use bytes::{Bytes, BytesMut};
use futures_util::future::try_join_all;
use futures_util::{StreamExt, TryStreamExt};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tokio::time::{Instant, timeout};

use super::object_subjects::Parts;
use super::{ACK_TIMEOUT, Nats, api};
use crate::{Fault, Stored};

/// Size of one part in bytes. In base64 it must fit into a message of any usual server.
const PART_BYTES: usize = 256 << 10;
/// Maximum number of parts that wait for their acknowledgement.
const PARTS_IN_FLIGHT_MAX: usize = 16;
/// Maximum number of parts that are requested at the same time, to save round trips to a distant
/// server.
const READS_IN_FLIGHT_MAX: u64 = 8;

/// The description of an object, as object stores write it; other fields are ignored.
#[derive(Debug, Serialize, Deserialize)]
struct Description {
    name: String,
    bucket: String,
    /// Last token of the subject of its parts.
    nuid: String,
    size: u64,
    chunks: u64,
    #[serde(default)]
    digest: String,
    #[serde(default)]
    deleted: bool,
}

/// A description with the message that carries it.
type Described = (Description, Stored);

impl Nats {
    pub(crate) async fn object_put(&self, name: &str, content: Bytes) -> Result<(), Fault> {
        self.line.must_be_up()?;
        if self.within.is_none() {
            self.open_objects().await?;
        }
        // The object of this name is replaced, whether or not its description is readable.
        let before = self.described(name).await.unwrap_or_default();
        let inbox = self.client.new_inbox();
        let description = Description {
            name: name.to_owned(),
            bucket: self.options.names.objects.clone(),
            nuid: inbox.rsplit('.').next().unwrap_or(&inbox).to_owned(),
            size: content.len() as u64,
            chunks: content.len().div_ceil(PART_BYTES) as u64,
            digest: format!(
                "SHA-256={}",
                BASE64_URL_SAFE.encode(Sha256::digest(&content))
            ),
            deleted: false,
        };
        let parts = self.parts_of(&self.description_of(name), &description.nuid)?;
        if let Err(fault) = self.put_parts(name, &parts, content).await {
            return Err(self.without_parts(&parts, fault).await);
        }
        match self.put_description(&description).await {
            Ok(()) => {}
            Err(fault @ Fault::Full { .. }) => {
                return Err(self.without_parts(&parts, fault).await);
            }
            // The description may be stored, and then it needs its parts. If it is not,
            // `object_retain` removes them later.
            Err(fault) => return Err(fault),
        }
        match before {
            Some((before, stored)) if self.within.is_none() => {
                let parts = self.parts_of(&stored.subject, &before.nuid)?;
                self.purge_objects(&parts.all()).await
            }
            // A confined user may not purge: `object_retain` removes loose parts later.
            _ => Ok(()),
        }
    }

    /// Removes the parts of a failed put; if that also fails, `object_retain` removes them later.
    async fn without_parts(&self, parts: &Parts, fault: Fault) -> Fault {
        if self.within.is_none() {
            let _ = self.purge_objects(&parts.all()).await;
        }
        fault
    }

    pub(crate) async fn object_bytes(&self, name: &str) -> Result<Option<u64>, Fault> {
        let found = self.described(name).await?;
        Ok(found.map(|(description, _)| description.size))
    }

    pub(crate) async fn object_touch(&self, name: &str) -> Result<Option<u64>, Fault> {
        let Some((found, stored)) = self.described(name).await? else {
            return Ok(None);
        };
        let message = PublishMessage::build()
            .payload(stored.payload)
            .header(NATS_ROLLUP, "sub")
            .expected_last_subject_sequence(stored.seq)
            .expected_stream(self.objects_asset());
        let sent = self.jetstream.send_publish(stored.subject, message).await;
        let ack = sent.map_err(|err| self.object_fault(name, &err))?;
        match timeout(ACK_TIMEOUT, ack).await {
            Ok(Ok(_ack)) => Ok(Some(found.size)),
            // Another client has just removed it, or put it again: then it is young.
            Ok(Err(err)) if is_conflict(&err) => self.object_bytes(name).await,
            Ok(Err(err)) => Err(self.object_fault(name, &err)),
            Err(_elapsed) => Err(Fault::TimedOut {
                what: format!("touch object {name}"),
            }),
        }
    }

    pub(crate) async fn object_get(
        &self,
        name: &str,
        bytes_max: u64,
    ) -> Result<Option<Bytes>, Fault> {
        let Some((found, stored)) = self.described(name).await? else {
            return Ok(None);
        };
        let broken = |why: String| Fault::Broken {
            name: name.to_owned(),
            why,
        };
        if found.size > bytes_max {
            let why = format!(
                "it has {} bytes, {bytes_max} at most were expected",
                found.size
            );
            return Err(broken(why));
        }
        let parts = self.parts_of(&stored.subject, &found.nuid)?;
        let mut content = BytesMut::new();
        let (mut read, mut from_seq) = (0, 1);
        while read < found.chunks && content.len() as u64 <= found.size {
            // The sequence of the first part is unknown: all requests ahead of it would find that
            // part.
            let count = match read {
                0 if matches!(parts, Parts::Together(_)) => 1,
                read => READS_IN_FLIGHT_MAX.min(found.chunks - read),
            };
            let found_now = match &parts {
                Parts::Together(subject) => self.parts(subject, from_seq, count).await?,
                Parts::Numbered(_) => self.numbered_parts(&parts, read, count).await?,
            };
            let Some((last, _)) = found_now.last_key_value() else {
                let why = format!("part {} of {} is gone", read + 1, found.chunks);
                return Err(broken(why));
            };
            from_seq = last + 1;
            read += found_now.len() as u64;
            found_now
                .values()
                .for_each(|part| content.extend_from_slice(part));
        }
        if content.len() as u64 != found.size {
            let why = format!("its parts are not {} bytes together", found.size);
            return Err(broken(why));
        }
        Ok(Some(content.freeze()))
    }

    pub(crate) async fn object_retain(
        &self,
        prefix: &str,
        keep: &BTreeSet<String>,
        leftovers_after: Duration,
    ) -> Result<u64, Fault> {
        let mut removed = 0;
        let mut owned = BTreeSet::new();
        let mut are_all_readable = true;
        for subject in self.object_subjects("M").await? {
            let found = match self.description(&subject).await {
                Err(Fault::Broken { why, .. }) => {
                    tracing::warn!(
                        subject,
                        why,
                        "unreadable description: it and all loose parts stay"
                    );
                    are_all_readable = false;
                    continue;
                }
                found => found?,
            };
            let Some((description, stored)) = found else {
                continue;
            };
            let parts = match self.parts_of(&subject, &description.nuid) {
                Ok(parts) => parts,
                Err(fault) => {
                    tracing::warn!(%fault, "it and all loose parts stay");
                    are_all_readable = false;
                    continue;
                }
            };
            let name = self.open_name(&subject).unwrap_or(&description.name);
            let is_unneeded = name.starts_with(prefix)
                && !keep.contains(name)
                && age(stored.stored_at_us) >= leftovers_after;
            if is_unneeded && self.remove_description(&stored).await? {
                self.purge_objects(&parts.all()).await?;
                removed += 1;
            } else {
                owned.insert(parts);
            }
        }
        if !are_all_readable {
            // Any loose part may belong to the unreadable description.
            return Ok(removed);
        }
        let all = self.object_subjects("C").await?;
        let all: BTreeSet<Parts> = all.into_iter().map(|one| self.parts_with(one)).collect();
        for parts in all.difference(&owned) {
            let first = self.part(&parts.all(), 1).await?;
            if first.is_some_and(|first| age(first.stored_at_us) >= leftovers_after) {
                self.purge_objects(&parts.all()).await?;
            }
        }
        Ok(removed)
    }

    /// Removes a description unless it was put again after it was read; returns whether it was
    /// removed.
    async fn remove_description(&self, stored: &Stored) -> Result<bool, Fault> {
        let what = format!("purge {}", stored.subject);
        let stream = self.objects_handle(&what).await?;
        let purge = stream.purge().filter(&stored.subject);
        let purged = purge.sequence(stored.seq + 1).await;
        purged.map_err(|err| api::fault(&what, &err))?;
        let asset = self.objects_asset();
        Ok(self.last_in(&asset, &stored.subject).await?.is_none())
    }

    async fn put_parts(&self, name: &str, parts: &Parts, mut content: Bytes) -> Result<(), Fault> {
        let mut number = 0;
        let mut open = VecDeque::new();
        while !content.is_empty() {
            let part = content.split_to(PART_BYTES.min(content.len()));
            if open.len() == PARTS_IN_FLIGHT_MAX
                && let Some(ack) = open.pop_front()
            {
                self.object_acked(name, ack).await?;
            }
            let message = PublishMessage::build()
                .payload(part)
                .expected_stream(self.objects_asset());
            let subject = parts.subject(number);
            number += 1;
            let sent = self.jetstream.send_publish(subject, message).await;
            open.push_back(sent.map_err(|err| self.object_fault(name, &err))?);
        }
        for ack in open {
            self.object_acked(name, ack).await?;
        }
        Ok(())
    }

    async fn put_description(&self, description: &Description) -> Result<(), Fault> {
        let name = &description.name;
        let text = serde_json::to_vec(description).map_err(|err| Fault::Server {
            what: format!("describe object {name}"),
            why: err.to_string(),
        })?;
        let message = PublishMessage::build()
            .payload(text.into())
            .header(NATS_ROLLUP, "sub")
            .expected_stream(self.objects_asset());
        let subject = self.description_of(name);
        let sent = self.jetstream.send_publish(subject, message).await;
        let ack = sent.map_err(|err| self.object_fault(name, &err))?;
        self.object_acked(name, ack).await
    }

    async fn object_acked(&self, name: &str, ack: PublishAckFuture) -> Result<(), Fault> {
        match timeout(ACK_TIMEOUT, ack).await {
            Ok(Ok(_ack)) => Ok(()),
            Ok(Err(err)) => Err(self.object_fault(name, &err)),
            Err(_elapsed) => Err(self.unacknowledged(format!("put object {name}"))),
        }
    }

    /// Fault of a message without an acknowledgement.
    fn unacknowledged(&self, what: String) -> Fault {
        let earlier = Instant::now().checked_sub(ACK_TIMEOUT * 2);
        match earlier.is_some_and(|since| self.line.refused_a_message(since)) {
            true => Fault::Server {
                what,
                why: format!(
                    "the account allows smaller messages than its server; raise its max_payload, \
                     to at least {PART_BYTES} bytes"
                ),
            },
            false => Fault::TimedOut { what },
        }
    }

    fn object_fault(&self, name: &str, err: &(dyn std::error::Error + 'static)) -> Fault {
        if api::api_error(err).is_some_and(api::is_full) {
            let asset = self.objects_asset();
            return Fault::Full { asset };
        }
        use PublishErrorKind::{BrokenPipe, TimedOut};
        let what = format!("put object {name}");
        match err.downcast_ref::<PublishError>().map(PublishError::kind) {
            Some(TimedOut | BrokenPipe) => self.unacknowledged(what),
            _ => api::fault(&what, err),
        }
    }

    async fn described(&self, name: &str) -> Result<Option<Described>, Fault> {
        for subject in self.descriptions_of(name) {
            if let Some(found) = self.description(&subject).await? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// The description under `subject`; `None` also if another tool marked it as deleted.
    async fn description(&self, subject: &str) -> Result<Option<Described>, Fault> {
        let stored = match self.last_of(&self.objects_asset(), subject).await {
            Ok(Some(stored)) => stored,
            Ok(None) | Err(Fault::Missing { .. }) => return Ok(None),
            Err(fault) => return Err(fault),
        };
        let description: Description =
            serde_json::from_slice(&stored.payload).map_err(|err| Fault::Broken {
                name: subject.to_owned(),
                why: err.to_string(),
            })?;
        Ok((!description.deleted).then_some((description, stored)))
    }

    /// The next parts of `subject` from `from_seq` on, by sequence: at most `count`, requested
    /// together, without a gap.
    async fn parts(
        &self,
        subject: &str,
        from_seq: u64,
        count: u64,
    ) -> Result<BTreeMap<u64, Bytes>, Fault> {
        // Parts usually have consecutive sequences, so that each request finds another one. If
        // other messages are between them, two requests find the same part.
        let requests = (0..count).map(|ahead| self.part(subject, from_seq + ahead));
        let found = try_join_all(requests).await?.into_iter().flatten();
        Ok(found.map(|stored| (stored.seq, stored.payload)).collect())
    }

    /// The parts with the numbers from `first` on, by sequence: `count` at most, all requested
    /// together.
    async fn numbered_parts(
        &self,
        parts: &Parts,
        first: u64,
        count: u64,
    ) -> Result<BTreeMap<u64, Bytes>, Fault> {
        let asset = self.objects_asset();
        let subjects: Vec<String> = (first..first + count)
            .map(|number| parts.subject(number))
            .collect();
        let requests = subjects.iter().map(|one| self.last_of(&asset, one));
        let found = try_join_all(requests).await?;
        // A part after a missing one would be taken for the missing one.
        let found = found.into_iter().map_while(|part| part);
        Ok(found.map(|stored| (stored.seq, stored.payload)).collect())
    }

    /// Reads from the leader: on a replica that lags, a part would seem to be missing.
    async fn part(&self, subject: &str, from_seq: u64) -> Result<Option<Stored>, Fault> {
        let what = || format!("read an object's part from {subject}");
        let stream = self.objects_handle(&what()).await?;
        match stream
            .get_first_raw_message_by_subject(subject, from_seq)
            .await
        {
            Ok(found) => Ok(Some(api::stored(found))),
            Err(err) if matches!(err.kind(), LastRawMessageErrorKind::NoMessageFound) => Ok(None),
            Err(err) => Err(api::fault(&what(), &err)),
        }
    }

    /// All subjects of stored descriptions (`M`) or parts (`C`).
    async fn object_subjects(&self, kind: &str) -> Result<Vec<String>, Fault> {
        let asset = self.objects_asset();
        match self.stream_info(&asset).await {
            Ok(_) => {}
            Err(Fault::Missing { .. }) => return Ok(Vec::new()),
            Err(fault) => return Err(fault),
        }
        let what = format!("list the subjects of {asset}");
        let filter = format!("$O.{}.{kind}.>", self.options.names.objects);
        let stream = self.objects_handle(&what).await?;
        let found = stream.info_with_subjects(filter).await;
        let found = found.map_err(|err| api::fault(&what, &err))?;
        let subjects = found.map_ok(|(subject, _)| subject).boxed();
        let subjects: Result<Vec<String>, _> = subjects.try_collect().await;
        subjects.map_err(|err| api::fault(&what, &err))
    }

    async fn purge_objects(&self, subject: &str) -> Result<(), Fault> {
        let what = format!("purge {subject}");
        let stream = self.objects_handle(&what).await?;
        let purged = stream.purge().filter(subject).await;
        purged.map(|_| ()).map_err(|err| api::fault(&what, &err))
    }

    async fn objects_handle(&self, what: &str) -> Result<Handle<()>, Fault> {
        let handle = self
            .jetstream
            .get_stream_no_info(self.objects_asset())
            .await;
        handle.map_err(|err| api::fault(what, &err))
    }
}

/// Whether the server refused because the subject has changed since it was read.
fn is_conflict(err: &(dyn std::error::Error + 'static)) -> bool {
    api::api_error(err).is_some_and(|reason| {
        matches!(
            reason.error_code(),
            ErrorCode::STREAM_WRONG_LAST_SEQUENCE | ErrorCode::STREAM_WRONG_LAST_SEQUENCE_CONSTANT
        )
    })
}

/// Age by this machine's clock; zero for a time in the future.
fn age(stored_at_us: u64) -> Duration {
    let stored_at = UNIX_EPOCH + Duration::from_micros(stored_at_us);
    SystemTime::now()
        .duration_since(stored_at)
        .unwrap_or_default()
}
