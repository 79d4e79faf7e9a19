//! How a run connects to its target: protocol, connections and their reuse, addresses, TLS.
//!
//! Part of the plan, so that a report shows the conditions of its run. A private key is a secret
//! handle.

use std::net::{IpAddr, Ipv6Addr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::defaults::is_default;

/// Connection settings; the defaults are those of an ordinary HTTP client.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Connections {
    /// Base URLs beside the plan's target, of the same scheme. Arrivals take all of them in turn
    /// by their ordinals, the plan's target first; a user of a scenario stays with that of its own
    /// number, and each request of a list names its own.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub other_targets: Vec<String>,
    /// Version of HTTP.
    #[serde(skip_serializing_if = "is_default")]
    pub http: Http,
    /// Maximum number of open connections of one agent to the target; arrivals without a connection
    /// wait in the queue. Absent: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<u32>,
    /// Number of connections that each agent opens before the run starts. Absent: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_first: Option<u32>,
    /// Maximum number of concurrent requests on one HTTP/2 connection. Absent: 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub streams_max: Option<u32>,
    /// Which calls may use an open connection.
    #[serde(skip_serializing_if = "is_default")]
    pub reuse: Reuse,
    /// Maximum number of requests of a connection; then it is closed. Absent: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests_max: Option<u32>,
    /// Maximum age of a connection for a further request, in µs. Absent: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub age_us_max: Option<u64>,
    /// Address to connect to in place of the target, whose name stays in Host and in TLS:
    /// `host:port`, or `unix:/path` for a socket of the agent's machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connect_to: Option<String>,
    /// Addresses of the agent's machine to connect from, in turn, each with an optional range of
    /// ports: `10.0.0.5` or `10.0.0.5:20000-30000`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<String>,
    /// Address family to connect to. Absent: both.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ip: Option<IpFamily>,
    /// Maximum age of a name resolution, in µs; then the target's name is resolved again. Absent:
    /// once per run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolve_us: Option<u64>,
    /// Proxy through which all connections to the target are opened. Absent: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy: Option<Proxy>,
    /// Maximum number of redirects that a call of a step follows, within the origin of its target
    /// and `redirect_origins`, before its time-out. Absent: none is followed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redirects_max: Option<u32>,
    /// Further origins that redirects may lead to, `https://login.example`, without headers with
    /// credentials and never from https to http. Absent: none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub redirect_origins: Vec<String>,
    /// TLS settings of an https target.
    #[serde(skip_serializing_if = "is_default")]
    pub tls: TlsSettings,
}

/// A proxy between agents and target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Proxy {
    /// `http://host:port` (CONNECT) or `socks5://host:port`, without user. The proxy resolves the
    /// target's name.
    pub url: String,
    /// Handle of `user:password`, a secret that the submitter provides. Absent: no credentials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credentials_secret: Option<String>,
}

/// Protocol that a proxy speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProxyProtocol {
    /// CONNECT of HTTP/1.1 (RFC 9110, section 9.3.6).
    Http,
    /// SOCKS 5 (RFC 1928).
    Socks5,
}

impl Proxy {
    /// Protocol, host without brackets, and port of its URL; `None` for any other text.
    #[must_use]
    pub fn place(&self) -> Option<(ProxyProtocol, &str, u16)> {
        let (scheme, place) = self.url.split_once("://")?;
        let protocol = match scheme {
            "http" => ProxyProtocol::Http,
            "socks5" => ProxyProtocol::Socks5,
            _ => return None,
        };
        let (host, port) = place.rsplit_once(':')?;
        let v6 = host
            .strip_prefix('[')
            .and_then(|host| host.strip_suffix(']'));
        let is_part = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
        let host = match v6 {
            Some(v6) => v6.parse::<Ipv6Addr>().ok().map(|_| v6)?,
            None => Some(host).filter(|host| !host.is_empty() && host.chars().all(is_part))?,
        };
        let digits = port.bytes().all(|byte| byte.is_ascii_digit());
        let port = port.parse().ok().filter(|&port| digits && port > 0)?;
        Some((protocol, host, port))
    }
}

/// Local address of connections: one entry of `sources`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Source {
    /// Address of the agent's machine.
    pub address: IpAddr,
    /// First and last local port; the system chooses when absent.
    pub ports: Option<(u16, u16)>,
}

impl Source {
    /// Parses `10.0.0.5`, `fd00::1`, `10.0.0.5:20000-30000` or `[fd00::1]:20000-30000`; `None` for
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

/// Address family.
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
    /// Whether `address` belongs to this family.
    #[must_use]
    pub fn has(self, address: IpAddr) -> bool {
        match self {
            Self::V4 => address.is_ipv4(),
            Self::V6 => address.is_ipv6(),
        }
    }

    /// Digit of the family: 4 or 6.
    #[must_use]
    pub fn digit(self) -> char {
        match self {
            Self::V4 => '4',
            Self::V6 => '6',
        }
    }
}

/// Version of HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub enum Http {
    /// HTTP/1.1.
    #[default]
    #[serde(rename = "1.1")]
    V1,
    /// HTTP/2: by ALPN over TLS, by prior knowledge without TLS.
    #[serde(rename = "2")]
    V2,
    /// The target's choice by ALPN; HTTP/1.1 without TLS.
    #[serde(rename = "auto")]
    Auto,
}

/// Which calls may use an open connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reuse {
    /// Every call for which there is one.
    #[default]
    Always,
    /// No call: each opens its own connection.
    Never,
    /// This share of the calls, in millionths; the seed selects them.
    SharePpm(u32),
}

/// TLS settings beside the defaults.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TlsSettings {
    /// Whether the target's certificate is not verified. The report shows it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub insecure: bool,
    /// Trusted certificates (PEM) in place of those of the agent's machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub roots_pem: Option<String>,
    /// Client certificate. Absent: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub identity: Option<TlsIdentity>,
}

/// Client certificate and the handle of its key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TlsIdentity {
    /// Certificate and its chain (PEM).
    pub certificate_pem: String,
    /// Handle of the private key (PEM), a secret that the submitter provides.
    pub key_secret: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Broken if a proxy were reached at another place than its URL says, or a user could be in it.
    #[test]
    fn a_proxy_has_a_protocol_a_host_and_a_port() {
        let proxy = |url: &str| Proxy {
            url: url.to_owned(),
            credentials_secret: None,
        };
        for (url, wanted) in [
            (
                "http://proxy.lab:3128",
                (ProxyProtocol::Http, "proxy.lab", 3128),
            ),
            (
                "socks5://10.0.0.1:1080",
                (ProxyProtocol::Socks5, "10.0.0.1", 1080),
            ),
            ("http://[fd00::1]:80", (ProxyProtocol::Http, "fd00::1", 80)),
        ] {
            assert_eq!(proxy(url).place(), Some(wanted), "{url}");
        }
        for url in [
            "proxy:3128",
            "https://proxy:3128",
            "socks4://proxy:1080",
            "http://proxy",
            "http://proxy:0",
            "http://proxy:+1",
            "http://proxy:70000",
            "http://:80",
            "http://u:p@proxy:80",
            "http://proxy:80/",
            "http://fd00::1:80",
            "http://[proxy]:80",
            "http://pro xy:80",
        ] {
            assert_eq!(proxy(url).place(), None, "{url}");
        }
    }

    /// Broken if a range of ports were read as another one, or any other text as a range.
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
