//! Addresses of the NATS servers of this agent, which no run may load.
//!
//! The addresses themselves are denied, too: a plan may name an address instead of the server. If
//! no address of any server is known, because no name was ever resolved, the run fails before its
//! start. A single name among others may be unknown, such as that of a node that left its cluster.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use loadpilot_engine::check::target_policy::TargetPolicy;
use tokio::net::lookup_host;
use tokio::task::JoinSet;
use tokio::time::timeout;

/// Timeout for the resolution of one name.
const LOOKUP_MAX: Duration = Duration::from_secs(2);

/// Name and port of a server.
type Server = (String, u16);

/// The addresses of each server by its last successful lookup, for all runs of the process.
#[derive(Debug, Clone, Default)]
pub struct NatsServers(Arc<Mutex<BTreeMap<Server, Vec<SocketAddr>>>>);

/// A server whose addresses are unknown, as are those of all others.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the agent cannot close the addresses of its NATS server {name}:{port} to the run, since that \
     name is not resolved: {reason}"
)]
pub(crate) struct UnknownServer {
    name: String,
    port: u16,
    reason: String,
}

impl NatsServers {
    /// `policy`, extended to deny the addresses of the servers that it names: those found by a
    /// lookup now, or by the last successful one.
    ///
    /// # Errors
    /// No lookup of any server succeeded.
    pub(crate) async fn denied_in(
        &self,
        policy: &TargetPolicy,
    ) -> Result<TargetPolicy, UnknownServer> {
        let own = self.take(look_up(policy.own_names()).await)?;
        Ok(policy.clone().with_own_addresses(own))
    }

    /// Takes the results of lookups; returns all addresses of these servers.
    fn take(
        &self,
        found: Vec<(Server, Result<Vec<SocketAddr>, String>)>,
    ) -> Result<Vec<SocketAddr>, UnknownServer> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut own = Vec::new();
        let mut unknown = Vec::new();
        for (server, addresses) in found {
            match (addresses, known.get(&server)) {
                (Ok(addresses), _) => {
                    own.extend(&addresses);
                    known.insert(server, addresses);
                }
                (Err(reason), Some(earlier)) => {
                    let (name, port) = &server;
                    tracing::warn!(name, port, reason, "own NATS server not resolved");
                    own.extend(earlier);
                }
                (Err(reason), None) => {
                    let (name, port) = server;
                    unknown.push(UnknownServer { name, port, reason });
                }
            }
        }
        if own.is_empty() && !unknown.is_empty() {
            return Err(unknown.swap_remove(0));
        }
        for server in unknown {
            tracing::warn!("{server}; the addresses of others are closed");
        }
        Ok(own)
    }
}

/// The addresses of each server, all looked up at the same time; never an empty list.
async fn look_up(servers: &[Server]) -> Vec<(Server, Result<Vec<SocketAddr>, String>)> {
    let mut lookups = JoinSet::new();
    for server in servers.iter().cloned() {
        lookups.spawn(async move {
            let found = match timeout(LOOKUP_MAX, lookup_host((&*server.0, server.1))).await {
                Ok(Ok(found)) => Ok(found.collect::<Vec<_>>()),
                Ok(Err(error)) => Err(error.to_string()),
                Err(_) => Err(format!("no answer within {} s", LOOKUP_MAX.as_secs())),
            };
            let found = match found {
                Ok(none) if none.is_empty() => Err("it has no address".to_owned()),
                other => other,
            };
            (server, found)
        });
    }
    lookups.join_all().await
}

#[cfg(test)]
mod tests {
    use loadpilot_engine::check::target_policy::Kind;

    use super::*;

    /// A name that no resolver looks up: its label is too long.
    fn unresolvable() -> String {
        format!("{}.invalid", "n".repeat(64))
    }

    fn policy(name: &str) -> TargetPolicy {
        TargetPolicy::local().with_own_server(&format!("nats://{name}:4222"))
    }

    /// Broken if a plan that names the address of a server reaches it while its name cannot be
    /// resolved.
    #[tokio::test]
    async fn an_unknown_server_fails() {
        let name = unresolvable();
        let unknown = NatsServers::default().denied_in(&policy(&name)).await;
        let words = unknown.expect_err("no address is known").to_string();
        assert!(
            words.contains(&format!("NATS server {name}:4222")),
            "{words}"
        );
    }

    /// Broken if a failed lookup opens the addresses that an earlier one found, or if a node of a
    /// cluster that is gone stops all runs.
    #[tokio::test]
    async fn a_server_keeps_its_last_addresses() {
        let name = unresolvable();
        let servers = NatsServers::default();
        let address: SocketAddr = "10.1.2.3:4222".parse().expect("an address");
        let found = vec![((name.clone(), 4222), Ok(vec![address]))];
        assert_eq!(servers.take(found), Ok(vec![address]));

        let policy = servers.clone().denied_in(&policy(&name)).await;
        let policy = policy.expect("an earlier lookup succeeded");
        let denied = policy.judge("shop.test", address).expect_err("the server");
        assert_eq!(denied.kind, Kind::OwnServer);

        let cluster = format!("nats://10.1.2.4:4222,nats://{name}:4223");
        let policy = TargetPolicy::local().with_own_server(&cluster);
        let policy = servers.denied_in(&policy).await.expect("one is known");
        let address = "10.1.2.4:4222".parse().expect("an address");
        let denied = policy.judge("shop.test", address).expect_err("the server");
        assert_eq!(denied.kind, Kind::OwnServer);
    }
}
