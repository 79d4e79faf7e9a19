//! Answers that say no, as JSON with everything that is wrong. Must never quote a secret.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use loadpilot_events::refusal::{Problem, first};
use serde::Serialize;

use loadpilot_client::session::SessionError;

/// Why something was not done.
#[derive(Debug)]
pub(super) enum No {
    /// What was asked for is wrong: all of it.
    Bad(Vec<Problem>),
    /// It is sound, and nobody can serve it.
    Refused(Vec<Problem>),
    /// There is no such run, or no such path.
    Unknown(String),
    /// The body has too many bytes.
    TooLarge(usize),
    /// The body did not come in time.
    TooSlow(u64),
    /// The body is no JSON by its own word.
    NotJson,
    /// The caller did not say who it is, or is not believed.
    Unauthorized,
    /// The caller is a page of a browser, or speaks to another name than ours.
    Forbidden(&'static str),
    /// There is nobody who could do it now.
    Away(String),
}

/// The body of such an answer.
#[derive(Serialize)]
struct Told {
    error: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    problems: Vec<Problem>,
}

impl From<Problem> for No {
    fn from(problem: Problem) -> Self {
        Self::Bad(vec![problem])
    }
}

impl From<SessionError> for No {
    fn from(error: SessionError) -> Self {
        match error {
            SessionError::Refused(refusal) => Self::Bad(refusal.problems),
            other => Self::Away(other.to_string()),
        }
    }
}

impl No {
    fn told(self) -> (StatusCode, String, Vec<Problem>) {
        let none = Vec::new();
        match self {
            Self::Bad(problems) => {
                let error = "what was asked for is wrong; nothing was started".to_owned();
                (StatusCode::BAD_REQUEST, error, problems)
            }
            Self::Refused(problems) => {
                let error = "nobody can serve this run; nothing was started".to_owned();
                (StatusCode::CONFLICT, error, problems)
            }
            Self::Unknown(what) => (StatusCode::NOT_FOUND, what, none),
            Self::TooLarge(most) => {
                let error = format!("the body must be at most {most} bytes");
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
                let error = "say who you are: Authorization: Bearer TOKEN".to_owned();
                (StatusCode::UNAUTHORIZED, error, none)
            }
            Self::Forbidden(why) => (StatusCode::FORBIDDEN, why.to_owned(), none),
            Self::Away(why) => (StatusCode::SERVICE_UNAVAILABLE, why, none),
        }
    }
}

impl IntoResponse for No {
    fn into_response(self) -> Response {
        let (code, error, problems) = self.told();
        let problems = first(problems);
        let told = Told { error, problems };
        let mut response = (code, Json(told)).into_response();
        if code == StatusCode::UNAUTHORIZED {
            let how = HeaderValue::from_static("Bearer");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, how);
        }
        if matches!(
            code,
            StatusCode::PAYLOAD_TOO_LARGE | StatusCode::REQUEST_TIMEOUT
        ) {
            // What is still to come is not read.
            let close = HeaderValue::from_static("close");
            response.headers_mut().insert(header::CONNECTION, close);
        }
        response
    }
}
