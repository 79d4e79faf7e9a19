//! The agents of a run, and figures of each over time.
//!
//! Must never sum figures about a machine that several processes of one agent report.

use std::collections::BTreeSet;
use std::ops::Range;

use loadpilot_events::answers::agent_stats::{AgentOverTime, Attendance};
use loadpilot_events::answers::report::HolderFacts;
use loadpilot_events::answers::slice::Slice;
use loadpilot_events::id::AgentId;
use loadpilot_events::log::delta::Phase;
use loadpilot_events::refusal::Refusal;

use crate::fold::index::{AgentGauges, Key};
use crate::report::figures::holders::holders;
use crate::report::figures::percentiles::percentile_us;
use crate::report::slice::{Indexed, Query};
use crate::tally::packed_histogram::{HistogramSum, Precision};

/// The agents of a run over a slice, of which only the times and the bucket length are used.
///
/// # Errors
/// All problems of the slice.
pub fn agent_stats(run: Indexed<'_>, slice: &Slice) -> Result<Attendance, Refusal> {
    let query = Query::of(run, slice)?;
    let facts = holders(run.control, run.data);
    let names: BTreeSet<&AgentId> = facts.iter().map(|facts| &facts.holder.agent).collect();
    let mut agents: Vec<AgentOverTime> = names
        .into_iter()
        .map(|agent| nothing(run, agent, &facts))
        .collect();
    let known = run.index.agents();
    let number = |agent: &AgentOverTime| known.iter().position(|known| *known == agent.agent);
    let numbers: Vec<Option<usize>> = agents.iter().map(number).collect();
    for ticks in query.buckets() {
        let counted = counted(run, ticks.clone());
        for (agent, number) in agents.iter_mut().zip(&numbers) {
            gauge(run, agent, *number, ticks.clone());
            count(agent, number.map(|number| &counted[number]));
        }
    }
    let begins = query.buckets().map(|ticks| u64::from(ticks.start));
    Ok(Attendance {
        run: run.control.run.clone(),
        bucket_us: query.bucket_us(),
        from_us: begins.map(|tick| tick * query.tick_us).collect(),
        agents,
    })
}

fn nothing(run: Indexed<'_>, agent: &AgentId, facts: &[HolderFacts]) -> AgentOverTime {
    let mut offers = run.control.state.offers.iter();
    let offer = offers.rfind(|(holder, _)| holder.agent == *agent);
    let own = facts.iter().filter(|facts| facts.holder.agent == *agent);
    AgentOverTime {
        agent: agent.clone(),
        cores: offer.map(|(_, offer)| offer.cores),
        version: offer.map(|(_, offer)| offer.version.clone()),
        holders: own.cloned().collect(),
        started: Vec::new(),
        finished: Vec::new(),
        cpu_millicores: Vec::new(),
        busiest_core_permille: Vec::new(),
        stall_us: Vec::new(),
        in_flight: Vec::new(),
        lag_p99_us: Vec::new(),
    }
}

/// Adds the gauges of an agent, by its number in the index.
fn gauge(run: Indexed<'_>, agent: &mut AgentOverTime, number: Option<usize>, ticks: Range<u32>) {
    let number = number.and_then(|number| u16::try_from(number).ok());
    let gauges = number.and_then(|number| run.index.gauges(number, ticks));
    let of = |get: fn(&AgentGauges) -> u64| gauges.as_ref().map(get);
    agent.cpu_millicores.push(of(|one| one.cpu_millicores));
    let busiest = of(|one| one.busiest_core_permille);
    agent.busiest_core_permille.push(busiest);
    agent.stall_us.push(of(|one| one.stall_us));
    agent.in_flight.push(of(|one| one.in_flight));
}

/// Counts of an agent in a bucket.
struct Counted {
    started: u64,
    finished: u64,
    lag: HistogramSum,
}

/// Counts of each agent of the index.
fn counted(run: Indexed<'_>, ticks: Range<u32>) -> Vec<Counted> {
    let nothing = |_: &AgentId| Counted {
        started: 0,
        finished: 0,
        lag: HistogramSum::new(Precision::Phase),
    };
    let mut counted: Vec<Counted> = run.index.agents().iter().map(nothing).collect();
    run.index.walk(ticks, |entry| match entry.key {
        Key::Arrivals { agent, .. } => counted[usize::from(agent)].started += entry.count,
        Key::Calls { agent, outcome, .. } if outcome.is_finished() => {
            counted[usize::from(agent)].finished += entry.count;
        }
        Key::Phase {
            agent,
            phase: Phase::ScheduleLag,
            ..
        } => counted[usize::from(agent)].lag.add(entry.response()),
        Key::Calls { .. } | Key::Phase { .. } | Key::Raises { .. } => {}
    });
    counted
}

/// Adds the counts of an agent, if the index knows it.
fn count(agent: &mut AgentOverTime, counted: Option<&Counted>) {
    agent.started.push(counted.map_or(0, |sums| sums.started));
    agent.finished.push(counted.map_or(0, |sums| sums.finished));
    let lag = counted.map(|sums| sums.lag.hist());
    let lag = lag.filter(|lag| !lag.is_empty());
    agent
        .lag_p99_us
        .push(lag.map(|lag| percentile_us(&lag, 99.0)));
}
