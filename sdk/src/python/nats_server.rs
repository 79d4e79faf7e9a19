//! NATS servers: the Python class of one, and checks of its URL and prefix.

use std::path::PathBuf;

use loadpilot_bus::{Certificate, KeyKind, NatsKey, Options, api_prefix, without_userinfo};
use loadpilot_events::wire::subject::DEFAULT_PREFIX;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

use super::blocking::wait;
use super::errors::failed;
use super::values::json;
use crate::server_address::{ServerAddress, read_account};

/// The attributes of `loadpilot.control.nats_settings.Server`; that class documents them.
#[derive(FromPyObject)]
pub(super) struct Server {
    url: String,
    token: Option<String>,
    token_file: Option<PathBuf>,
    creds: Option<PathBuf>,
    tenant: String,
    cacert: Option<PathBuf>,
    cert: Option<PathBuf>,
    key: Option<PathBuf>,
    domain: Option<String>,
    api_prefix: Option<String>,
}

impl Server {
    /// # Errors
    /// `ValueError` for a domain or prefix that cannot be part of a subject.
    pub(super) fn address(self) -> PyResult<ServerAddress> {
        let mut options = Options {
            token: self.token,
            token_file: self.token_file,
            creds: self.creds,
            cacert: self.cacert,
            certificate: self
                .cert
                .zip(self.key)
                .map(|(cert, key)| Certificate { cert, key }),
            prefix: DEFAULT_PREFIX.to_owned(),
            ..Options::new(self.url)
        };
        let prefix = api_prefix(self.domain, self.api_prefix)
            .map_err(|one| PyValueError::new_err(format!("--{}: {}", one.flag, one.rule)))?;
        if let Some(prefix) = prefix {
            options.api_prefix = prefix;
        }
        Ok(ServerAddress {
            options,
            tenant: self.tenant,
        })
    }
}

/// The limits and the use of a server's account, as JSON.
#[pyfunction]
pub(super) fn account(py: Python<'_>, server: Server) -> PyResult<String> {
    let address = server.address()?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let report = wait(py, &runtime, async move { read_account(&address).await })?;
    json(&report.map_err(|error| failed(py, &error))?)
}

/// Checks a domain or a prefix of the JetStream API; returns the first problem as flag, rule and
/// value, or None.
#[pyfunction]
#[pyo3(signature = (domain, prefix))]
pub(super) fn wrong_api_prefix(
    domain: Option<String>,
    prefix: Option<String>,
) -> Option<(String, String, String)> {
    let wrong = api_prefix(domain, prefix).err()?;
    Some((format!("--{}", wrong.flag), wrong.rule, wrong.found))
}

/// The URL without user and password, for messages.
#[pyfunction]
pub(super) fn shown_address(url: &str) -> String {
    without_userinfo(url)
}

const NO_SEED: &str = "not the seed of an operator, account or user of NATS";

/// Seed and public half of a new key of a NATS `operator`, `account` or `user`.
#[pyfunction]
#[pyo3(signature = (kind = "user"))]
pub(super) fn new_nats_key(kind: &str) -> PyResult<(String, String)> {
    let kind = match kind {
        "operator" => KeyKind::Operator,
        "account" => KeyKind::Account,
        "user" => KeyKind::User,
        _ => {
            return Err(PyValueError::new_err(
                "kind must be operator, account or user",
            ));
        }
    };
    let key = NatsKey::new(kind);
    let seed = key.seed();
    let seed = seed.ok_or_else(|| PyRuntimeError::new_err("no key could be made"))?;
    Ok((seed, key.public()))
}

/// Kind and public half of the key with this seed; `ValueError` for any other text, which the error
/// does not quote.
#[pyfunction]
pub(super) fn nats_key(seed: &str) -> PyResult<(&'static str, String)> {
    let key = NatsKey::from_seed(seed);
    let key = key.ok_or_else(|| PyValueError::new_err(NO_SEED))?;
    let kind = match key.kind() {
        Some(KeyKind::Operator) => "operator",
        Some(KeyKind::Account) => "account",
        Some(KeyKind::User) => "user",
        None => return Err(PyValueError::new_err(NO_SEED)),
    };
    Ok((kind, key.public()))
}

/// The signature of a text by the key with this seed; `ValueError` if the seed is not valid.
#[pyfunction]
pub(super) fn sign_with_nats_key(seed: &str, text: &[u8]) -> PyResult<Vec<u8>> {
    let key = NatsKey::from_seed(seed);
    let signature = key.and_then(|key| key.sign(text));
    signature.ok_or_else(|| PyValueError::new_err(NO_SEED))
}

/// The first host off loopback to which a token would travel unencrypted, if any.
#[pyfunction]
pub(super) fn token_exposed_to(url: &str, has_token: bool) -> Option<String> {
    loadpilot_bus::token_exposed_to(url, has_token)
}
