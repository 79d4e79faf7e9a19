//! Reads the limits of an account. If a log does not fit, refuses it before a part of it exists.

use std::time::Duration;

use async_nats::jetstream::account::{Account as Found, Limits};
use serde::Deserialize;
use serde_json::from_slice;

use super::Nats;
use crate::account::{Account, Allowance};
use crate::{Fault, Stream};

/// Subject on which a server reports to users the figures of their own account.
const STATISTICS: &str = "$SYS.REQ.ACCOUNT.PING.STATZ";
/// Timeout for the answer: servers without a system account do not answer.
const STATISTICS_TIMEOUT: Duration = Duration::from_millis(500);

/// Answer of one server on [`STATISTICS`].
#[derive(Deserialize)]
struct Statistics {
    data: Figures,
}

#[derive(Deserialize)]
struct Figures {
    account_statz: Vec<AccountFigures>,
}

#[derive(Deserialize)]
struct AccountFigures {
    conns: u64,
}

impl Nats {
    /// Limits and use of the account.
    pub(crate) async fn account_state(&self) -> Result<Account, Fault> {
        let found = self.account().await?;
        let info = self.client.try_server_info();
        let (limits, used, streams) = self.tier(&found)?;
        let positive = |limit: i64| u64::try_from(limit).ok().filter(|limit| *limit > 0);
        Ok(Account {
            server: info.map(|info| info.version).unwrap_or_default(),
            domain: found.domain.clone().filter(|domain| !domain.is_empty()),
            storage: Allowance {
                used,
                max: limits.max_storage.and_then(|max| u64::try_from(max).ok()),
            },
            streams: Allowance {
                used: streams as u64,
                max: limits.max_streams.and_then(positive),
            },
            stream_bytes_max: limits.storage_max_stream_bytes.and_then(positive),
            consumers_max: limits.max_consumers.and_then(positive),
            max_bytes_required: limits.max_bytes_required,
            message_bytes_max: self.message_bytes_max(),
        })
    }

    /// Limits, reserved bytes and number of streams of the tier for streams with this number of
    /// copies; those of the account, if it has no tiers.
    fn tier(&self, found: &Found) -> Result<(Limits, u64, usize), Fault> {
        let storage = |used: u64, reserved: u64| used.max(reserved);
        if found.tiers.is_empty() {
            let used = storage(found.storage, found.reserved_storage);
            return Ok((found.limits, used, found.streams));
        }
        let name = format!("R{}", self.options.limits.replicas);
        let Some(tier) = found.tiers.get(&name) else {
            return Err(Fault::NoJetStream {
                why: format!("the account allows no streams with {name}"),
            });
        };
        let used = storage(tier.storage, tier.reserved_storage);
        Ok((tier.limits, used, tier.streams))
    }

    /// Number of connections of the account to the server that answers first, this one included;
    /// `None` if no server reports it.
    pub(crate) async fn connections(&self) -> Option<u64> {
        let request = self.client.request(STATISTICS, "".into());
        let answer = tokio::time::timeout(STATISTICS_TIMEOUT, request)
            .await
            .ok()?;
        let statistics: Statistics = from_slice(&answer.ok()?.payload).ok()?;
        Some(
            statistics
                .data
                .account_statz
                .iter()
                .map(|one| one.conns)
                .sum(),
        )
    }

    /// Compares the limits of the account with the parts of the log that are absent.
    ///
    /// # Errors
    /// [`Fault::Shortage`] names each limit that is too small.
    pub(crate) async fn check_room(&self) -> Result<(), Fault> {
        if self.within.is_some() {
            // The log of a confined user was created by coordinators.
            return Ok(());
        }
        let mut absent = Vec::new();
        let streams = Stream::ALL.map(|stream| self.wanted_stream(stream));
        for wanted in streams
            .into_iter()
            .chain([self.wanted_bucket(), self.wanted_objects()])
        {
            match self.stream_info(&wanted.name).await {
                Ok(_) => {}
                Err(Fault::Missing { .. }) => absent.push(wanted),
                Err(fault) => return Err(fault),
            }
        }
        let account = self.account_state().await?;
        let copies = self.options.limits.replicas as u64;
        // With tiers, a limit counts a stream once, however many copies it has.
        let is_tiered = !self.account().await?.tiers.is_empty();
        let factor = if is_tiered { 1 } else { copies };
        let sizes: Vec<u64> = absent
            .iter()
            .map(|wanted| u64::try_from(wanted.max_bytes).unwrap_or_default() * factor)
            .collect();
        let shortages = account.shortages(&sizes);
        if shortages.is_empty() {
            return Ok(());
        }
        let texts: Vec<String> = shortages.iter().map(ToString::to_string).collect();
        Err(Fault::Shortage {
            allows: texts.join("; "),
        })
    }

    /// Number of consumers of a new stream: `wanted`, or fewer if the account allows fewer.
    pub(super) async fn consumers_max(&self, wanted: i32) -> Result<i32, Fault> {
        let found = self.account().await?;
        let (limits, ..) = self.tier(&found)?;
        let allowed = limits.max_consumers.and_then(|max| i32::try_from(max).ok());
        Ok(allowed
            .filter(|max| (1..wanted).contains(max))
            .unwrap_or(wanted))
    }
}
