//! Checks before a start whether the target policy allows the target's addresses.
//!
//! A run whose every connection would be refused fails at once. Must never open a connection;
//! `dial` judges each one again.

use std::net::SocketAddr;
use std::time::Duration;

use loadpilot_events::refusal::Problem;
use tokio::net::lookup_host;
use tokio::time::timeout;

use super::program::Program;
use super::target::{Endpoint, Role, Target};
use crate::fire::fault::Fault;

/// Timeout for the resolution of one name; the calls of the run try again.
const LOOKUP_MAX: Duration = Duration::from_secs(2);

/// Judges every address of each target's name, or of its proxy's.
///
/// # Errors
/// [`Fault::NotAllowed`] when all addresses of a target are closed to this agent.
pub(crate) async fn check_targets(program: &Program) -> Result<(), Fault> {
    for target in &program.targets {
        check_target(program, target).await?;
    }
    Ok(())
}

async fn check_target(program: &Program, target: &Target) -> Result<(), Fault> {
    let Endpoint::Host(host, port) = &target.place else {
        return Ok(());
    };
    let mut first = None;
    for address in addresses(host, *port).await {
        if program
            .connections
            .ip
            .is_some_and(|ip| !ip.has(address.ip()))
        {
            continue;
        }
        match program.policy.judge(host, address) {
            Ok(()) => return Ok(()),
            Err(denied) => first = first.or(Some(denied)),
        }
    }
    // An unresolved name is no error here: each call fails with that cause.
    let Some(denied) = first else {
        return Ok(());
    };
    let place = format!("{host}:{port}");
    let field = match (&target.proxy, target.role) {
        (Some(_), _) => "connections.proxy",
        (None, Role::Target) => "target",
        (None, Role::RedirectOrigin) => "connections.redirect_origins",
    };
    Err(Fault::NotAllowed(Problem::new(
        field,
        denied.to_string(),
        place,
    )))
}

/// The addresses of a name; empty when it is not resolved in time.
async fn addresses(host: &str, port: u16) -> Vec<SocketAddr> {
    match timeout(LOOKUP_MAX, lookup_host((host, port))).await {
        Ok(Ok(found)) => found.collect(),
        Ok(Err(error)) => {
            tracing::debug!(host, %error, "name not resolved");
            Vec::new()
        }
        Err(_) => {
            tracing::debug!(host, "name not resolved in time");
            Vec::new()
        }
    }
}
