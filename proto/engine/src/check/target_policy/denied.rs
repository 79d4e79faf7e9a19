//! Kinds of targets that are denied, and why one is.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;

use loadpilot_events::id::TenantId;

/// Kinds of targets that are denied by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The metadata service of a cloud, which hands out credentials.
    Metadata,
    /// The unspecified address: systems connect to themselves.
    Unspecified,
    /// Link-local addresses.
    LinkLocal,
    /// Multicast addresses.
    Multicast,
    /// The broadcast address.
    Broadcast,
    /// The agent's own machine.
    Loopback,
    /// A private network.
    Private,
    /// A socket in the file system.
    UnixSocket,
    /// The NATS server that the agent itself writes to.
    OwnServer,
    /// A target that the list of the run's tenant does not contain.
    Unlisted,
    /// An address at which no ownership token of the run's tenant was found before the start.
    Unproven,
}

/// A target that agents must not connect to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not allowed: {}", self.words())]
pub struct Denied {
    /// The kind that is denied.
    pub kind: Kind,
    /// The address or path.
    pub place: String,
    /// The tenant whose list was checked, for [`Kind::Unlisted`].
    pub tenant: Option<TenantId>,
}

impl Kind {
    /// The kind in messages.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Metadata => "cloud metadata address",
            Self::Unspecified => "unspecified address",
            Self::LinkLocal => "link-local address",
            Self::Multicast => "multicast address",
            Self::Broadcast => "broadcast address",
            Self::Loopback => "loopback address",
            Self::Private => "private address",
            Self::UnixSocket => "Unix socket",
            Self::OwnServer => "NATS server of the agent",
            Self::Unlisted => "target that is not listed",
            Self::Unproven => "address without an ownership token",
        }
    }

    /// The kind of an address without another one inside; `None` for a public address.
    pub(super) fn of(address: IpAddr) -> Option<Self> {
        match address {
            IpAddr::V4(v4) => Self::of_v4(v4),
            IpAddr::V6(v6) => Self::of_v6(v6),
        }
    }

    fn of_v4(address: Ipv4Addr) -> Option<Self> {
        Some(match address.octets() {
            [169, 254, 169, 254] | [169, 254, 170, 2 | 23] => Self::Metadata,
            // Alibaba, Azure, Oracle.
            [100, 100, 100, 200] | [168, 63, 129, 16] | [192, 0, 0, 192] => Self::Metadata,
            [0, ..] => Self::Unspecified,
            [127, ..] => Self::Loopback,
            [169, 254, ..] => Self::LinkLocal,
            [224..=239, ..] => Self::Multicast,
            [255, 255, 255, 255] => Self::Broadcast,
            [10, ..] | [172, 16..=31, ..] | [192, 168, ..] | [100, 64..=127, ..] => Self::Private,
            // Protocol assignments, benchmark networks and reserved addresses: not on the public
            // network.
            [192, 0, 0, _] | [198, 18 | 19, ..] | [240..=255, ..] => Self::Private,
            _ => return None,
        })
    }

    fn of_v6(address: Ipv6Addr) -> Option<Self> {
        Some(match address.segments() {
            // Two addresses of Amazon, and one of Google.
            [0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254 | 0x23] => Self::Metadata,
            [0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254] => Self::Metadata,
            [0, 0, 0, 0, 0, 0, 0, 0] => Self::Unspecified,
            [0, 0, 0, 0, 0, 0, 0, 1] => Self::Loopback,
            [0xfe80..=0xfebf, ..] => Self::LinkLocal,
            [0xff00..=0xffff, ..] => Self::Multicast,
            [0xfc00..=0xfdff, ..] | [0xfec0..=0xfeff, ..] => Self::Private,
            // Addresses that an operator translates within its own network (RFC 8215).
            [0x64, 0xff9b, 1, ..] => Self::Private,
            _ => return None,
        })
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.words())
    }
}

impl Denied {
    pub(super) fn new(kind: Kind, place: impl fmt::Display) -> Self {
        Self {
            kind,
            place: place.to_string(),
            tenant: None,
        }
    }

    pub(super) fn unlisted(tenant: &TenantId, place: impl fmt::Display) -> Self {
        Self {
            tenant: Some(tenant.clone()),
            ..Self::new(Kind::Unlisted, place)
        }
    }

    fn words(&self) -> String {
        match &self.tenant {
            Some(tenant) => format!("{} is not among the targets of tenant {tenant}", self.place),
            None => format!("{} {}{}", self.kind, self.place, self.hint()),
        }
    }

    /// How an operator can allow it, if that is possible.
    fn hint(&self) -> String {
        match self.kind {
            Kind::OwnServer | Kind::Unlisted | Kind::Unproven => String::new(),
            Kind::UnixSocket => {
                let folder = Path::new(&self.place).parent().unwrap_or(Path::new("/"));
                format!(" (--allow-target unix:{} opens it)", folder.display())
            }
            _ => format!(" (--allow-target {} opens it)", self.place),
        }
    }
}
