//! Checks whether this machine has the open files and local ports that its share of a run needs.
//! Without the check, calls of the run would fail.
//!
//! Must never refuse more than the plan requires: the agent's own limits fit its machine.

use loadpilot_engine::control::agent_view::Hold;
use loadpilot_engine::control::created_run::CreatedRun;
use loadpilot_engine::schedule::user_types::pairs::share_of;
use loadpilot_events::plan::Plan;
use loadpilot_events::plan::connections::{Http, Reuse, Source};

use crate::fire::{STREAMS_MAX, system_port_range};
use crate::process::config::SPARE_FDS;
use crate::process::shell::Shell;

/// A share of a run that needs more open files than this process may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooFewFiles {
    /// Number of open files that it needs.
    pub(super) needed: u64,
    /// Maximum number of open files of this process.
    pub(super) limit: u64,
}

/// Checks the share `holds` of a run.
///
/// # Errors
/// Its connections need more open files than this process may have.
pub(super) fn check(
    shell: &Shell,
    created: &CreatedRun,
    holds: &[Hold],
) -> Result<(), TooFewFiles> {
    let plan = &created.plan;
    let calls = match plan.users {
        Some(users) => {
            let paired = created.plan.paired;
            Some(users_of(users, paired, created.shards, holds))
        }
        None => calls_of_plan(plan, shell),
    };
    let Some(connections) = connections_needed(plan, calls) else {
        return Ok(());
    };
    let needed = connections + SPARE_FDS;
    if needed > shell.fds {
        return Err(TooFewFiles {
            needed,
            limit: shell.fds,
        });
    }
    let ports = ports(plan, system_port_range());
    if ports.is_some_and(|ports| ports < connections) {
        tracing::warn!(
            connections,
            ports,
            "too few ports for the connections to one address of the target: see \
             net.ipv4.ip_local_port_range, or connect from several addresses (sources)"
        );
    }
    Ok(())
}

/// Number of `users` in the shards of `holds`.
fn users_of(users: u32, paired: bool, shards: u32, holds: &[Hold]) -> u64 {
    let held = holds.iter().flat_map(|hold| hold.shards.iter().copied());
    share_of(paired, shards, held.collect()).count_below(u64::from(users))
}

/// Maximum number of concurrent calls of an open loop, if the plan sets it. A lower limit of the
/// operator applies instead, if it fits the machine.
fn calls_of_plan(plan: &Plan, shell: &Shell) -> Option<u64> {
    let wanted = u64::from(plan.max_in_flight?);
    let allowed = u64::from(shell.max_in_flight);
    match allowed + SPARE_FDS < shell.fds {
        true => Some(wanted.min(allowed)),
        false => Some(wanted),
    }
}

/// Number of connections that `calls` concurrent calls need, if the plan limits either.
fn connections_needed(plan: &Plan, calls: Option<u64>) -> Option<u64> {
    let settings = &plan.connections;
    let calls_of_one = match (settings.http, settings.reuse) {
        (Http::V2, Reuse::Always) => settings.streams_max.unwrap_or(STREAMS_MAX),
        _ => 1,
    };
    let for_calls = calls.map(|calls| calls.div_ceil(u64::from(calls_of_one)));
    let most = settings.max.map(u64::from);
    let needed = for_calls.into_iter().chain(most).min();
    needed.max(settings.open_first.map(u64::from))
}

/// Number of local ports for connections to one address of the target; `None` if they need none, or
/// if the system's range is unknown.
fn ports(plan: &Plan, systems: Option<(u16, u16)>) -> Option<u64> {
    let settings = &plan.connections;
    let place = settings.connect_to.as_deref().unwrap_or_default();
    if place.starts_with("unix:") {
        return None;
    }
    let count = |(first, last): (u16, u16)| u64::from(last.saturating_sub(first)) + 1;
    if settings.sources.is_empty() {
        return systems.map(count);
    }
    let sources = settings
        .sources
        .iter()
        .filter_map(|text| Source::parse(text));
    let counts = sources.map(|source| source.ports.or(systems).map(count));
    counts.sum()
}

#[cfg(test)]
mod tests {
    use loadpilot_events::plan::connections::Connections;

    use super::*;

    const PLAN: &str = r#"{
        "schema": "loadpilot.plan/1", "scenario": "Much", "target": "http://localhost:1",
        "profile": {"shape": "constant", "pieces": []}, "tasks": [],
        "warm_up_us": 0, "timeout_us": 1, "max_wait_us": 1, "max_lateness_us": 1, "tick_us": 1
    }"#;

    fn plan() -> Plan {
        serde_json::from_str(PLAN).expect("a plan")
    }

    /// Broken if a run that this machine cannot hold begins, or one that it can hold is refused.
    #[test]
    fn what_is_needed_follows_from_the_plan() {
        let mut plan = plan();
        assert_eq!(connections_needed(&plan, None), None);
        assert_eq!(connections_needed(&plan, Some(5_000)), Some(5_000));
        plan.connections.max = Some(700);
        assert_eq!(connections_needed(&plan, None), Some(700));
        assert_eq!(connections_needed(&plan, Some(5_000)), Some(700));
        assert_eq!(connections_needed(&plan, Some(500)), Some(500));
        plan.connections.open_first = Some(600);
        assert_eq!(connections_needed(&plan, Some(500)), Some(600));

        plan.connections = Connections::default();
        plan.connections.http = Http::Auto;
        assert_eq!(connections_needed(&plan, Some(101)), Some(101));
        plan.connections.http = Http::V2;
        assert_eq!(connections_needed(&plan, Some(101)), Some(2));
        plan.connections.streams_max = Some(10);
        assert_eq!(connections_needed(&plan, Some(101)), Some(11));
        plan.connections.reuse = Reuse::Never;
        assert_eq!(connections_needed(&plan, Some(101)), Some(101));
    }

    /// Broken if users of other agents are counted, or the agent's own users are not.
    #[test]
    fn users_are_those_of_the_shards_held() {
        let hold = |shards: &[u32]| Hold {
            generation: 1,
            from_tick: 0,
            until_tick: None,
            shards: shards.to_vec(),
        };
        assert_eq!(users_of(10, false, 4, &[hold(&[0, 1])]), 6);
        assert_eq!(users_of(10, false, 4, &[hold(&[2]), hold(&[3, 2])]), 4);
        assert_eq!(users_of(10, false, 4, &[]), 0);
    }

    /// Broken if ports are counted that the load does not use.
    #[test]
    fn ports_are_those_of_the_sources() {
        let systems = Some((101, 200));
        let mut plan = plan();
        assert_eq!(ports(&plan, systems), Some(100));
        assert_eq!(ports(&plan, None), None);
        plan.connections.sources = vec!["10.0.0.5:1-5".to_owned()];
        assert_eq!(ports(&plan, systems), Some(5));
        plan.connections.sources.push("10.0.0.6".to_owned());
        assert_eq!(ports(&plan, systems), Some(105));
        plan.connections.connect_to = Some("unix:/run/shop".to_owned());
        assert_eq!(ports(&plan, systems), None);
    }
}
