//! Bodies of requests: JSON, within limits of size and time.

use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, header};
use loadpilot_client::run_request::POST_BYTES_MAX;
use loadpilot_events::refusal::Problem;
use tokio::time::timeout;

use super::api::Api;
use super::error::HttpError;

/// Timeout for a whole body.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// Reads the body of a request.
pub(super) async fn read(api: &Api, request: Request) -> Result<Bytes, HttpError> {
    let headers = request.headers();
    if !is_json(headers) {
        return Err(HttpError::NotJson);
    }
    let length = headers.get(header::CONTENT_LENGTH);
    let length = length.and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    if length.is_some_and(|bytes| bytes > POST_BYTES_MAX) {
        return Err(HttpError::TooLarge(POST_BYTES_MAX));
    }
    let reading = async {
        // The semaphore is never closed: it lives as long as the interface.
        let _permit = api.body_permits.acquire().await;
        read_whole(request.into_body()).await
    };
    let body = timeout(BODY_TIMEOUT, reading).await;
    body.map_err(|_| HttpError::TooSlow(BODY_TIMEOUT.as_secs()))?
}

async fn read_whole(body: Body) -> Result<Bytes, HttpError> {
    to_bytes(body, POST_BYTES_MAX).await.map_err(|error| {
        let mut source: Option<&dyn std::error::Error> = Some(&error);
        while let Some(cause) = source {
            if cause.is::<http_body_util::LengthLimitError>() {
                return HttpError::TooLarge(POST_BYTES_MAX);
            }
            source = cause.source();
        }
        Problem::new("body", "must be complete", "cut off").into()
    })
}

fn is_json(headers: &HeaderMap) -> bool {
    let value = headers.get(header::CONTENT_TYPE);
    let value = value.and_then(|value| value.to_str().ok());
    let media_type = value.and_then(|value| value.split(';').next());
    media_type.is_some_and(|text| text.trim().eq_ignore_ascii_case("application/json"))
}
