//! Who generated the load of a run, and how each agent fared over time.
//!
//! Must never sum what several processes of one agent say of their machine.

use std::collections::BTreeSet;
use std::ops::Range;

use loadpilot_events::attendance::{AgentOverTime, Attendance};
use loadpilot_events::delta::Phase;
use loadpilot_events::id::AgentId;
use loadpilot_events::refusal::Refusal;
use loadpilot_events::report::HolderFacts;
use loadpilot_events::slice::Slice;

use crate::index::{Gauged, Key};
use crate::ladder::percentile_us;
use crate::report::holders;
use crate::slice::{Asked, Indexed};
use crate::sparse::{Dense, Grain};

/// The agents of a run over a slice of it, of which the times and the grain matter only.
///
/// # Errors
/// Everything that is wrong with the slice.
pub fn attendance(run: Indexed<'_>, slice: &Slice) -> Result<Attendance, Refusal> {
    let asked = Asked::of(run, slice)?;
    let facts = holders(run.control, run.data);
    let names: BTreeSet<&AgentId> = facts.iter().map(|facts| &facts.holder.agent).collect();
    let mut agents: Vec<AgentOverTime> = names
        .into_iter()
        .map(|agent| nothing(run, agent, &facts))
        .collect();
    for ticks in asked.buckets() {
        for agent in &mut agents {
            add(run, agent, ticks.clone());
        }
        count(run, &mut agents, ticks);
    }
    let begins = asked.buckets().map(|ticks| u64::from(ticks.start));
    Ok(Attendance {
        run: run.control.run.clone(),
        bucket_us: asked.bucket_us(),
        from_us: begins.map(|tick| tick * asked.tick_us).collect(),
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

/// Adds what an agent said of itself.
fn add(run: Indexed<'_>, agent: &mut AgentOverTime, ticks: Range<u32>) {
    let known = run.index.agents().iter();
    let mut known = known.zip(0_u16..).filter(|(one, _)| **one == agent.agent);
    let number = known.next().map(|(_, number)| number);
    let gauged = number.and_then(|number| run.index.gauged(number, ticks));
    let of = |get: fn(&Gauged) -> u64| gauged.as_ref().map(get);
    agent
        .cpu_millicores
        .push(of(|gauged| gauged.cpu_millicores));
    let busiest = of(|gauged| gauged.busiest_core_permille);
    agent.busiest_core_permille.push(busiest);
    agent.stall_us.push(of(|gauged| gauged.stall_us));
    agent.in_flight.push(of(|gauged| gauged.in_flight));
}

/// Adds what agents did.
fn count(run: Indexed<'_>, agents: &mut [AgentOverTime], ticks: Range<u32>) {
    let known = run.index.agents();
    let mut sums: Vec<(u64, u64, Dense)> = known
        .iter()
        .map(|_| (0, 0, Dense::new(Grain::Phase)))
        .collect();
    run.index.walk(ticks, |entry| match entry.key {
        Key::Arrivals { agent, .. } => sums[usize::from(agent)].0 += entry.count,
        Key::Calls { agent, outcome, .. } if outcome.is_finished() => {
            sums[usize::from(agent)].1 += entry.count;
        }
        Key::Phase {
            agent,
            phase: Phase::ScheduleLag,
            ..
        } => sums[usize::from(agent)].2.add(entry.response()),
        Key::Calls { .. } | Key::Phase { .. } => {}
    });
    for agent in agents {
        let place = known.iter().position(|one| *one == agent.agent);
        let sums = place.map(|place| &sums[place]);
        agent.started.push(sums.map_or(0, |sums| sums.0));
        agent.finished.push(sums.map_or(0, |sums| sums.1));
        let lag = sums.map(|sums| sums.2.hist());
        let lag = lag.filter(|lag| !lag.is_empty());
        agent
            .lag_p99_us
            .push(lag.map(|lag| percentile_us(&lag, 99.0)));
    }
}
