//! The closed loop against a target that counts for itself: each user performs its tasks one after
//! the other, and no user is in two places.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::support::cores::{Cores, SHARDS, hold, plan, step, task};
use crate::support::target::{Act, Gate, Seen, Target, closed_port};
use loadpilot_engine::schedule::share::Share;
use loadpilot_events::plan::{Plan, Rest, Shape, Task};
use loadpilot_events::{DropReason, Outcome, Timestamp};

const USERS: u32 = 8;

fn closed(url: String, duration_ms: u64, tasks: Vec<Task>) -> Plan {
    let mut plan = plan(url, 0, duration_ms, tasks);
    plan.profile.shape = Shape::Closed;
    plan.users = Some(USERS);
    plan
}

fn one_task() -> Vec<Task> {
    vec![task("only", 1, vec![step("/only")])]
}

/// The parts of the id `<run>/<user>.<generation>.<k>/<step>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Turn {
    user: u32,
    generation: u32,
    k: u64,
    step: usize,
}

impl Turn {
    fn of(seen: &Seen) -> Self {
        let id = seen.header("x-id").expect("every request carries its id");
        let parts: Vec<&str> = id.split(['/', '.']).collect();
        let number = |place: usize| parts[place].parse::<u64>().expect("a number");
        let [user, generation] = [1, 2].map(|place| u32::try_from(number(place)).expect("small"));
        Self {
            user,
            generation,
            k: number(3),
            step: usize::try_from(number(4)).expect("small"),
        }
    }
}

/// The turns of each user, in the order in which they came.
fn by_user(target: &Target) -> BTreeMap<u32, Vec<Turn>> {
    let mut turns: BTreeMap<u32, Vec<Turn>> = BTreeMap::new();
    for seen in target.seen() {
        let turn = Turn::of(&seen);
        turns.entry(turn.user).or_default().push(turn);
    }
    turns
}

/// The users whose requests the target is serving.
#[derive(Default)]
struct UsersAtTarget {
    present: Mutex<BTreeSet<u32>>,
    most: AtomicUsize,
    doubled: AtomicUsize,
}

impl UsersAtTarget {
    /// Counts the user of `seen` as present while `stay` runs.
    fn count_while(&self, seen: &Seen, stay: impl FnOnce()) {
        let user = Turn::of(seen).user;
        let mut present = self.present.lock().expect("no target panicked");
        if !present.insert(user) {
            self.doubled.fetch_add(1, Ordering::SeqCst);
        }
        self.most.fetch_max(present.len(), Ordering::SeqCst);
        drop(present);
        stay();
        self.present
            .lock()
            .expect("no target panicked")
            .remove(&user);
    }
}

/// When each turn of each user came, in ms after the first request.
fn times_by_user(target: &Target) -> BTreeMap<u32, Vec<u64>> {
    let seen = target.seen();
    let first = seen.iter().map(|one| one.at).min().expect("a request");
    let mut times: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
    for one in &seen {
        let ms = one.at.duration_since(first).as_millis();
        let of_user = times.entry(Turn::of(one).user).or_default();
        of_user.push(u64::try_from(ms).expect("a short run"));
    }
    times
}

/// Broken if a paced user runs in step with the others, drifts by the time that its target takes,
/// or comes more often than planned.
#[tokio::test]
async fn paced_users_begin_every_so_often_and_evenly_among_themselves() {
    let target = Target::start(|_| {
        std::thread::sleep(Duration::from_millis(20));
        Act::Answer(200)
    });
    let mut plan = closed(target.url(), 1_200, one_task());
    plan.rest = Some(Rest::Pacing { every_us: 400_000 });
    let counted = Cores::new(plan, 2, 1).start().finish().await;
    let times = times_by_user(&target);
    assert_eq!(times.len(), USERS as usize);
    for (user, times) in &times {
        // The last turn is missing if the machine was late for the user's place.
        assert!((2..=3).contains(&times.len()), "user {user}: {times:?}");
        let place_ms = u64::from(*user) * 400 / u64::from(USERS);
        for (k, at_ms) in (0..).zip(times) {
            // If the first user itself came late, all others seem early.
            assert!(*at_ms + 40 >= place_ms + 400 * k, "user {user}: {times:?}");
        }
    }
    assert_eq!(
        counted.started(),
        times.values().map(Vec::len).sum::<usize>() as u64
    );
}

/// Broken if users think for a shorter or longer time than planned, or if all have the same think
/// time.
#[tokio::test]
async fn thinking_users_rest_after_each_answer_as_long_as_is_drawn() {
    let target = Target::start(|_| {
        std::thread::sleep(Duration::from_millis(20));
        Act::Answer(200)
    });
    let mut plan = closed(target.url(), 1_200, one_task());
    let (from_us, to_us) = (50_000, 150_000);
    plan.rest = Some(Rest::Wait { from_us, to_us });
    Cores::new(plan, 2, 1).start().finish().await;
    let times = times_by_user(&target);
    assert_eq!(times.len(), USERS as usize);
    let gaps: Vec<u64> = times
        .values()
        .flat_map(|of_user| of_user.windows(2).map(|two| two[1] - two[0]))
        .collect();
    assert!(gaps.iter().all(|gap_ms| *gap_ms >= 69), "{gaps:?}");
    let least = gaps.iter().min().expect("some");
    let most = gaps.iter().max().expect("some");
    assert!(most - least > 40, "they think alike: {gaps:?}");
}

/// Broken if a user is in two places, skips or repeats a turn, or is not counted.
#[tokio::test]
async fn each_user_takes_one_turn_after_the_other() {
    let at_target = Arc::new(UsersAtTarget::default());
    let own = Arc::clone(&at_target);
    let target = Target::start(move |seen| {
        own.count_while(seen, || std::thread::sleep(Duration::from_millis(2)));
        Act::Answer(200)
    });
    let tasks = vec![
        task("often", 3, vec![step("/often")]),
        task("both", 1, vec![step("/first"), step("/second")]),
    ];
    let begin = Instant::now();
    let mut cores = Cores::new(closed(target.url(), 600, tasks), 2, 1).start();
    let counted = cores.finish().await;
    assert!(begin.elapsed() >= Duration::from_millis(600));
    assert_eq!(at_target.most.load(Ordering::SeqCst), USERS as usize);
    assert_eq!(at_target.doubled.load(Ordering::SeqCst), 0);

    let turns = by_user(&target);
    assert_eq!(
        turns.keys().copied().collect::<Vec<_>>(),
        (0..USERS).collect::<Vec<_>>()
    );
    let mut started = 0;
    let mut of_tasks = [0, 0];
    for (user, turns) in &turns {
        let mut wanted = Vec::new();
        let last = turns.last().expect("a turn").k;
        for k in 0..=last {
            let task = cores.workload.task_of_user(*user, k);
            of_tasks[usize::from(task)] += 1;
            let steps = 1 + usize::from(task == 1);
            wanted.extend((0..steps).map(|step| Turn {
                user: *user,
                generation: 1,
                k,
                step,
            }));
        }
        assert_eq!(turns, &wanted);
        started += last + 1;
    }
    assert_eq!(counted.started(), started);
    assert_eq!([counted.started_of(0), counted.started_of(1)], of_tasks);
    assert_eq!(
        counted.outcomes()[&Outcome::Ok] as usize,
        target.seen().len()
    );
    assert_eq!(counted.outcomes().len(), 1);
    assert_eq!(counted.task_errors(), 0);
}

/// Broken if the weights did not hold for every user in every block of turns.
#[tokio::test]
async fn the_weights_hold_for_every_user_in_every_block() {
    let target = Target::start(|_| Act::Answer(200));
    let tasks = vec![
        task("often", 3, vec![step("/often")]),
        task("rarely", 1, vec![step("/rarely")]),
    ];
    let mut cores = Cores::new(closed(target.url(), 300, tasks), 1, 1).start();
    cores.finish().await;
    let mut blocks: BTreeMap<(u32, u64), (usize, usize)> = BTreeMap::new();
    for seen in target.seen() {
        let turn = Turn::of(&seen);
        let (all, rare) = blocks.entry((turn.user, turn.k / 4)).or_default();
        *all += 1;
        *rare += usize::from(seen.line == "GET /rarely");
    }
    let full = blocks.values().filter(|(all, _)| *all == 4);
    assert!(full.clone().count() >= USERS as usize);
    assert!(full.into_iter().all(|(_, rare)| *rare == 1));
    assert!(blocks.values().all(|(all, rare)| *all <= 4 && *rare <= 1));
}

/// Broken if users continue after a stop, or if those in flight are lost.
#[tokio::test]
async fn a_stop_lets_turns_end_and_begins_none() {
    let gate = Arc::new(Gate::default());
    let target_gate = Arc::clone(&gate);
    let target = Target::start(move |_| Act::Wait(Arc::clone(&target_gate)));
    let mut cores = Cores::new(closed(target.url(), 60_000, one_task()), 1, 1).start();
    target.wait_for(USERS as usize);
    cores.cores[0].stop(DropReason::Stopped);
    let stopped = cores.harvest().await.remove(0);
    assert_eq!((stopped.in_flight, stopped.waiting), (u64::from(USERS), 0));
    gate.open();
    let counted = cores.finish().await;
    let wanted = BTreeMap::from([(Outcome::Ok, u64::from(USERS))]);
    assert_eq!(
        (counted.outcomes(), counted.started()),
        (wanted, u64::from(USERS))
    );
    assert_eq!(target.seen().len(), USERS as usize);
}

/// Broken if a cancel left users at the target.
#[tokio::test]
async fn a_cancel_ends_every_turn_at_once() {
    let gate = Arc::new(Gate::default());
    let target_gate = Arc::clone(&gate);
    let target = Target::start(move |_| Act::Wait(Arc::clone(&target_gate)));
    let mut cores = Cores::new(closed(target.url(), 60_000, one_task()), 1, 1).start();
    target.wait_for(USERS as usize);
    cores.cores[0].cancel();
    let counted = cores.finish().await;
    let wanted = BTreeMap::from([(Outcome::Cancelled, u64::from(USERS))]);
    assert_eq!(counted.outcomes(), wanted);
    assert_eq!(target.seen().len(), USERS as usize);
    gate.open();
}

/// Broken if users move to another core at another moment than the tick says, are lost on the way,
/// or continue on their old core. The other core takes over what generation
/// 3 held, as its generation 2.
#[tokio::test]
async fn users_change_hands_at_a_tick() {
    let target = Target::start(|_| {
        std::thread::sleep(Duration::from_millis(2));
        Act::Answer(200)
    });
    let begin = Instant::now();
    let mut cores = Cores::new(closed(target.url(), 1_000, one_task()), 2, 1);
    let halves = Share::new(SHARDS, (0..SHARDS).collect()).split(2);
    let now = loadpilot_agent::fire::MonoTime::now();
    cores.cores[0].hold(vec![hold(3, (0, None), halves[0].clone())], [].into());
    cores.cores[1].hold(vec![hold(1, (0, None), halves[1].clone())], [].into());
    cores
        .cores
        .iter()
        .for_each(|core| core.start(now, Timestamp(0)));
    target.wait_for(2 * USERS as usize);
    // Tick 3 begins at 600 ms.
    cores.cores[0].hold(vec![hold(3, (0, Some(3)), halves[0].clone())], [].into());
    cores.cores[1].hold(
        vec![
            hold(1, (0, None), halves[1].clone()),
            hold(2, (3, None), halves[0].clone()),
        ],
        [].into(),
    );
    let counted = cores.finish().await;

    let mut wanted: BTreeMap<(u32, u32), u64> = BTreeMap::new();
    for seen in target.seen() {
        let turn = Turn::of(&seen);
        let moves = halves[0].owns(u64::from(turn.user));
        assert_eq!(turn.generation == 1, !moves, "{turn:?}");
        let k = wanted.entry((turn.user, turn.generation)).or_default();
        assert_eq!(turn.k, *k, "{turn:?}");
        *k += 1;
        if turn.generation == 2 {
            assert!(seen.at >= begin + Duration::from_millis(600));
        }
    }
    // Four users stay, four have had two holders.
    assert_eq!(wanted.len(), 12);
    let mut of_generations: BTreeMap<u32, u64> = BTreeMap::new();
    for ((_, generation), turns) in wanted {
        *of_generations.entry(generation).or_default() += turns;
    }
    assert_eq!(counted.generations(), of_generations);
    for (generation, tick) in counted.ticks() {
        let is_mine = match generation {
            2 => tick >= 3,
            3 => tick < 3,
            _ => true,
        };
        assert!(is_mine, "generation {generation} in tick {tick}");
    }
}

/// Broken if users whose calls fail at once keep their core from receiving commands.
#[tokio::test]
async fn refused_connections_do_not_starve_the_core() {
    let mut cores = Cores::new(
        closed(format!("http://{}", closed_port()), 60_000, one_task()),
        1,
        1,
    )
    .start();
    while cores.counted().outcomes().is_empty() {
        cores.harvest().await;
    }
    cores.cores[0].stop(DropReason::Stopped);
    let finish = tokio::time::timeout(Duration::from_secs(5), cores.finish());
    let counted = finish.await.expect("the core receives the stop");
    let refused = counted.outcomes().remove(&Outcome::Connect);
    assert_eq!(counted.outcomes().len(), 1);
    assert_eq!(refused, Some(counted.started()));
    assert_eq!(counted.task_errors(), counted.started());
}

/// Broken if a stopped core never becomes idle because it receives a takeover.
#[tokio::test]
async fn a_change_of_hands_after_a_stop_changes_nothing() {
    let target = Target::start(|_| Act::Answer(200));
    let mut cores = Cores::new(closed(target.url(), 60_000, one_task()), 1, 1).start();
    target.wait_for(USERS as usize);
    cores.cores[0].stop(DropReason::Stopped);
    let all = Share::new(SHARDS, (0..SHARDS).collect());
    cores.cores[0].hold(vec![hold(2, (0, None), all)], [].into());
    let finish = tokio::time::timeout(Duration::from_secs(5), cores.finish());
    let counted = finish.await.expect("at rest after a stop");
    assert_eq!(counted.started() as usize, target.seen().len());
    assert_eq!(counted.generations().keys().collect::<Vec<_>>(), [&1]);
}
