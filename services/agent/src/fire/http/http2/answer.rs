//! The answer of one stream of HTTP/2, and the classification of its errors.
//!
//! Must never keep a body that no task reads.

use h2::{Reason, RecvStream};
use http::Response;
use loadpilot_events::log::cause::Cause;
use loadpilot_events::log::outcome::Outcome;

use crate::fire::clock::MonoTime;
use crate::fire::http::connect::error_classification::ErrorClass;
use crate::fire::http::wire::Order;
use crate::fire::request::progress::Trace;

/// Whether the target has stated that it did not begin with the request: it refused the stream, or
/// closed the connection before it (RFC 9113, section 8.7).
pub(super) fn not_begun(error: &h2::Error) -> bool {
    let refused = error.reason() == Some(Reason::REFUSED_STREAM);
    error.is_remote() && (refused || error.is_go_away())
}

/// Whether the target rejects the rest of the request after a full answer (RFC 9113, section 8.1).
pub(super) fn refuses_the_rest(error: &h2::Error) -> bool {
    error.is_remote() && error.is_reset() && error.reason() == Some(Reason::NO_ERROR)
}

/// Drops a body as it arrives, up to the last token that counts.
pub(super) async fn drain(
    answer: Response<RecvStream>,
    order: &Order<'_>,
    trace: &mut Trace,
) -> Result<(), h2::Error> {
    let status = Some(answer.status().as_u16());
    let shown = order.shown.filter(|shown| shown.borrow().wants(status));
    let mut body = answer.into_body();
    while let Some(data) = body.data().await {
        let data = data?;
        let mut counted: &[u8] = &data;
        if let Some(tokens) = order.tokens {
            let (now, mut tokens) = (MonoTime::now(), tokens.borrow_mut());
            counted = tokens.data(counted, now);
            // Many servers end with an empty frame, which is not a token.
            if !data.is_empty() {
                tokens.chunk_end(now);
            }
        }
        if let Some(capture) = order.capture {
            capture.borrow_mut().data(counted);
        }
        if let Some(shown) = shown {
            shown.borrow_mut().add(&data);
        }
        let bytes = data.len();
        trace.received_bytes += bytes as u64;
        body.flow_control().release_capacity(bytes)?;
        if order.has_enough() && !body.is_end_stream() {
            // Dropping a stream resets it.
            return Ok(());
        }
    }
    // An answer ends with its trailers.
    body.trailers().await?;
    Ok(())
}

/// Passes on the head of an answer, in the form of HTTP/1.1.
pub(super) fn show(answer: &Response<RecvStream>, mut add: impl FnMut(&[u8])) {
    add(format!("HTTP/2 {}\r\n", answer.status()).as_bytes());
    for (name, value) in answer.headers() {
        for part in [name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"] {
            add(part);
        }
    }
}

pub(super) fn header_bytes(answer: &Response<RecvStream>) -> u64 {
    let lines = answer.headers().iter();
    let lines = lines.map(|(name, value)| name.as_str().len() + value.len());
    (":status200".len() + lines.sum::<usize>()) as u64
}

pub(super) fn classify(error: &h2::Error) -> ErrorClass {
    if let Some(error) = error.get_io() {
        return ErrorClass::exchanging(error);
    }
    tracing::debug!(%error, "exchange broken");
    let cause = match error.is_remote() {
        true if error.is_go_away() => Cause::GoneAway,
        true if error.is_reset() => Cause::StreamReset,
        _ => Cause::Http2,
    };
    ErrorClass::new(Outcome::Io, cause)
}
