//! A closed loop: a user's next task is a pure function, and unreported work is named.

use std::collections::{BTreeMap, BTreeSet};

use loadpilot_engine::check;
use loadpilot_engine::control::assign::{deal, shard_count};
use loadpilot_engine::control::{Control, ControlLog};
use loadpilot_engine::fold::project::Projection;
use loadpilot_engine::report::certificate::certificate;
use loadpilot_engine::report::report;
use loadpilot_engine::report::verdict::verdict;
use loadpilot_engine::schedule::share::Share;
use loadpilot_engine::schedule::workload::Workload;
use loadpilot_engine::tally::{CallEnd, Ledger, Phases, RowKey, Tally};
use loadpilot_events::answers::report::{Grade, Report};
use loadpilot_events::id::{Holder, RunId};
use loadpilot_events::log::assign::Holding;
use loadpilot_events::log::ctl::{
    Decision, Ending, Final, RunCreated, RunSealed, ShardsAssigned, StartScheduled,
};
use loadpilot_events::log::delta::Gauges;
use loadpilot_events::log::outcome::{DropReason, Outcome};
use loadpilot_events::log::req::{Request, RunRequested};
use loadpilot_events::plan::threshold::{Metric, Threshold};
use loadpilot_events::plan::{Arrivals, Piece, Plan, PlanSchema, Rest, Shape, UserStage};
use loadpilot_events::rules::Rules;
use loadpilot_events::units::{Rate, Timestamp};
use loadpilot_events::wire::subject::Kind;
use proptest::prelude::*;

use crate::fold::projection::balances;
use crate::rules::dice::Dice;
use crate::rules::plans;
use crate::support::history::encode;
use crate::support::naive::set_aside;
use crate::support::sound;

/// A sound plan of a closed loop that lasts `ticks` whole ticks.
pub(crate) fn plan(dice: &mut Dice, users: u32, ticks: u64) -> Plan {
    let mut plan = plans::plan(dice);
    plan.tick_us = 1_000_000;
    plan.warm_up_us = 0;
    plan.arrivals = Arrivals::Uniform;
    plan.users = Some(users);
    plan.profile.shape = Shape::Closed;
    plan.profile.pieces = vec![Piece {
        duration_us: ticks * plan.tick_us,
        from: Rate(0),
        to: Rate(0),
    }];
    assert_eq!(check::plan(&plan), [], "the plans of the laws are sound");
    plan
}

/// Stages of half seconds that together last `ticks` seconds, with `users` at one of their ends.
fn stages(dice: &mut Dice, users: u32, ticks: u64) -> Vec<UserStage> {
    let mut stages = Vec::new();
    let (mut halves, most) = (2 * ticks, u64::from(users) + 1);
    while halves > 0 {
        let length = dice.pick(1..halves + 1);
        halves -= length;
        stages.push(UserStage {
            duration_us: length * 500_000,
            from: dice.pick(0..most) as u32,
            to: dice.pick(0..most) as u32,
        });
    }
    let place = dice.pick(0..stages.len() as u64) as usize;
    stages[place].from = users;
    stages
}

/// The maximum number of active users in a tick of a second, by the definition.
fn active_in(stages: &[UserStage], tick: u32) -> u32 {
    let at = |t_us: u64| {
        let mut start_us = 0;
        for stage in stages {
            let x = t_us - start_us;
            if x < stage.duration_us {
                let (from, to) = (f64::from(stage.from), f64::from(stage.to));
                let line = from + (to - from) * x as f64 / stage.duration_us as f64;
                return (line + 1e-7).floor() as u32;
            }
            start_us += stage.duration_us;
        }
        0
    };
    let from_us = u64::from(tick) * 1_000_000;
    // A straight line has its maximum at one of its ends.
    let ends = [0, 499_999, 500_000, 999_999];
    ends.map(|us| at(from_us + us))
        .into_iter()
        .max()
        .unwrap_or(0)
}

/// What one process did in one tick, and whether the log has it.
#[derive(Debug)]
struct Window {
    started: u64,
    dropped: u64,
    stored: bool,
}

/// A closed loop of which some deltas were never stored, with what really happened.
struct Loop {
    users: u32,
    stages: Option<Vec<UserStage>>,
    ticks: u32,
    holders: Vec<(Holder, Share, Vec<Window>, bool)>,
    report: Report,
}

fn play(seed: u64) -> Loop {
    let dice = &mut Dice::new(seed);
    let agents = dice.pick(1..4) as u32;
    let users = agents + dice.pick(0..400) as u32;
    let ticks = dice.pick(1..9) as u32;
    let mut plan = plan(dice, users, ticks.into());
    if dice.chance(50) {
        plan.schema = PlanSchema::V2;
        plan.user_stages = Some(stages(dice, users, ticks.into()));
        assert_eq!(check::plan(&plan), [], "the stages of the laws are sound");
    }
    let stages = plan.user_stages.clone();
    let shards = shard_count(agents, Some(users));
    let named: Vec<Holder> = (0..u64::from(agents))
        .map(|n| plans::holder(n, 0))
        .collect();
    let holdings = deal(shards, &named);
    let mut data = Vec::new();
    let mut finals = Vec::new();
    let mut holders = Vec::new();
    for holding in &holdings {
        let mut ledger = Ledger::new(holding.holder.boot_id.clone());
        let mut windows = Vec::new();
        for tick in 0..ticks {
            let (rows, window) = fire(dice, &plan, tick);
            let (from_us, to_us) = (u64::from(tick) * 1_000_000, u64::from(tick + 1) * 1_000_000);
            for delta in ledger.close(rows, from_us, to_us, Gauges::default()) {
                if window.stored {
                    data.push((holding.holder.agent.clone(), encode(&delta)));
                }
            }
            windows.push(window);
        }
        let speaks = dice.chance(70);
        if speaks {
            finals.push(Final {
                holder: holding.holder.clone(),
                final_seq: ledger.last_seq(),
                totals: ledger.totals().clone(),
            });
        }
        let share = Share::new(shards, holding.shards.clone());
        holders.push((holding.holder.clone(), share, windows, speaks));
    }
    dice.shuffle(&mut data);
    let request = plans::request(plan, agents, 1, dice);
    let control = control(request, holdings, finals);
    let mut folded = Projection::default();
    for (place, (agent, payload)) in data.iter().enumerate() {
        folded.add(&control, agent, "delta", place as u64 + 1, payload);
    }
    let report = report(&control, &folded).expect("the run is known");
    Loop {
        users,
        stages,
        ticks,
        holders,
        report,
    }
}

/// The control side of a completed run.
fn control(request: RunRequested, holdings: Vec<Holding>, finals: Vec<Final>) -> Control {
    let created = RunCreated {
        plan_hash: request.plan.hash(),
        plan: Some(request.plan.clone()),
        request: None,
        seed: request.seed,
        agents: request.agents.clone(),
        owner: None,
        lead_us: 0,
        shards: shard_count(request.agents.want, request.plan.users),
        gather_by: Timestamp(0),
        needs: Vec::new(),
        targets: None,
        proof: None,
        rules: Rules::CURRENT,
    };
    let decisions = [
        Decision::RunCreated(Box::new(created)),
        Decision::ShardsAssigned(ShardsAssigned {
            generation: 1,
            holdings,
            ready_by: Timestamp(0),
        }),
        Decision::StartScheduled(StartScheduled {
            start_at: Timestamp(0),
        }),
        Decision::RunSealed(RunSealed {
            ending: Ending::Completed,
            ctl_seq: 4,
            evt_seq: 0,
            data_seq: u64::MAX,
            finals,
            missing: Vec::new(),
            unnamed: None,
        }),
    ];
    let mut log = ControlLog::new(RunId::parse("01run").expect("a token"));
    let request = encode(&Request::RunRequested(Box::new(request)));
    log.add("req", &Kind::Req, 1, &request);
    for (place, decision) in decisions.iter().enumerate() {
        log.add("ctl", &Kind::Ctl, place as u64 + 2, &encode(decision));
    }
    log.close()
}

fn fire(dice: &mut Dice, plan: &Plan, tick: u32) -> (loadpilot_engine::tally::Rows, Window) {
    let mut tally = Tally::new();
    let window = Window {
        started: dice.pick(0..20),
        dropped: dice.pick(0..3),
        stored: dice.chance(75),
    };
    let key = |dice: &mut Dice| RowKey {
        tick,
        generation: 1,
        task: dice.pick(0..plan.tasks.len() as u64) as u16,
    };
    for _ in 0..window.started {
        let key = key(dice);
        tally.started(key);
        let before = plan.tasks[..usize::from(key.task)].iter();
        tally.call(&CallEnd {
            tick,
            generation: 1,
            call: before.map(|task| task.steps.len() as u16).sum(),
            outcome: Outcome::Ok,
            response_us: 1_000,
            service_us: 1_000,
            status: Some(200),
            cause: None,
            sent_bytes: 1,
            received_bytes: 1,
            phases: Phases::default(),
        });
    }
    for _ in 0..window.dropped {
        tally.dropped(key(dice), DropReason::Fenced);
    }
    (tally.take(), window)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Broken if a user performs one task more often than its weight says.
    #[test]
    fn weights_hold_for_each_user_in_every_block(
        seed: u64, user in 0..1_000_000_u32, block in 0..1_000_u64,
    ) {
        let plan = plan(&mut Dice::new(seed), 7, 1);
        let workload = Workload::new(&plan, seed);
        let weights: Vec<u64> = plan.tasks.iter().map(|task| task.weight.into()).collect();
        let len: u64 = weights.iter().sum();
        let mut counts = vec![0; weights.len()];
        for k in block * len..(block + 1) * len {
            counts[usize::from(workload.task_of_user(user, k))] += 1;
        }
        prop_assert_eq!(counts, weights);
        prop_assert_eq!(workload.users(), Some(7));
        prop_assert_eq!(workload.planned(), 0);
    }

    /// Broken if a user thinks for too short a time, which offers more load than planned, or if a
    /// paced user catches up on what it missed.
    #[test]
    fn users_rest_as_long_as_is_said(
        seed: u64, user in 0..1_000_u32, k in 0..1_000_u64, took_us in 0..20_000_000_u64,
        from_us in 0..10_000_000_u64, spread_us in 0..10_000_000_u64,
    ) {
        let mut plan = plan(&mut Dice::new(seed), 1_000, 1);
        let (began_us, ended_us) = (5_000_000, 5_000_000 + took_us);
        let to_us = from_us + spread_us;
        plan.rest = Some(Rest::Wait { from_us, to_us });
        let workload = Workload::new(&plan, seed);
        let next_start_us = workload.next_start_us(user, k, began_us, ended_us);
        prop_assert!((ended_us + from_us..=ended_us + to_us).contains(&next_start_us));
        prop_assert_eq!(next_start_us, workload.next_start_us(user, k, began_us, ended_us));
        prop_assert!(workload.begin_us_of_user(user) <= to_us);
        plan.rest = Some(Rest::Pacing { every_us: to_us });
        let workload = Workload::new(&plan, seed);
        let next_start_us = workload.next_start_us(user, k, began_us, ended_us);
        prop_assert_eq!(next_start_us, ended_us.max(began_us + to_us));
        let begins = (0..1_000).map(|user| workload.begin_us_of_user(user));
        prop_assert!(begins.eq((0..1_000).map(|user| to_us * user / 1_000)));
    }

    /// The planned figure is the reported figure, by tick and by task; nothing is unowned or lost.
    #[test]
    fn planned_is_what_was_reported(seed: u64) {
        let game = play(seed);
        let sum = |of: fn(&Window) -> u64| {
            let windows = game.holders.iter().flat_map(|(_, _, windows, _)| windows);
            windows.filter(|window| window.stored).map(of).sum::<u64>()
        };
        let counts = &game.report.arrivals;
        prop_assert_eq!(counts.started, sum(|window| window.started));
        prop_assert_eq!(counts.dropped_total(), sum(|window| window.dropped));
        prop_assert_eq!(counts.planned, counts.started + counts.dropped_total());
        prop_assert_eq!((counts.lost, counts.waiting), (0, 0));
        balances(&game.report);
        let of_ticks: u64 = game.report.series.iter().map(|tick| tick.planned).sum();
        prop_assert_eq!(of_ticks, counts.planned);
        prop_assert_eq!(game.report.rates.planned, counts.planned);
        prop_assert_eq!(set_aside(&game.report).next(), None);
        prop_assert_eq!(game.report.latency.co_factor, None);
        prop_assert_eq!(game.report.run.users, Some(game.users));
    }

    /// Every missing window, and no other, is in an interval of its process. The interval counts
    /// its arrivals where the totals of the process reveal them.
    #[test]
    fn unreported_windows_are_intervals(seed: u64) {
        let game = play(seed);
        let active = |tick: u32| match &game.stages {
            None => u64::from(game.users),
            Some(stages) => u64::from(active_in(stages, tick)),
        };
        let mut lost_users = 0;
        for (holder, share, windows, speaks) in &game.holders {
            let own = game.report.gaps.lost.iter().filter(|lost| lost.holder == *holder);
            let ticks: BTreeSet<u32> = own.clone().flat_map(|l| l.from_tick..=l.to_tick).collect();
            let missing = windows.iter().enumerate().filter(|(_, window)| !window.stored);
            let expected: BTreeSet<u32> = missing.clone().map(|(tick, _)| tick as u32).collect();
            prop_assert_eq!(&ticks, &expected);
            let of_ticks = ticks.iter().map(|&tick| share.count_below(active(tick)));
            lost_users += of_ticks.sum::<u64>();
            let last = windows.iter().rposition(|window| window.stored);
            let known = |&(tick, _): &(usize, &Window)| *speaks || Some(tick) < last;
            let happened: u64 = missing.filter(known).map(|(_, w)| w.started + w.dropped).sum();
            prop_assert_eq!(own.map(|lost| lost.arrivals).sum::<u64>(), happened);
        }
        let all: u64 = (0..game.ticks).map(active).sum();
        let share = if all == 0 { 0.0 } else { lost_users as f64 * 100.0 / all as f64 };
        let found = game.report.gaps.lost_time_pct.expect("a closed loop");
        prop_assert!((found - share).abs() < 1e-9, "{found} {share}");
        // A gap without active users is still a gap.
        let grade = match share {
            0.0 if game.report.gaps.lost.is_empty() => None,
            share if share > 1.0 => Some(Grade::Invalid),
            _ => Some(Grade::Degraded),
        };
        let findings = &game.report.certificate.findings;
        let lost = findings.iter().find(|finding| finding.evidence.contains("time of its users"));
        prop_assert_eq!(lost.map(|finding| finding.grade), grade);
        prop_assert_eq!(game.report.verdict.reasons.iter().any(|r| r.contains("users")),
            share > 1.0);
    }

    /// Broken if an agent gets no user, and so has nothing to do, or if equal agents get unequal
    /// numbers of users.
    #[test]
    fn every_shard_has_a_user(agents in 1..40_u32, more in 0..3_000_u32) {
        let users = agents + more;
        let shards = shard_count(agents, Some(users));
        prop_assert_eq!(shards, users.min(shard_count(agents, None)));
        let named: Vec<Holder> = (0..u64::from(agents)).map(|n| plans::holder(n, 0)).collect();
        for holding in deal(shards, &named) {
            let held = holding.shards.len() as u64;
            let of_holder = Share::new(shards, holding.shards).count_below(users.into());
            let least = u64::from(users / shards) * held;
            prop_assert!(held > 0 && (least..=least + held).contains(&of_holder));
        }
    }
}

/// Broken if users have equal think times: they would come in waves.
#[test]
fn what_users_think_is_drawn_evenly() {
    let mut plan = plan(&mut Dice::new(1), 10, 1);
    let (from_us, to_us) = (1_000, 1_009);
    plan.rest = Some(Rest::Wait { from_us, to_us });
    let workload = Workload::new(&plan, 42);
    let mut counts = [0; 10];
    for user in 0..10 {
        for k in 0..1_000 {
            let next_start_us = workload.next_start_us(user, k, 0, 0) - from_us;
            counts[usize::try_from(next_start_us).expect("below ten")] += 1;
        }
    }
    // 1,000 of each are expected, with a standard deviation of 30.
    let even = counts.iter().all(|count| (850..=1_150).contains(count));
    assert!(even, "{counts:?}");
}

/// A shuffle of too few rounds would leave small blocks in the order of the plan.
#[test]
fn every_order_of_a_small_block_is_about_as_likely() {
    let mut plan = plan(&mut Dice::new(1), 1, 1);
    let task = plan.tasks[0].clone();
    plan.tasks = (0..4)
        .map(|number| {
            let mut task = task.clone();
            (task.name, task.weight) = (number.to_string(), 1);
            task
        })
        .collect();
    let workload = Workload::new(&plan, 42);
    let mut orders: BTreeMap<Vec<u16>, u32> = BTreeMap::new();
    for user in 0..24_000 {
        let order = (0..4).map(|k| workload.task_of_user(user, k)).collect();
        *orders.entry(order).or_default() += 1;
    }
    assert_eq!(orders.len(), 24, "every order of four");
    // 1,000 of each are expected, with a standard deviation of 31.
    let even = orders.values().all(|count| (840..=1_160).contains(count));
    assert!(even, "{orders:?}");
}

/// A generator that is busy or drops makes a closed loop slower, which its rate shows; one that is
/// late also adds to its latency. A gate that needs a schedule does not pass in a closed loop, even
/// if the plan check let it through.
#[test]
fn a_closed_loop_is_not_judged_by_a_schedule() {
    let mut report = sound::report();
    report.generator.busy_deltas_pct = 100.0;
    report.generator.schedule_lag = Some(sound::ladder());
    if let Some(lag) = &mut report.generator.schedule_lag {
        lag.p99_us = 10_000_000;
    }
    report.arrivals.dropped.insert(DropReason::Late, 5_000);
    assert_eq!(certificate(&report).findings.len(), 3);
    (report.run.users, report.run.rules) = (Some(8), Rules::V3);
    assert_eq!(certificate(&report).grade, Grade::Valid);
    report.run.rules = Rules::V4;
    let judged = certificate(&report);
    assert_eq!((judged.grade, judged.findings.len()), (Grade::Degraded, 1));
    assert!(
        judged.findings[0]
            .evidence
            .contains("latency includes the lag")
    );
    let mut gated = plan(&mut Dice::new(1), 8, 1);
    for metric in [Metric::DroppedRate, Metric::Shortfall] {
        for task in [None, Some(report.tasks[0].name.clone())] {
            let limit = f64::MAX;
            gated.thresholds = vec![Threshold {
                metric,
                task,
                limit,
                operator: None,
                own: None,
            }];
            assert!(!verdict(&gated, &report).passed, "{metric:?}");
        }
    }
    report.arrivals = Default::default();
    assert_eq!(
        certificate(&report).grade,
        Grade::Invalid,
        "nothing was started"
    );
}
