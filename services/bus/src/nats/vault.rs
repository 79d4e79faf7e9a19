//! The bucket of short-lived secrets: put with a time to live, read, shred.
//!
//! The server erases the bytes of a replaced or shredded value on disk, and does not only mark the
//! value as deleted. It does not erase an expired value: a caller that needs certainty must shred
//! it.

use std::time::Duration;

use async_nats::jetstream::ErrorCode;
use async_nats::jetstream::message::{PublishMessage, StreamMessage};
use async_nats::jetstream::stream::DeleteMessageErrorKind;
use bytes::Bytes;
use tokio::time::{Instant, timeout};

use super::{ACK_TIMEOUT, Nats, api};
use crate::Fault;
use crate::options::API_PREFIX;

/// Maximum number of deletions per shred. A key has one value: a second round is needed only if
/// another client writes meanwhile.
const SHRED_ROUNDS_MAX: usize = 16;

/// Header of a message that marks a value as removed, as key-value clients write it.
const OPERATION: &str = "KV-Operation";
/// Time after which the server removes such a mark.
const MARK_TTL: Duration = Duration::from_secs(1);

impl Nats {
    pub(crate) async fn kv_put(&self, key: &str, value: Bytes, ttl: Duration) -> Result<(), Fault> {
        if self.within.is_none() {
            self.open_bucket().await?;
            self.kv_shred(key).await?;
        }
        let whole_seconds = Duration::from_secs(ttl.as_secs_f64().ceil().max(1.0) as u64);
        let message = PublishMessage::build()
            .payload(value)
            .ttl(whole_seconds)
            .expected_stream(self.bucket_asset());
        self.kv_write(&self.kv_subject(key), message, &format!("put key {key}"))
            .await
    }

    /// Publishes a value or a mark, and waits for its acknowledgement.
    async fn kv_write(
        &self,
        subject: &str,
        message: PublishMessage,
        what: &str,
    ) -> Result<(), Fault> {
        let (to, sent_at) = (self.kv_target(subject), Instant::now());
        let sent = self.jetstream.send_publish(to.clone(), message);
        let acked = async { sent.await?.await };
        let fault = match timeout(ACK_TIMEOUT, acked).await {
            Ok(Ok(_ack)) => return Ok(()),
            Ok(Err(err)) => api::fault(what, &err),
            Err(_elapsed) => Fault::TimedOut {
                what: what.to_owned(),
            },
        };
        Err(self.line.denial(&to, sent_at).unwrap_or(fault))
    }

    pub(crate) async fn kv_get(&self, key: &str) -> Result<Option<Bytes>, Fault> {
        let (asset, subject) = (self.bucket_asset(), self.kv_subject(key));
        let found = match self.within {
            Some(_) => self.direct(&asset, &subject).await,
            None => self.raw_last_in(&asset, &subject).await,
        };
        match found {
            Ok(found) => Ok(found.filter(is_value).map(|found| found.payload)),
            Err(Fault::Missing { .. }) => Ok(None),
            Err(fault) => Err(fault),
        }
    }

    pub(crate) async fn kv_shred(&self, key: &str) -> Result<(), Fault> {
        let (asset, subject) = (self.bucket_asset(), self.kv_subject(key));
        let what = || format!("shred key {key}");
        if self.within.is_some() {
            return self.kv_replace(&asset, subject, &what()).await;
        }
        for _round in 0..SHRED_ROUNDS_MAX {
            let seq = match self.last_in(&asset, &subject).await {
                Ok(Some(found)) => found.seq,
                Ok(None) | Err(Fault::Missing { .. }) => return Ok(()),
                Err(fault) => return Err(fault),
            };
            let stream = self.jetstream.get_stream_no_info(&asset).await;
            let stream = stream.map_err(|err| api::fault(&what(), &err))?;
            // By default, deleting a message overwrites its bytes.
            match stream.delete_message(seq).await {
                Ok(_) => {}
                // Another client may have shredded it meanwhile: the next round reads again.
                Err(err) if is_gone(&err.kind()) => {}
                Err(err) => return Err(api::fault(&what(), &err)),
            }
        }
        Err(Fault::Server {
            what: what(),
            why: "it is being written meanwhile, or cannot be deleted".to_owned(),
        })
    }

    /// Replaces the value by a mark, which the server removes soon. A confined user cannot request
    /// that the bytes are overwritten: that request names no subject.
    async fn kv_replace(&self, asset: &str, subject: String, what: &str) -> Result<(), Fault> {
        match self.direct(asset, &subject).await {
            Ok(found) if found.as_ref().is_some_and(is_value) => {}
            Ok(_) | Err(Fault::Missing { .. }) => return Ok(()),
            Err(fault) => return Err(fault),
        }
        let mark = PublishMessage::build()
            .header(OPERATION, "PURGE")
            .ttl(MARK_TTL)
            .expected_stream(asset);
        self.kv_write(&subject, mark, what).await
    }

    /// Subject on which a write of the bucket's `subject` is published. On a leaf node with
    /// JetStream of its own, the server does not forward `$KV`: there the API prefix leads to the
    /// bucket.
    pub(super) fn kv_target(&self, subject: &str) -> String {
        match self.options.api_prefix == API_PREFIX {
            true => subject.to_owned(),
            false => self.api(subject),
        }
    }

    fn kv_subject(&self, key: &str) -> String {
        format!("$KV.{}.{key}", self.options.names.kv)
    }
}

/// Whether a message holds a value, and is not the mark of a removed one.
fn is_value(message: &StreamMessage) -> bool {
    message.headers.get(OPERATION).is_none()
}

fn is_gone(kind: &DeleteMessageErrorKind) -> bool {
    matches!(kind, DeleteMessageErrorKind::JetStream(reason)
        if [ErrorCode::SEQUENCE_NOT_FOUND, ErrorCode::STREAM_MESSAGE_DELETE_FAILED]
            .contains(&reason.error_code()))
}
