//! How a run speaks to its target: protocol, connections and their reuse, addresses, TLS.
//!
//! Part of the plan, so that a report can say under which conditions it was made. Must never hold a
//! private key: that is a secret handle.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Everything about connections; the defaults are those of an ordinary HTTP client.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Connections {
    /// Which HTTP is spoken.
    #[serde(skip_serializing_if = "is_default")]
    pub http: Http,
    /// Most connections that one agent has open to the target at a time; arrivals that find none
    /// free wait in the queue. No limit of its own when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<u32>,
    /// Connections that each agent opens before the run starts; none when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_first: Option<u32>,
    /// HTTP/2 only: most requests at a time on one connection; 100 when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub streams_max: Option<u32>,
    /// How many calls may use a connection that is open already.
    #[serde(skip_serializing_if = "is_default")]
    pub reuse: Reuse,
    /// A connection is closed after this many requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests_max: Option<u32>,
    /// A connection that is older than this, in µs, takes no further request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub age_us_max: Option<u64>,
    /// Where to connect instead of to the target, whose name stays in Host and in TLS:
    /// `host:port`, or `unix:/path` for a socket of the agent's machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connect_to: Option<String>,
    /// Addresses of the agent's machine to connect from, in turn.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<String>,
    /// The target's name is resolved again when the answer is older than this, in µs; once per run
    /// when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolve_us: Option<u64>,
    /// For https.
    #[serde(skip_serializing_if = "is_default")]
    pub tls: TlsSettings,
}

/// Versions of HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub enum Http {
    /// HTTP/1.1.
    #[default]
    #[serde(rename = "1.1")]
    V1,
    /// HTTP/2: by ALPN over TLS, by prior knowledge in the clear.
    #[serde(rename = "2")]
    V2,
    /// What the target chooses by ALPN; HTTP/1.1 in the clear.
    #[serde(rename = "auto")]
    Auto,
}

/// How many calls may use a connection that is open already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reuse {
    /// Whenever there is one.
    #[default]
    Always,
    /// Each call opens its own.
    Never,
    /// This share of the calls, in millionths; which ones is drawn from the seed.
    SharePpm(u32),
}

/// What a TLS handshake uses beside the defaults.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TlsSettings {
    /// The target's certificate is not verified. The report says so.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub insecure: bool,
    /// Certificates (PEM) to trust instead of those of the agent's machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub roots_pem: Option<String>,
    /// The client's certificate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub identity: Option<TlsIdentity>,
}

/// A client certificate and the handle of its key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TlsIdentity {
    /// The certificate and its chain (PEM).
    pub certificate_pem: String,
    /// The name under which the submitter handed over the private key (PEM).
    pub key_secret: String,
}

/// Whether a setting says nothing that is not so anyway.
pub(crate) fn is_default<T: Default + PartialEq>(setting: &T) -> bool {
    *setting == T::default()
}
