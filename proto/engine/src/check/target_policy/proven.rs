//! Addresses at which an ownership token was found before the start (ADR 0067).

use std::collections::BTreeSet;
use std::net::SocketAddr;

use super::address::inside;
use super::denied::{Denied, Kind};

/// Addresses that have an ownership token.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProvenAddresses(BTreeSet<SocketAddr>);

impl FromIterator<SocketAddr> for ProvenAddresses {
    fn from_iter<I: IntoIterator<Item = SocketAddr>>(peers: I) -> Self {
        let plain = |peer: SocketAddr| SocketAddr::new(inside(peer.ip()), peer.port());
        Self(peers.into_iter().map(plain).collect())
    }
}

impl ProvenAddresses {
    /// Judges an address without another one inside.
    pub(super) fn judge(&self, peer: SocketAddr) -> Result<(), Denied> {
        match self.0.contains(&peer) {
            true => Ok(()),
            false => Err(Denied::new(Kind::Unproven, peer)),
        }
    }
}
