//! What Python asks about the URL of a NATS server.

use loadpilot_bus::without_userinfo;
use pyo3::prelude::*;

/// The URL as messages may show it, without user and password.
#[pyfunction]
pub(crate) fn shown_address(url: &str) -> String {
    without_userinfo(url)
}

/// The server that a token would reach unencrypted and off loopback; None when it would not.
#[pyfunction]
pub(crate) fn token_exposed_to(url: &str, has_token: bool) -> Option<String> {
    loadpilot_bus::token_exposed_to(url, has_token)
}
