//! Error answers, as JSON with all problems of a request. Must never quote a secret.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use loadpilot_events::refusal::{Problem, first};
use serde::Serialize;

use loadpilot_client::session::SessionError;

/// An error answer.
#[derive(Debug)]
pub(super) enum HttpError {
    /// The request is invalid, with all its problems.
    Invalid(Vec<Problem>),
    /// The request is valid, but the fleet cannot serve it.
    Refused(Vec<Problem>),
    /// Unknown run or path.
    NotFound(String),
    /// The body exceeds this number of bytes.
    TooLarge(usize),
    /// The body did not arrive within this number of seconds.
    TooSlow(u64),
    /// The Content-Type is not JSON.
    NotJson,
    /// The token is absent or wrong.
    Unauthorized,
    /// The request comes from a page of a browser, or names another host.
    Forbidden(&'static str),
    /// NATS or this coordinator cannot serve it now.
    Unavailable(String),
}

/// The body of an error answer.
#[derive(Serialize)]
struct Body {
    error: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    problems: Vec<Problem>,
}

impl From<Problem> for HttpError {
    fn from(problem: Problem) -> Self {
        Self::Invalid(vec![problem])
    }
}

impl From<SessionError> for HttpError {
    fn from(error: SessionError) -> Self {
        match error {
            SessionError::Refused(refusal) => Self::Invalid(refusal.problems),
            other => Self::Unavailable(other.to_string()),
        }
    }
}

impl HttpError {
    fn parts(self) -> (StatusCode, String, Vec<Problem>) {
        let none = Vec::new();
        match self {
            Self::Invalid(problems) => {
                let error = "the request is invalid; nothing was started".to_owned();
                (StatusCode::BAD_REQUEST, error, problems)
            }
            Self::Refused(problems) => {
                let error = "the fleet cannot serve this run; nothing was started".to_owned();
                (StatusCode::CONFLICT, error, problems)
            }
            Self::NotFound(error) => (StatusCode::NOT_FOUND, error, none),
            Self::TooLarge(max) => {
                let error = format!("the body must be at most {max} bytes");
                (StatusCode::PAYLOAD_TOO_LARGE, error, none)
            }
            Self::TooSlow(secs) => {
                let error = format!("the body must come within {secs} s");
                (StatusCode::REQUEST_TIMEOUT, error, none)
            }
            Self::NotJson => {
                let error = "Content-Type must be application/json".to_owned();
                (StatusCode::UNSUPPORTED_MEDIA_TYPE, error, none)
            }
            Self::Unauthorized => {
                let error = "authenticate by Authorization: Bearer TOKEN".to_owned();
                (StatusCode::UNAUTHORIZED, error, none)
            }
            Self::Forbidden(error) => (StatusCode::FORBIDDEN, error.to_owned(), none),
            Self::Unavailable(error) => (StatusCode::SERVICE_UNAVAILABLE, error, none),
        }
    }
}

impl IntoResponse for HttpError {
    fn into_response(self) -> Response {
        let (code, error, problems) = self.parts();
        let problems = first(problems);
        let body = Body { error, problems };
        let mut response = (code, Json(body)).into_response();
        if code == StatusCode::UNAUTHORIZED {
            let scheme = HeaderValue::from_static("Bearer");
            let headers = response.headers_mut();
            headers.insert(header::WWW_AUTHENTICATE, scheme);
        }
        if matches!(
            code,
            StatusCode::PAYLOAD_TOO_LARGE | StatusCode::REQUEST_TIMEOUT
        ) {
            // The rest of the body is not read.
            let close = HeaderValue::from_static("close");
            response.headers_mut().insert(header::CONNECTION, close);
        }
        response
    }
}
