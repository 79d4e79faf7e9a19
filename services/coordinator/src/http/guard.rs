//! Authorizes requests by the token, if there is one. Requests with an Origin are rejected; without
//! TLS, Host must name loopback, against DNS rebinding by a page in a local browser.

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::api::Api;
use super::config::Token;
use super::error::HttpError;

/// Paths without a token: the probes.
const TOKENLESS: [&str; 2] = ["/healthz", "/readyz"];
/// Names of loopback, beside its IPv4 addresses.
const LOOPBACK: [&str; 2] = ["localhost", "[::1]"];

/// Passes a request on or answers with an error, and counts it.
pub(super) async fn guard(State(api): State<Api>, request: Request, next: Next) -> Response {
    let route = request.extensions().get::<MatchedPath>();
    let route = route.map_or("other", |path| path.as_str()).to_owned();
    let response = match authorize(&api, &request, &route) {
        Ok(()) => next.run(request).await,
        Err(error) => error.into_response(),
    };
    api.status.answered(route, response.status().as_u16());
    response
}

fn authorize(api: &Api, request: &Request, route: &str) -> Result<(), HttpError> {
    let headers = request.headers();
    if headers.contains_key(header::ORIGIN) {
        return Err(HttpError::Forbidden(
            "requests from pages of browsers are rejected",
        ));
    }
    if !api.is_tls && !is_loopback(headers) {
        return Err(HttpError::Forbidden(
            "Host must be localhost or a loopback address",
        ));
    }
    let is_tokenless = TOKENLESS.contains(&route);
    match &api.token {
        Some(token) if !is_tokenless && !has_token(headers, token) => Err(HttpError::Unauthorized),
        _ => Ok(()),
    }
}

fn is_loopback(headers: &HeaderMap) -> bool {
    let host = headers
        .get(header::HOST)
        .and_then(|host| host.to_str().ok());
    let Some(host) = host else { return false };
    let is_port = |port: &str| port.parse::<u16>().is_ok();
    let name = match host.rsplit_once(':') {
        Some((name, port)) if is_port(port) => name,
        _ => host,
    };
    let address = name.parse::<std::net::Ipv4Addr>();
    LOOPBACK.contains(&name.to_ascii_lowercase().as_str())
        || address.is_ok_and(|address| address.is_loopback())
}

fn has_token(headers: &HeaderMap, token: &Token) -> bool {
    let value = headers.get(header::AUTHORIZATION);
    let value = value.and_then(|value| value.to_str().ok());
    let bearer = value.and_then(|value| value.strip_prefix("Bearer "));
    bearer.is_some_and(|bearer| Token::new(bearer) == *token)
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn with(name: header::HeaderName, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::from_str(value).expect("a value"))])
    }

    /// Broken if a page whose own host name resolves to loopback may start load.
    #[test]
    fn only_names_of_loopback_are_accepted() {
        for host in [
            "localhost:8080",
            "LOCALHOST",
            "127.0.0.1:1",
            "127.1.2.3",
            "[::1]:80",
        ] {
            assert!(is_loopback(&with(header::HOST, host)), "{host}");
        }
        for host in [
            "evil.test",
            "127.0.0.1.evil.test:80",
            "10.0.0.1",
            "localhost.evil",
            ":80",
        ] {
            assert!(!is_loopback(&with(header::HOST, host)), "{host}");
        }
        assert!(!is_loopback(&HeaderMap::new()));
    }

    /// Broken if a request without the whole token is accepted.
    #[test]
    fn only_the_whole_token_is_accepted() {
        let token = Token::new("0123456789abcdef");
        let accepts = |value: &str| has_token(&with(header::AUTHORIZATION, value), &token);
        assert!(accepts("Bearer 0123456789abcdef"));
        for wrong in [
            "0123456789abcdef",
            "Bearer 0123456789abcde",
            "Bearer ",
            "Basic x",
            "Bearer",
        ] {
            assert!(!accepts(wrong), "{wrong}");
        }
    }
}
