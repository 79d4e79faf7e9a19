//! A run of a thousand agents with a hundred standbys. A hundred agents are killed and do not
//! return.

use std::collections::BTreeSet;

use loadpilot_engine::control::assign::shard_count;
use loadpilot_events::id::{AgentId, Holder};
use loadpilot_events::log::ctl::{Decision, Ending};
use loadpilot_events::plan::{Arrivals, Method, Piece, Plan, Profile, Shape, Step, Task};
use loadpilot_events::units::{Rate, Timestamp};

use crate::checker;
use crate::rules::dice::Dice;
use crate::rules::plans;
use crate::world::World;

const WANTED: u32 = 1_000;
const STANDBYS: u32 = 100;
const KILLED: usize = 100;
const SECS: u64 = 12;
const RPS: u64 = 500;

/// Five tasks at a constant rate.
fn plan(dice: &mut Dice) -> Plan {
    let rate = Rate::per_second(RPS);
    let step = |number: u32| Step {
        name: format!("GET /{number}"),
        method: Method::Get,
        path: format!("/{number}"),
        target: 0,
        headers: Vec::new(),
        body: None,
        timeout_us: None,
        stream: None,
        tokens_max: None,
        listen_us: None,
    };
    let task = |number: u32| Task {
        name: format!("task-{number}"),
        weight: number,
        steps: vec![step(number)],
    };
    Plan {
        profile: Profile {
            shape: Shape::Stages,
            pieces: vec![Piece {
                duration_us: SECS * 1_000_000,
                from: rate,
                to: rate,
            }],
        },
        arrivals: Arrivals::Uniform,
        tasks: (1..6).map(task).collect(),
        warm_up_us: 0,
        tick_us: 1_000_000,
        samples_ppm: None,
        ..plans::plan(dice)
    }
}

/// The laws hold for a thousand agents as for three: each arrival has a holder, the arrivals of
/// killed agents are lost by name and their shards go to others, the standbys join, and the sums
/// agree.
#[test]
fn a_thousand_agents_lose_a_hundred() {
    let mut dice = Dice::new(1);
    let mut request = plans::request(plan(&mut dice), WANTED, 900, &mut dice);
    (request.agents.wait_us, request.lead_us) = (5_000_000, 1_000_000);
    let count = u64::from(WANTED + STANDBYS);
    let mut world = World::crowd(1, count, request);
    world.play_until(|world| world.sent.len() as u64 >= 2 * RPS);
    let assigned = holders(&world, 0);
    assert_eq!(assigned.len(), WANTED as usize);
    let killed = kill_every_tenth(&mut world, &assigned);
    world.play_until(|world| world.log.is_over());
    checker::check(&world);
    only_killed_agents_lose_arrivals(&world, &killed);
    assert_eq!(holders(&world, 1).len(), WANTED as usize - KILLED);
    assert_eq!(
        holders(&world, 2).len(),
        WANTED as usize,
        "the standbys came in"
    );
    assert_eq!(world.run.shards, shard_count(WANTED, None));
    decisions_stay_small(&world);
}

/// Kills, for good, every tenth agent of `assigned` by name.
fn kill_every_tenth(world: &mut World, assigned: &[Holder]) -> BTreeSet<AgentId> {
    let agents: BTreeSet<&AgentId> = assigned.iter().map(|holder| &holder.agent).collect();
    let killed = agents.into_iter().step_by(10).take(KILLED).cloned();
    let killed: BTreeSet<AgentId> = killed.collect();
    let (now, never) = (world.now, Timestamp(u64::MAX));
    for agent in &mut world.agents {
        if killed.contains(&agent.process.me.agent) {
            agent.kill(now, never, true);
        }
    }
    killed
}

fn only_killed_agents_lose_arrivals(world: &World, killed: &BTreeSet<AgentId>) {
    let report = checker::report_of(world);
    assert_eq!(report.run.ending, Some(Ending::Completed));
    assert_eq!(report.arrivals.planned, RPS * SECS);
    assert!(report.arrivals.lost > 0, "killed agents held arrivals");
    for lost in &report.gaps.lost {
        let agent = &lost.holder.agent;
        assert!(killed.contains(agent), "{agent} lived and lost arrivals");
    }
}

/// The seal counts holders instead of naming them, and no record of the control log is large.
fn decisions_stay_small(world: &World) {
    let Some(Decision::RunSealed(seal)) = world.log.decided.last().map(|last| &last.decision)
    else {
        panic!("the last decision is not the seal");
    };
    let unnamed = seal.unnamed.expect("too many to be named");
    assert_eq!((unnamed.finished, unnamed.missing), (1_000, 100));
    for record in &world.log.ctl {
        let bytes = record.payload.len();
        assert!(bytes < 200_000, "{bytes} bytes: {:?}", record.kind);
    }
}

/// The holders of the map number `place`, counted from 0.
fn holders(world: &World, place: usize) -> Vec<Holder> {
    let decided = world.log.decided.iter();
    let mut maps = decided.filter_map(|stored| match &stored.decision {
        Decision::ShardsAssigned(assigned) => Some(&assigned.holdings),
        Decision::ShardsReassigned(next) => Some(&next.holdings),
        _ => None,
    });
    let map = maps.nth(place).expect("so many maps");
    map.iter().map(|holding| holding.holder.clone()).collect()
}
