//! The routes: the response to each request, without I/O or waiting. The server costs a bench as
//! little as possible, and a response depends only on its request.

use hyper::{Method, StatusCode};
use serde_json::{Value, json};

/// The parts of a request that the response depends on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub(crate) method: &'a Method,
    /// Path without the query, which no route uses.
    pub(crate) path: &'a str,
    /// The `Authorization` header.
    pub(crate) authorization: Option<&'a [u8]>,
    pub(crate) body: &'a [u8],
}

/// A response before it is encoded.
#[derive(Debug, PartialEq)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) body: Value,
    /// The methods of the path, when the one that was used is not among them.
    pub(crate) allow: Option<&'static str>,
}

/// The response to a request; `next_order_id` is called once if the request creates an order.
pub(crate) fn reply(asked: Asked<'_>, next_order_id: impl FnOnce() -> u64) -> Reply {
    // A HEAD is answered like a GET; the HTTP library omits the body.
    let method = if asked.method == Method::HEAD {
        &Method::GET
    } else {
        asked.method
    };
    match (method.as_str(), asked.path) {
        ("GET", "/health") => json_reply(StatusCode::OK, json!({"status": "ok"})),
        ("GET", "/api/products") => json_reply(StatusCode::OK, products()),
        ("GET", "/api/user") => user(asked.authorization),
        ("POST", "/auth/login") => json_reply(StatusCode::OK, token()),
        ("POST", "/api/orders") => order(asked.body, next_order_id),
        (_, "/health" | "/api/products" | "/api/user") => not_allowed("GET, HEAD"),
        (_, "/auth/login" | "/api/orders") => not_allowed("POST"),
        _ => error(StatusCode::NOT_FOUND, "no such path"),
    }
}

/// An error response with its reason.
pub(crate) fn error(status: StatusCode, what: &str) -> Reply {
    json_reply(status, json!({"error": what}))
}

fn json_reply(status: StatusCode, body: Value) -> Reply {
    Reply {
        status,
        body,
        allow: None,
    }
}

fn not_allowed(allow: &'static str) -> Reply {
    let reply = error(StatusCode::METHOD_NOT_ALLOWED, "the path has other methods");
    Reply {
        allow: Some(allow),
        ..reply
    }
}

/// A token for every caller, under both common field names: this server protects nothing.
fn token() -> Value {
    json!({"token": "demo-token", "access_token": "demo-token"})
}

fn products() -> Value {
    json!({"products": [
        {"id": 1, "name": "anvil", "price_cents": 4900},
        {"id": 2, "name": "bellows", "price_cents": 2500},
        {"id": 3, "name": "crucible", "price_cents": 1250},
    ]})
}

/// Any non-empty bearer token is valid, so that scenarios with a fixed token work.
fn user(authorization: Option<&[u8]>) -> Reply {
    let token = authorization.and_then(|value| value.strip_prefix(b"Bearer "));
    match token {
        Some([_, ..]) => json_reply(StatusCode::OK, json!({"id": 1, "name": "demo"})),
        _ => error(StatusCode::UNAUTHORIZED, "a bearer token is needed"),
    }
}

fn order(body: &[u8], next_order_id: impl FnOnce() -> u64) -> Reply {
    match serde_json::from_slice::<Value>(body) {
        Ok(order) => json_reply(
            StatusCode::CREATED,
            json!({"id": next_order_id(), "order": order}),
        ),
        Err(_) => error(StatusCode::BAD_REQUEST, "the body is not JSON"),
    }
}
