//! URLs of NATS servers.

use loadpilot_bus::without_userinfo;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// The URL without user and password, for messages.
#[pyfunction]
pub(super) fn shown_address(url: &str) -> String {
    without_userinfo(url)
}

/// Seed and public half of a new key of a NATS user.
#[pyfunction]
pub(super) fn new_nats_key() -> PyResult<(String, String)> {
    let key = loadpilot_bus::UserKey::new();
    let key = key.ok_or_else(|| PyRuntimeError::new_err("no key could be made"))?;
    Ok((key.seed, key.public))
}

/// The first host off loopback to which a token would travel unencrypted, if any.
#[pyfunction]
pub(super) fn token_exposed_to(url: &str, has_token: bool) -> Option<String> {
    loadpilot_bus::token_exposed_to(url, has_token)
}
