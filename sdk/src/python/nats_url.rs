//! URLs of NATS servers.

use loadpilot_bus::without_userinfo;
use pyo3::prelude::*;

/// The URL without user and password, for messages.
#[pyfunction]
pub(super) fn shown_address(url: &str) -> String {
    without_userinfo(url)
}

/// The first host off loopback to which a token would travel unencrypted, if any.
#[pyfunction]
pub(super) fn token_exposed_to(url: &str, has_token: bool) -> Option<String> {
    loadpilot_bus::token_exposed_to(url, has_token)
}
