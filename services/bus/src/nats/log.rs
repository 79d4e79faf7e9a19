//! Appends to the log, purges it and reads single events. The tail reads it in order.

use async_nats::jetstream::message::{PublishMessage, StreamMessage};
use async_nats::jetstream::publish::PublishAck;
use async_nats::jetstream::stream::{LastRawMessageErrorKind, PurgeErrorKind};
use bytes::Bytes;
use tokio::time::{Instant, timeout};

use super::{ACK_TIMEOUT, Nats, api};
use crate::bugs::{Bug, bug};
use crate::{AppendError, Appended, Fault, Stored, Stream};

impl Nats {
    pub(crate) async fn append(
        &self,
        stream: Stream,
        subject: &str,
        msg_id: &str,
        payload: Bytes,
    ) -> Result<Appended, AppendError> {
        let mut message = PublishMessage::build().payload(payload);
        if !bug(Bug::NoMessageId) {
            message = message.message_id(msg_id);
        }
        let ack = self.publish_acked(stream, subject, message).await?;
        Ok(Appended {
            seq: ack.sequence,
            duplicate: ack.duplicate,
        })
    }

    pub(crate) async fn append_at(
        &self,
        subject: &str,
        expected_last: u64,
        msg_id: &str,
        payload: Bytes,
    ) -> Result<u64, AppendError> {
        let mut message = PublishMessage::build()
            .payload(payload)
            .message_id(msg_id)
            .expected_last_subject_sequence(expected_last);
        if bug(Bug::WildcardConcurrency) {
            let every = "lp.*.run.*.ctl";
            message = message.header("Nats-Expected-Last-Subject-Sequence-Subject", every);
        }
        Ok(self
            .publish_acked(Stream::Ctl, subject, message)
            .await?
            .sequence)
    }

    async fn publish_acked(
        &self,
        stream: Stream,
        subject: &str,
        message: PublishMessage,
    ) -> Result<PublishAck, AppendError> {
        self.line.must_be_up()?;
        let sent_at = Instant::now();
        let asset = self.options.names.of(stream);
        let message = message.expected_stream(asset);
        let acked = async {
            self.jetstream
                .send_publish(subject.to_owned(), message)
                .await?
                .await
        };
        let error = match timeout(ACK_TIMEOUT, acked).await {
            Ok(Ok(ack)) => return Ok(ack),
            Ok(Err(err)) => {
                let limit = self.client.max_payload() as u64;
                api::append_error(stream, asset, limit, &err)
            }
            Err(_elapsed) => AppendError::Unknown,
        };
        match (error, self.line.denial(subject, sent_at)) {
            (AppendError::Unknown, Some(denied)) => Err(denied.into()),
            (AppendError::Fault(Fault::Unanswered { .. }), _) => {
                Err(self.unanswered(asset).await.into())
            }
            (error, _) => Err(error),
        }
    }

    /// Why nothing answers for a stream: it does not exist, or it has no leader. A confined user
    /// cannot find out which of the two.
    async fn unanswered(&self, asset: &str) -> Fault {
        let stream = asset.to_owned();
        let is_missing = self.within.is_none()
            && matches!(self.stream_info(asset).await, Err(Fault::Missing { .. }));
        match is_missing {
            true => Fault::Missing { stream },
            false => Fault::Unanswered { stream },
        }
    }

    pub(crate) async fn head(&self, stream: Stream) -> Result<u64, Fault> {
        if let Some(within) = &self.within {
            return self.head_within(stream, within).await;
        }
        let info = self.stream_info(self.options.names.of(stream)).await?;
        Ok(info.state.last_sequence)
    }

    pub(crate) async fn created(&self, stream: Stream) -> Result<u64, Fault> {
        if self.within.is_some() {
            return self.stored_creation(stream).await;
        }
        let info = self.stream_info(self.options.names.of(stream)).await?;
        Ok(api::micros(info.created.unix_timestamp_nanos()))
    }

    pub(crate) async fn time_of(&self, stream: Stream) -> Result<u64, Fault> {
        self.asset_time(self.options.names.of(stream)).await
    }

    pub(crate) async fn last(
        &self,
        stream: Stream,
        subject: &str,
    ) -> Result<Option<Stored>, Fault> {
        if self.within.is_some() {
            return self.last_within(stream, subject).await;
        }
        self.last_in(self.options.names.of(stream), subject).await
    }

    /// Reads from the leader: a replica may lag, and the next append would conflict.
    pub(super) async fn last_in(
        &self,
        asset: &str,
        subject: &str,
    ) -> Result<Option<Stored>, Fault> {
        Ok(self.raw_last_in(asset, subject).await?.map(api::stored))
    }

    /// The same with its headers.
    pub(super) async fn raw_last_in(
        &self,
        asset: &str,
        subject: &str,
    ) -> Result<Option<StreamMessage>, Fault> {
        self.line.must_be_up()?;
        let what = || format!("read the last of {subject}");
        let stream = self.jetstream.get_stream_no_info(asset).await;
        let stream = stream.map_err(|err| api::fault(&what(), &err))?;
        match stream.get_last_raw_message_by_subject(subject).await {
            Ok(found) => Ok(Some(found)),
            Err(err) => match err.kind() {
                LastRawMessageErrorKind::NoMessageFound => Ok(None),
                LastRawMessageErrorKind::JetStream(reason) if reason.code() == 404 => {
                    Err(Fault::Missing {
                        stream: asset.to_owned(),
                    })
                }
                _ => Err(api::fault(&what(), &err)),
            },
        }
    }

    pub(crate) async fn purge(&self, stream: Stream, filter: &str) -> Result<u64, Fault> {
        self.line.must_be_up()?;
        let asset = self.options.names.of(stream);
        let what = || format!("purge {filter} from {asset}");
        let handle = self.jetstream.get_stream_no_info(asset).await;
        let handle = handle.map_err(|err| api::fault(&what(), &err))?;
        let sent_at = Instant::now();
        let requested = self.api(&format!("STREAM.PURGE.{asset}"));
        let purged = tokio::select! {
            purged = handle.purge().filter(filter) => purged,
            denied = self.line.denied(&requested, sent_at) => return Err(denied),
        };
        match purged {
            Ok(done) => Ok(done.purged),
            Err(err) => Err(match err.kind() {
                PurgeErrorKind::TimedOut => Fault::TimedOut { what: what() },
                PurgeErrorKind::JetStream(reason) if reason.code() == 404 => Fault::Missing {
                    stream: asset.to_owned(),
                },
                _ => api::fault(&what(), &err),
            }),
        }
    }
}
