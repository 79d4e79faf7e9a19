//! The targets that one tenant of a shared fleet may have: a list of its operator, which narrows
//! what the fleet allows.

use std::net::IpAddr;

use loadpilot_events::id::TenantId;
use loadpilot_events::refusal::Problem;

use super::ALLOWED_MAX;
use super::address::{Network, bare_name, is_name};

/// The forms of an entry.
const FORMS: &str = "must be a host name, *.suffix, an address or a network such as 10.1.0.0/16, \
                     each with or without :port";

/// Maximum length of an entry, in bytes.
const ENTRY_BYTES_MAX: usize = 300;

/// The list of one tenant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TenantTargets {
    tenant: TenantId,
    entries: Vec<Entry>,
    texts: Vec<String>,
}

/// One entry of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    pattern: Pattern,
    /// `None`: every port.
    port: Option<u16>,
}

/// The targets that an entry allows.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Pattern {
    /// The addresses of a network.
    Network(Network),
    /// A name, in lower case: all addresses that it resolves to.
    Host(String),
    /// The names below this one, in lower case.
    Below(String),
}

impl TenantTargets {
    /// Reads the list of `tenant`.
    ///
    /// # Errors
    /// Each invalid entry, as `field[index]`, and a list that is empty or too long.
    pub fn parse(tenant: &TenantId, field: &str, texts: &[String]) -> Result<Self, Vec<Problem>> {
        let mut problems = Vec::new();
        if texts.is_empty() {
            let rule = "must name a target; left out, the tenant has all that the fleet allows";
            problems.push(Problem::new(field, rule, "[]"));
        }
        if texts.len() > ALLOWED_MAX {
            let rule = format!("must be at most {ALLOWED_MAX} targets");
            problems.push(Problem::new(field, rule, texts.len()));
        }
        let mut entries = Vec::new();
        for (index, text) in texts.iter().enumerate() {
            match Entry::parse(text) {
                Some(entry) => entries.push(entry),
                None => problems.push(Problem::new(format!("{field}[{index}]"), FORMS, text)),
            }
        }
        match problems.is_empty() {
            true => Ok(Self {
                tenant: tenant.clone(),
                entries,
                texts: texts.to_vec(),
            }),
            false => Err(problems),
        }
    }

    /// The tenant whose list it is.
    #[must_use]
    pub fn tenant(&self) -> &TenantId {
        &self.tenant
    }

    /// The entries, as they were written.
    #[must_use]
    pub fn texts(&self) -> &[String] {
        &self.texts
    }

    /// Whether a connection may be opened to `address`, an address of `host`.
    pub(super) fn allows(&self, host: &str, address: IpAddr, port: u16) -> bool {
        let is_listed = |entry: &Entry| match &entry.pattern {
            Pattern::Network(network) => network.contains(address),
            name => name.is_name_of(host),
        };
        let mut entries = self.of_port(port);
        entries.any(is_listed)
    }

    /// Whether a name that is not resolved yet may lead to an allowed address: the list contains
    /// the name itself, or it contains addresses.
    pub(super) fn may_allow(&self, host: &str, port: u16) -> bool {
        self.names(host, port)
            || self
                .of_port(port)
                .any(|entry| matches!(entry.pattern, Pattern::Network(_)))
    }

    /// Whether the list contains the name itself.
    pub(super) fn names(&self, host: &str, port: u16) -> bool {
        self.of_port(port)
            .any(|entry| entry.pattern.is_name_of(host))
    }

    fn of_port(&self, port: u16) -> impl Iterator<Item = &Entry> {
        let entries = self.entries.iter();
        entries.filter(move |entry| entry.port.is_none_or(|own| own == port))
    }
}

impl Entry {
    fn parse(text: &str) -> Option<Self> {
        if text.len() > ENTRY_BYTES_MAX {
            return None;
        }
        let (pattern, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let (pattern, rest) = rest.split_once(']')?;
                // Only IPv6 needs brackets.
                let pattern = pattern.contains(':').then_some(pattern)?;
                match rest {
                    "" => (pattern, None),
                    _ => (pattern, Some(rest.strip_prefix(':')?)),
                }
            }
            None => match text.split_once(':') {
                Some((pattern, port)) if !port.contains(':') => (pattern, Some(port)),
                _ => (text, None),
            },
        };
        let port = match port {
            Some(port) => Some(number(port)?),
            None => None,
        };
        let pattern = Pattern::parse(pattern)?;
        Some(Self { pattern, port })
    }
}

impl Pattern {
    fn parse(text: &str) -> Option<Self> {
        if let Some(network) = Network::parse(text) {
            return Some(Self::Network(network));
        }
        let suffix = text.strip_prefix("*.");
        let name = bare_name(suffix.unwrap_or(text));
        let is_sound = is_name(name) && !name.starts_with('.') && !name.contains("..");
        let name = is_sound.then(|| name.to_ascii_lowercase())?;
        Some(match suffix {
            Some(_) => Self::Below(name),
            None => Self::Host(name),
        })
    }

    fn is_name_of(&self, host: &str) -> bool {
        let host = bare_name(host).to_ascii_lowercase();
        match self {
            Self::Network(_) => false,
            Self::Host(name) => *name == host,
            Self::Below(suffix) => host
                .strip_suffix(suffix.as_str())
                .and_then(|below| below.strip_suffix('.'))
                .is_some_and(|below| !below.is_empty()),
        }
    }
}

/// A port from 1 on.
fn number(text: &str) -> Option<u16> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|port| is_number && *port > 0)
}
