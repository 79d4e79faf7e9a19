//! Converts errors, messages and times of the JetStream API into the types of this crate. It must
//! never hide an error code.

use std::error::Error;

use async_nats::datetime::parse_rfc3339;
use async_nats::jetstream;
use async_nats::jetstream::ErrorCode;
use async_nats::jetstream::account::Account;
use async_nats::jetstream::context::{
    GetStreamErrorKind, PublishError, PublishErrorKind, RequestErrorKind,
};
use async_nats::jetstream::message::StreamMessage;
use async_nats::jetstream::response::Response;
use async_nats::jetstream::stream::Info;
use serde::Deserialize;

use super::Nats;
use crate::{AppendError, Fault, Stored, Stream};

/// Time of a stream's state, which the client library's own type leaves out.
#[derive(Deserialize)]
struct StateTime {
    ts: String,
}

impl Nats {
    /// The account's JetStream state; also the cheapest request to any server.
    pub(super) async fn account(&self) -> Result<Account, Fault> {
        match self.jetstream.query_account().await {
            Ok(account) => Ok(account),
            Err(err) => Err(match fault("read the account", &err) {
                Fault::Server { why, .. } => Fault::NoJetStream { why },
                other => other,
            }),
        }
    }

    /// Settings and state of the stream called `asset`.
    pub(super) async fn stream_info(&self, asset: &str) -> Result<Info, Fault> {
        match self.jetstream.get_stream(asset).await {
            Ok(stream) => Ok(stream.cached_info().clone()),
            Err(err) => Err(match err.kind() {
                GetStreamErrorKind::JetStream(reason)
                    if reason.error_code() == ErrorCode::STREAM_NOT_FOUND =>
                {
                    Fault::Missing {
                        stream: asset.to_owned(),
                    }
                }
                _ => fault(&format!("read stream {asset}"), &err),
            }),
        }
    }

    /// Current time on the leader of the stream called `asset`, in microseconds since 1970.
    pub(super) async fn asset_time(&self, asset: &str) -> Result<u64, Fault> {
        let what = format!("read the time of stream {asset}");
        let subject = format!("STREAM.INFO.{asset}");
        let response = self.jetstream.request(subject, &()).await;
        let response: Response<StateTime> = response.map_err(|err| fault(&what, &err))?;
        match response {
            Response::Ok(StateTime { ts }) => match parse_rfc3339(&ts) {
                Ok(time) => Ok(micros(time.unix_timestamp_nanos())),
                Err(err) => Err(Fault::Server {
                    what,
                    why: err.to_string(),
                }),
            },
            Response::Err { error } if error.error_code() == ErrorCode::STREAM_NOT_FOUND => {
                Err(Fault::Missing {
                    stream: asset.to_owned(),
                })
            }
            Response::Err { error } => Err(Fault::Server {
                what,
                why: error.to_string(),
            }),
        }
    }

    /// Outcome of an append whose publish was refused or not acknowledged.
    pub(super) fn append_error(&self, stream: Stream, err: &PublishError) -> AppendError {
        let asset = self.options.names.of(stream).to_owned();
        let limit = self.client.max_payload() as u64;
        match err.kind() {
            PublishErrorKind::WrongLastSequence => AppendError::Conflict,
            PublishErrorKind::TimedOut | PublishErrorKind::BrokenPipe => AppendError::Unknown,
            PublishErrorKind::MaxPayloadExceeded => AppendError::TooLarge { limit },
            PublishErrorKind::StreamNotFound => Fault::Missing { stream: asset }.into(),
            _ => match api_error(err) {
                Some(reason) => refusal(stream, &asset, limit, reason),
                None => fault(&format!("append to {asset}"), err).into(),
            },
        }
    }
}

fn refusal(stream: Stream, asset: &str, limit: u64, reason: &jetstream::Error) -> AppendError {
    let text = reason.to_string();
    match reason.error_code() {
        // Two codes for one meaning: the leader of a cluster sends the second one early.
        ErrorCode::STREAM_WRONG_LAST_SEQUENCE | ErrorCode::STREAM_WRONG_LAST_SEQUENCE_CONSTANT => {
            AppendError::Conflict
        }
        // An earlier attempt with this message id is still in process.
        ErrorCode::STREAM_DUPLICATE_MESSAGE_CONFLICT => AppendError::Unknown,
        _ if is_full(reason) => AppendError::Full { stream },
        ErrorCode::STREAM_MESSAGE_EXCEEDS_MAXIMUM => AppendError::TooLarge { limit },
        _ => Fault::Server {
            what: format!("append to {asset}"),
            why: text,
        }
        .into(),
    }
}

/// Whether the server refused a message because the asset is full.
pub(super) fn is_full(reason: &jetstream::Error) -> bool {
    match reason.error_code() {
        ErrorCode::ACCOUNT_RESOURCES_EXCEEDED
        | ErrorCode::STORAGE_RESOURCES_EXCEEDED
        | ErrorCode::INSUFFICIENT_RESOURCES => true,
        ErrorCode::STREAM_STORE_FAILED => reason.to_string().contains("maximum"),
        _ => false,
    }
}

/// The error that the server sent, if the chain contains one.
pub(super) fn api_error<'a>(err: &'a (dyn Error + 'static)) -> Option<&'a jetstream::Error> {
    chain(err).find_map(|cause| cause.downcast_ref())
}

/// Fault of a call whose error no caller distinguishes further.
pub(super) fn fault(what: &str, err: &(dyn Error + 'static)) -> Fault {
    let what = what.to_owned();
    let timed_out = chain(err).any(|cause| {
        cause
            .downcast_ref::<jetstream::context::RequestError>()
            .is_some_and(|err| err.kind() == RequestErrorKind::TimedOut)
            || cause
                .downcast_ref::<async_nats::RequestError>()
                .is_some_and(|err| err.kind() == async_nats::RequestErrorKind::TimedOut)
    });
    if timed_out {
        Fault::TimedOut { what }
    } else {
        Fault::Server {
            what,
            why: err.to_string(),
        }
    }
}

fn chain<'a>(
    err: &'a (dyn Error + 'static),
) -> impl Iterator<Item = &'a (dyn Error + 'static)> + 'a {
    // Without the explicit dereference `source` would borrow from the short-lived reference.
    std::iter::successors(Some(err), |cause| (**cause).source())
}

/// A message as the API returns it.
pub(super) fn stored(found: StreamMessage) -> Stored {
    Stored {
        subject: found.subject.to_string(),
        seq: found.sequence,
        stored_at_us: micros(found.time.unix_timestamp_nanos()),
        payload: found.payload,
    }
}

/// Converts nanoseconds since 1970 to microseconds; a time before 1970 becomes 0.
pub(super) fn micros(nanos: i128) -> u64 {
    u64::try_from(nanos / 1_000).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Broken if a coordinator gives up a run after a lost race, because a conflict became a fault.
    /// A single server never sends the second code of a conflict.
    #[test]
    fn each_code_has_its_meaning() {
        let full = AppendError::Full {
            stream: Stream::Data,
        };
        let too_large = AppendError::TooLarge { limit: 7 };
        for (code, text, expected) in [
            (10071, "wrong last sequence: 3", Some(AppendError::Conflict)),
            (10164, "wrong last sequence", Some(AppendError::Conflict)),
            (
                10158,
                "duplicate message id is in process",
                Some(AppendError::Unknown),
            ),
            (10077, "maximum bytes exceeded", Some(full.clone())),
            (
                10002,
                "resource limits exceeded for account",
                Some(full.clone()),
            ),
            (
                10047,
                "insufficient storage resources available",
                Some(full),
            ),
            (
                10054,
                "message size exceeds maximum allowed",
                Some(too_large),
            ),
            (10077, "no space left on device", None),
            (10060, "expected stream does not match", None),
        ] {
            let reason = json!({"code": 400, "err_code": code, "description": text});
            let reason: jetstream::Error = serde_json::from_value(reason).expect("an API error");
            let refused = refusal(Stream::Data, "LP_DATA", 7, &reason);
            match expected {
                Some(expected) => assert_eq!(refused, expected, "{code}"),
                None => assert!(
                    matches!(refused, AppendError::Fault(_)),
                    "{code}: {refused:?}"
                ),
            }
        }
    }
}
