//! Converts errors, messages and times of the JetStream API into the types of this crate. It must
//! never hide an error code.

use std::error::Error;

use async_nats::jetstream;
use async_nats::jetstream::ErrorCode;
use async_nats::jetstream::context::{PublishError, PublishErrorKind, RequestErrorKind};
use async_nats::jetstream::message::StreamMessage;

use crate::{AppendError, Fault, Stored, Stream};

/// Outcome of an append whose publish was refused or not acknowledged.
pub(super) fn append_error(
    stream: Stream,
    asset: &str,
    limit: u64,
    err: &PublishError,
) -> AppendError {
    match err.kind() {
        PublishErrorKind::WrongLastSequence => AppendError::Conflict,
        PublishErrorKind::TimedOut | PublishErrorKind::BrokenPipe => AppendError::Unknown,
        PublishErrorKind::MaxPayloadExceeded => AppendError::TooLarge { limit },
        PublishErrorKind::StreamNotFound => {
            // The client library returns this error when nothing listens on the subject.
            let stream = asset.to_owned();
            Fault::Unanswered { stream }.into()
        }
        _ => match api_error(err) {
            Some(reason) => refusal(stream, asset, limit, reason),
            None => fault(&format!("append to {asset}"), err).into(),
        },
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
