//! Limits of an account, and what a log needs of them.
//!
//! A comparison is pure: it must never read anything.

use std::fmt;

use serde::Serialize;

use crate::{Bus, Fault};

/// Size of a message in bytes that suffices for the plans and reports of about 3,500 agents.
const MESSAGE_BYTES: u64 = 1_000_000;
/// Number of consumers of one stream that suffices for a busy fleet.
const CONSUMERS: u64 = 32;

/// The limits and the use of an account, as far as the server reports them to the account's users.
/// The server does not report how many connections it allows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Account {
    /// Version of the server.
    pub server: String,
    /// JetStream domain in which the account's streams are.
    pub domain: Option<String>,
    /// Bytes that streams in files may take.
    pub storage: Allowance,
    /// Number of streams.
    pub streams: Allowance,
    /// Maximum size of one stream in bytes; `None`: no limit.
    pub stream_bytes_max: Option<u64>,
    /// Maximum number of consumers of one stream; `None`: no limit.
    pub consumers_max: Option<u64>,
    /// Whether a stream without a limit in bytes is refused; those of the log have one.
    pub max_bytes_required: bool,
    /// Maximum size of a message in bytes, as the server stated when it was connected to.
    pub message_bytes_max: u64,
}

/// A limit of an account, and how much of it is in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Allowance {
    /// The reserved bytes, or the number of existing streams.
    pub used: u64,
    /// `None`: no limit.
    pub max: Option<u64>,
}

/// A limit of an account that is too small for the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shortage {
    /// The limit, and how to raise it.
    pub limit: Limit,
    /// The amount that the absent streams of the log need.
    pub needed: u64,
    /// The amount that the account has left of it, or allows.
    pub allowed: u64,
}

/// Limits that an account can set below what a log needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Bytes that all streams may take.
    Storage,
    /// Bytes that one stream may take.
    StreamBytes,
    /// Number of streams.
    Streams,
}

impl Bus {
    /// The limits and the use of the account; `None` where there is no account.
    ///
    /// # Errors
    /// [`Fault::NoJetStream`], and any fault of the request.
    pub async fn account(&self) -> Result<Option<Account>, Fault> {
        match self {
            Bus::Nats(bus) => bus.account_state().await.map(Some),
            Bus::File(_) => Ok(None),
            #[cfg(feature = "memory")]
            Bus::Memory(_) => Ok(None),
        }
    }

    /// Number of connections that the account has now, this one included; `None` if the server does
    /// not report it.
    pub async fn connections(&self) -> Option<u64> {
        match self {
            Bus::Nats(bus) => bus.connections().await,
            Bus::File(_) => None,
            #[cfg(feature = "memory")]
            Bus::Memory(_) => None,
        }
    }

    /// Whether the account has room for the parts of the log that are absent. Creates nothing.
    ///
    /// # Errors
    /// [`Fault::Shortage`], and any fault of a request.
    pub async fn check_room(&self) -> Result<(), Fault> {
        match self {
            Bus::Nats(bus) => bus.check_room().await,
            Bus::File(_) => Err(Fault::ReadOnly),
            #[cfg(feature = "memory")]
            Bus::Memory(_) => Ok(()),
        }
    }
}

impl fmt::Display for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let limit = |max: Option<u64>, text: fn(u64) -> String| match max {
            Some(max) => format!(" of {}", text(max)),
            None => ", no limit".to_owned(),
        };
        write!(
            f,
            "{} of storage{}; {} streams{}; messages of {}",
            size(self.storage.used),
            limit(self.storage.max, size),
            self.streams.used,
            limit(self.streams.max, |max| max.to_string()),
            size(self.message_bytes_max),
        )?;
        match &self.domain {
            Some(domain) => write!(f, "; JetStream domain {domain}"),
            None => Ok(()),
        }
    }
}

impl Allowance {
    /// The amount that is left; `None`: no limit.
    pub fn left(&self) -> Option<u64> {
        self.max.map(|max| max.saturating_sub(self.used))
    }
}

impl Account {
    /// The limits that suffice for small fleets only, each with its consequence.
    pub fn warnings(&self) -> Vec<String> {
        let mut found = Vec::new();
        if self.message_bytes_max < MESSAGE_BYTES {
            found.push(format!(
                "NATS accepts messages of {} only: runs with large plans or many agents fail; \
                 raise max_payload to 1 MB",
                size(self.message_bytes_max)
            ));
        }
        if let Some(max) = self.consumers_max.filter(|max| *max < CONSUMERS) {
            found.push(format!(
                "the account allows {max} consumers of a stream: each coordinator has one, and \
                 each command or page that follows a run has one of each stream"
            ));
        }
        found
    }

    /// The limits that are too small for further streams of these sizes in bytes.
    pub fn shortages(&self, streams: &[u64]) -> Vec<Shortage> {
        let total = streams.iter().sum();
        let largest = streams.iter().copied().max().unwrap_or_default();
        let needs = [
            (Limit::Streams, streams.len() as u64, self.streams.left()),
            (Limit::Storage, total, self.storage.left()),
            (Limit::StreamBytes, largest, self.stream_bytes_max),
        ];
        let short = needs.into_iter().filter_map(|(limit, needed, allowed)| {
            let allowed = allowed.filter(|allowed| needed > *allowed)?;
            Some(Shortage {
                limit,
                needed,
                allowed,
            })
        });
        short.collect()
    }
}

impl fmt::Display for Shortage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (needed, allowed) = (self.needed, self.allowed);
        match self.limit {
            Limit::Streams => write!(
                f,
                "{allowed} more streams, and the log needs {needed} (remove others, or choose a \
                 larger plan)"
            ),
            Limit::Storage => write!(
                f,
                "{} more of storage in files, and the log needs {} (start the first coordinator \
                 with a smaller --log-storage, remove other streams, or choose a larger plan)",
                size(allowed),
                size(needed)
            ),
            Limit::StreamBytes => write!(
                f,
                "{} for a stream, and the largest of the log takes {} (start the first \
                 coordinator with a smaller --log-storage)",
                size(allowed),
                size(needed)
            ),
        }
    }
}

/// A size in KiB, MiB or GiB, with one digit, which is rounded down.
pub(crate) fn size(bytes: u64) -> String {
    let (unit, name) = match bytes {
        0..0x10_0000 => (1 << 10, "KiB"),
        0x10_0000..0x4000_0000 => (1 << 20, "MiB"),
        _ => (1 << 30, "GiB"),
    };
    let tenths = u128::from(bytes) * 10 / unit;
    format!("{}.{} {name}", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(storage: u64, streams: u64, stream_bytes_max: Option<u64>) -> Account {
        let allowance = |max| Allowance {
            used: 0,
            max: Some(max),
        };
        Account {
            server: String::new(),
            domain: None,
            storage: allowance(storage),
            streams: allowance(streams),
            stream_bytes_max,
            consumers_max: None,
            max_bytes_required: true,
            message_bytes_max: 0,
        }
    }

    /// Broken if one limit that is too small hides another, or a log that fits is refused.
    #[test]
    fn each_limit_is_compared() {
        let streams = [64, 2_048, 16, 512];
        let enough = account(2_640, 4, Some(2_048));
        assert_eq!(enough.shortages(&streams), []);
        let short = account(2_639, 3, Some(2_047)).shortages(&streams);
        let found: Vec<_> = short
            .iter()
            .map(|one| (one.limit, one.needed, one.allowed))
            .collect();
        let expected = [
            (Limit::Streams, 4, 3),
            (Limit::Storage, 2_640, 2_639),
            (Limit::StreamBytes, 2_048, 2_047),
        ];
        assert_eq!(found, expected);
        assert_eq!(account(0, 0, None).shortages(&[]), []);
    }

    /// Broken if a size is shown larger than it is: the limit would seem sufficient.
    #[test]
    fn sizes_are_rounded_down() {
        assert_eq!(size(2_640 << 20), "2.5 GiB");
        assert_eq!(size((1 << 30) - 1), "1023.9 MiB");
        assert_eq!(size(64_000), "62.5 KiB");
        assert_eq!(size(0), "0.0 KiB");
    }
}
