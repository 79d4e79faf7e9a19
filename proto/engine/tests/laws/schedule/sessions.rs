//! Sessions: their lengths follow the plan, and they are the same for any number of shards.

use std::collections::BTreeSet;
use std::f64::consts::LN_2;
use std::sync::Arc;

use loadpilot_engine::check;
use loadpilot_engine::schedule::closed_loop::sessions::Session;
use loadpilot_engine::schedule::feed::Feeder;
use loadpilot_engine::schedule::random::DrawScope;
use loadpilot_engine::schedule::share::Share;
use loadpilot_engine::schedule::workload::Workload;
use loadpilot_events::plan::script::Feed;
use loadpilot_events::plan::{Plan, PlanSchema, SessionLength};
use proptest::prelude::*;

use crate::fold::closed_loop::plan;
use crate::rules::dice::Dice;
use crate::schedule::think_times::{distance, normal_below};

/// Number of places, and number of whole sessions in each.
const USERS: u32 = 200;
const SESSIONS: u32 = 50;
/// Maximum distance of 10,000 and of 20,000 draws from their distribution: one of a million correct
/// seeds exceeds it (Kolmogorov: 2 exp(-2 x²), where x is the limit times the square root of the
/// number).
const WHOLE_DISTANCE_MAX: f64 = 2.69 / 100.0;
const LEFT_DISTANCE_MAX: f64 = 2.69 / 141.4;
const MINUTE_US: u64 = 60_000_000;
const SESSIONS_OF_SHOP: SessionLength = SessionLength::Lognormal {
    median_us: 12 * MINUTE_US,
    p99_us: 45 * MINUTE_US,
};

fn plan_of(length: SessionLength, users: u32, ticks: u64) -> Plan {
    let mut plan = plan(&mut Dice::new(1), users, ticks);
    plan.schema = PlanSchema::V2;
    plan.session = Some(length);
    assert_eq!(check::plan(&plan), [], "{length:?}");
    plan
}

/// The lengths of the sessions `numbers` of all places, in µs, sorted.
fn lengths(workload: &Workload, numbers: std::ops::Range<u32>) -> Vec<u64> {
    let users = 0..workload.users().expect("a closed loop");
    let each = users.flat_map(|user| numbers.clone().map(move |number| (user, number)));
    let lengths = each.map(|(user, number)| workload.session_length_us(user, number));
    let mut lengths: Vec<u64> = lengths.map(|us| us.expect("sessions")).collect();
    lengths.sort_unstable();
    lengths
}

/// Share of a lognormal distribution below `us`.
fn lognormal_below(us: f64, median_us: u64, p99_us: u64) -> f64 {
    let (median, p99) = (median_us as f64, p99_us as f64);
    normal_below((us / median).ln() / ((p99 / median).ln() / 2.326_347_874))
}

/// The distribution of a length: the share below a time in µs.
fn share_below(length: SessionLength) -> Box<dyn Fn(f64) -> f64> {
    match length {
        SessionLength::Between { from_us, to_us } => {
            let (from, to) = (from_us as f64, to_us as f64);
            Box::new(move |us| ((us - from) / (to - from)).clamp(0.0, 1.0))
        }
        SessionLength::Exponential { median_us } => {
            Box::new(move |us| 1.0 - (-LN_2 * us / median_us as f64).exp())
        }
        SessionLength::Lognormal { median_us, p99_us } => {
            Box::new(move |us| lognormal_below(us, median_us, p99_us))
        }
    }
}

/// The remaining time of the session that is under way at a random moment of a process that has run
/// for ever: the share below a time, by the integral of 1 − F over the mean.
fn share_left_below(below: &dyn Fn(f64) -> f64, most_us: f64) -> impl Fn(f64) -> f64 + use<> {
    const STEPS: usize = 200_000;
    let step_us = most_us / STEPS as f64;
    let mut sums = vec![0.0];
    for place in 0..STEPS {
        let middle_us = (place as f64 + 0.5) * step_us;
        sums.push(sums[place] + (1.0 - below(middle_us)) * step_us);
    }
    let mean_us = sums[STEPS];
    move |us| {
        let place = ((us / step_us) as usize).min(STEPS);
        sums[place] / mean_us
    }
}

const LENGTHS: [SessionLength; 4] = [
    SESSIONS_OF_SHOP,
    SessionLength::Lognormal {
        median_us: 1_000_000,
        p99_us: 1_500_000,
    },
    SessionLength::Exponential {
        median_us: 12 * MINUTE_US,
    },
    SessionLength::Between {
        from_us: 2 * MINUTE_US,
        to_us: 30 * MINUTE_US,
    },
];

/// Broken if sessions do not follow the distribution, or if its parameters have another meaning.
#[test]
fn sessions_follow_their_distribution() {
    for seed in 0..20 {
        for length in LENGTHS {
            let workload = Workload::new(&plan_of(length, USERS, 1), seed);
            let found = lengths(&workload, 1..SESSIONS + 1);
            let below = share_below(length);
            let distance_to = |factor: f64| distance(&found, |us| below(us / factor));
            let own = distance_to(1.0);
            assert!(own < WHOLE_DISTANCE_MAX, "{length:?}, {seed}: {own}");
            let other = distance_to(1.2);
            assert!(other > WHOLE_DISTANCE_MAX, "{length:?}, {seed}: {other}");
        }
    }
}

/// Broken if all users of a run begin their sessions at the start: they would leave together, and
/// no new user would come for the length of a session.
#[test]
fn a_run_begins_in_the_middle_of_the_sessions() {
    for length in LENGTHS {
        let below = share_below(length);
        let most_us = match length {
            SessionLength::Between { to_us, .. } => to_us as f64,
            SessionLength::Exponential { median_us } => 40.0 * median_us as f64,
            SessionLength::Lognormal { p99_us, .. } => 10.0 * p99_us as f64,
        };
        let left_below = share_left_below(&*below, most_us);
        for seed in 0..5 {
            let workload = Workload::new(&plan_of(length, 20_000, 1), seed);
            let found = lengths(&workload, 0..1);
            let own = distance(&found, &left_below);
            assert!(own < LEFT_DISTANCE_MAX, "{length:?}, {seed}: {own}");
            if !matches!(length, SessionLength::Exponential { .. }) {
                let whole = distance(&found, &below);
                assert!(whole > LEFT_DISTANCE_MAX, "{length:?}, {seed}: {whole}");
            }
        }
    }
}

/// Broken if more sessions begin early or late in a run: each of ten parts must have the same
/// number, within five standard deviations of independent sessions.
#[test]
fn sessions_begin_at_an_even_rate() {
    let (users, minutes) = (10_000, 30);
    let workload = Workload::new(&plan_of(SESSIONS_OF_SHOP, users, minutes * 60), 3);
    let part_us = minutes * MINUTE_US / 10;
    let mut begun = [0.0; 10];
    for user in 0..users {
        let mut session = workload.session_at(user, None, 0).expect("sessions");
        while session.until_us < 10 * part_us {
            begun[(session.until_us / part_us) as usize] += 1.0;
            session = workload
                .session_at(user, Some(session), session.until_us)
                .expect("sessions");
        }
    }
    let sigma = (45.0_f64 / 12.0).ln() / 2.326_347_874;
    let mean_us = 12.0 * MINUTE_US as f64 * (sigma * sigma / 2.0).exp();
    let expected = f64::from(users) * part_us as f64 / mean_us;
    for count in begun {
        let away = (count - expected) / expected.sqrt();
        assert!(away.abs() < 5.0, "{begun:?}, expected {expected}");
    }
}

/// All sessions in the places of `share`, by the definition: number, begin and end, until the end
/// of the run.
fn all_of(workload: &Workload, share: &Share) -> BTreeSet<(u32, u32, u64)> {
    let users = 0..workload.users().expect("a closed loop");
    let mut sessions = BTreeSet::new();
    for user in users.filter(|&user| share.owns(u64::from(user))) {
        let (mut number, mut at_us) = (0, 0);
        while at_us < workload.duration_us() {
            at_us += workload.session_length_us(user, number).expect("sessions");
            sessions.insert((user, number, at_us));
            number += 1;
        }
    }
    sessions
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10))]

    /// Broken if four agents play other sessions than one agent does, or if an agent that takes
    /// over a place at any moment finds another session there than the agent before it had.
    #[test]
    fn any_split_has_the_same_sessions(
        seed: u64, kind in 0..LENGTHS.len(),
        looks in prop::collection::vec(0..7_200_000_000_u64, 20),
    ) {
        let plan = plan_of(LENGTHS[kind], 40, 7_200);
        let workload = Workload::new(&plan, seed);
        let alone = all_of(&workload, &Share::new(1, vec![0]));
        let mut together = BTreeSet::new();
        for agent in 0..4 {
            let workload = Workload::new(&plan, seed);
            together.extend(all_of(&workload, &Share::new(4, vec![agent])));
        }
        prop_assert_eq!(&alone, &together);
        for user in 0..40 {
            let mut known = None;
            let mut sorted = looks.clone();
            sorted.sort_unstable();
            for at_us in sorted {
                let found = workload.session_at(user, known, at_us);
                prop_assert_eq!(found, workload.session_at(user, None, at_us));
                let Session { number, until_us } = found.expect("sessions");
                prop_assert!(until_us > at_us);
                let of_place = alone.iter().filter(|session| session.0 == user);
                let expected = of_place.clone().find(|session| session.2 > at_us);
                prop_assert_eq!(expected, Some(&(user, number, until_us)));
                known = found;
            }
        }
    }
}

/// Broken if two users that start take the same row, or if a row is skipped, before all users have
/// taken theirs.
#[test]
fn each_new_user_takes_the_next_row_of_its_feed() {
    let (users, sessions) = (40, 5);
    let feed = Feed {
        name: "accounts".to_owned(),
        rows: u64::from(users * sessions),
        tasks: Vec::new(),
        prepares: true,
        cycles: true,
        unique: false,
        stops: false,
        shuffled: false,
        file: None,
    };
    let workload = Arc::new(Workload::new(&plan_of(SESSIONS_OF_SHOP, users, 60), 1));
    let mut feeder = Feeder::new(workload, 0, &feed);
    let each = (0..sessions).flat_map(|session| (0..users).map(move |user| (user, session)));
    let rows = each.map(|(user, session)| feeder.row(DrawScope::Start { user, session }));
    assert!(rows.flatten().eq(0..feed.rows));
    let stop = DrawScope::Stop {
        user: 7,
        session: 2,
    };
    assert_eq!(feeder.row(stop), Ok(2 * 40 + 7));
}

/// A stored run is folded again for ever: these values are part of the format.
#[test]
fn sessions_never_change() {
    let workload = Workload::new(&plan_of(SESSIONS_OF_SHOP, 4, 60), 42);
    let found = [0, 1, 2].map(|number| workload.session_length_us(3, number));
    assert_eq!(found, FROZEN.map(Some));
    let (from_us, to_us) = (2 * MINUTE_US, 2 * MINUTE_US);
    let constant = SessionLength::Between { from_us, to_us };
    let workload = Workload::new(&plan_of(constant, 4, 60), 42);
    assert_eq!(workload.session_length_us(3, 7), Some(2 * MINUTE_US));
    assert!(workload.session_length_us(3, 0) <= Some(2 * MINUTE_US));
}

// Computed by a separate program from the description of the draws, to seven digits.
const FROZEN: [u64; 3] = [584_124_875, 747_244_375, 2_025_698_572];

/// Broken if two places or two seeds have the same sessions, or if users without sessions leave.
#[test]
fn sessions_are_of_seed_and_place() {
    let of = |seed| {
        lengths(
            &Workload::new(&plan_of(SESSIONS_OF_SHOP, 100, 60), seed),
            1..11,
        )
    };
    assert_ne!(of(1), of(2));
    let mut distinct = of(1);
    distinct.dedup();
    assert!(distinct.len() > 995, "{}", distinct.len());
    let workload = Workload::new(&plan(&mut Dice::new(1), 4, 60), 1);
    assert!(!workload.has_sessions());
    assert_eq!(workload.session_at(0, None, 5), None);
}

/// A plan that cannot be played is refused by its field.
#[test]
fn sessions_that_cannot_be_are_refused() {
    let refused = |change: &dyn Fn(&mut Plan)| -> Vec<String> {
        let mut plan = plan_of(SESSIONS_OF_SHOP, 4, 60);
        change(&mut plan);
        let problems = check::plan(&plan).into_iter();
        problems.map(|problem| problem.field).collect()
    };
    let length = |length: SessionLength| move |plan: &mut Plan| plan.session = Some(length);
    assert_eq!(refused(&|plan| plan.schema = PlanSchema::V1), ["schema"]);
    let no_users = refused(&|plan| plan.users = None);
    assert!(no_users.contains(&"session".to_owned()), "{no_users:?}");
    let (from_us, to_us) = (20_000_000, 10_000_000);
    let turned = SessionLength::Between { from_us, to_us };
    assert_eq!(refused(&length(turned)), ["session.between"]);
    let (from_us, to_us) = (0, 1_000_000);
    let short = SessionLength::Between { from_us, to_us };
    assert_eq!(refused(&length(short)), ["session.between"]);
    let (from_us, to_us) = (1_000_000, 86_400_000_001);
    let long = SessionLength::Between { from_us, to_us };
    assert_eq!(refused(&length(long)), ["session.between"]);
    for median_us in [999_999, 12_960_000_001] {
        let exponential = SessionLength::Exponential { median_us };
        assert_eq!(refused(&length(exponential)), ["session.exponential"]);
    }
    for (median_us, p99_us) in [
        (999_999, 2_000_000),
        (2_000_000, 2_000_000),
        (2_000_000, 86_400_000_001),
    ] {
        let lognormal = SessionLength::Lognormal { median_us, p99_us };
        assert_eq!(refused(&length(lognormal)), ["session.lognormal"]);
    }
}
