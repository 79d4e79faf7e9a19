//! How a run speaks to its target: protocol, connections and their reuse, addresses, TLS.
//!
//! Part of the plan, so that a report can say under which conditions it was made. Must never hold a
//! private key: that is a secret handle.

use std::net::IpAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::defaults::is_default;

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
    /// Addresses of the agent's machine to connect from, in turn, each with a range of ports if
    /// the system is not to choose them: see [`Source`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<String>,
    /// Only addresses of this family are connected to; all that the name stands for when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ip: Option<IpFamily>,
    /// The target's name is resolved again when the answer is older than this, in µs; once per run
    /// when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolve_us: Option<u64>,
    /// For https.
    #[serde(skip_serializing_if = "is_default")]
    pub tls: TlsSettings,
}

/// Where connections come from: what one of `sources` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Source {
    /// An address of the agent's machine.
    pub address: IpAddr,
    /// The first and the last port to use; the system chooses when absent.
    pub ports: Option<(u16, u16)>,
}

impl Source {
    /// Of `10.0.0.5`, `fd00::1`, `10.0.0.5:20000-30000` or `[fd00::1]:20000-30000`; `None` for
    /// anything else.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if let Ok(address) = text.parse() {
            return Some(Self {
                address,
                ports: None,
            });
        }
        let (host, ports) = text.rsplit_once(':')?;
        let (first, last) = ports.split_once('-')?;
        let port = |text: &str| {
            let digits = text.bytes().all(|byte| byte.is_ascii_digit());
            text.parse::<u16>().ok().filter(|&port| digits && port > 0)
        };
        let ports = (port(first)?, port(last)?);
        let inner = host
            .strip_prefix('[')
            .and_then(|host| host.strip_suffix(']'));
        let address = match inner {
            Some(v6) => IpAddr::V6(v6.parse().ok()?),
            None => IpAddr::V4(host.parse().ok()?),
        };
        (ports.0 <= ports.1).then_some(Self {
            address,
            ports: Some(ports),
        })
    }
}

/// Families of addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum IpFamily {
    /// IPv4.
    #[serde(rename = "4")]
    V4,
    /// IPv6.
    #[serde(rename = "6")]
    V6,
}

impl IpFamily {
    /// Whether `address` is one of this family.
    #[must_use]
    pub fn has(self, address: IpAddr) -> bool {
        match self {
            Self::V4 => address.is_ipv4(),
            Self::V6 => address.is_ipv6(),
        }
    }

    /// As it is written: 4 or 6.
    #[must_use]
    pub fn digit(self) -> char {
        match self {
            Self::V4 => '4',
            Self::V6 => '6',
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Broken if a range were read as another one, or something else as a range.
    #[test]
    fn sources_are_addresses_with_or_without_ports() {
        let source = |address: &str, ports| {
            let address = address.parse().expect("an address");
            Some(Source { address, ports })
        };
        let sound = [
            ("10.0.0.5", source("10.0.0.5", None)),
            ("fd00::1", source("fd00::1", None)),
            (
                "10.0.0.5:20000-30000",
                source("10.0.0.5", Some((20_000, 30_000))),
            ),
            ("0.0.0.0:1-65535", source("0.0.0.0", Some((1, 65_535)))),
            ("[fd00::1]:7-7", source("fd00::1", Some((7, 7)))),
        ];
        for (text, wanted) in sound {
            assert_eq!(Source::parse(text), wanted, "{text}");
        }
        for text in [
            "",
            "eth0",
            "10.0.0.5:",
            "10.0.0.5:80",
            "10.0.0.5:30000-20000",
            "10.0.0.5:0-9",
            "10.0.0.5:1-65536",
            "10.0.0.5:+1-9",
            "10.0.0.5:1-9-",
            "[10.0.0.5]:1-9",
            "[fd00::1]",
            "host:1-9",
            ":1-9",
            "10.0.0.5: 1-9",
        ] {
            assert_eq!(Source::parse(text), None, "{text}");
        }
    }
}
