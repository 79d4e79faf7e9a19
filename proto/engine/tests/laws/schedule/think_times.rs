//! Think times of a distribution: the draws of users follow the plan, for any seed.

use std::f64::consts::{LN_2, PI};

use loadpilot_engine::schedule::workload::Workload;
use loadpilot_events::plan::Rest;

use crate::fold::closed_loop::plan;
use crate::rules::dice::Dice;

/// Number of users, and number of think times of each.
const USERS: u32 = 200;
const RESTS: u64 = 50;
/// Maximum distance of 10,000 draws from their distribution, over its square root: one of a million
/// correct seeds exceeds it (Kolmogorov: 2 exp(-2 x²)).
const DISTANCE_MAX: f64 = 2.69 / 100.0;

/// The think times of all users in µs, sorted.
fn drawn(rest: Rest, seed: u64) -> Vec<u64> {
    let mut plan = plan(&mut Dice::new(1), USERS, 1);
    plan.rest = Some(rest);
    let workload = Workload::new(&plan, seed);
    let each = (0..USERS).flat_map(|user| (0..RESTS).map(move |k| (user, k)));
    let rests = each.map(|(user, k)| workload.next_start_us(user, k, 3, 7) - 7);
    let mut rests: Vec<u64> = rests.collect();
    rests.sort_unstable();
    rests
}

/// The largest distance between sorted draws and a distribution (Kolmogorov, Smirnov).
pub(crate) fn distance(sorted: &[u64], share_below: impl Fn(f64) -> f64) -> f64 {
    let len = sorted.len() as f64;
    let each = sorted.iter().enumerate().map(|(place, &us)| {
        let expected = share_below(us as f64);
        let (below, upto) = (place as f64 / len, (place + 1) as f64 / len);
        (expected - below).abs().max((upto - expected).abs())
    });
    each.fold(0.0, f64::max)
}

/// Share of the standard normal distribution below `z`, by the series of its density.
pub(crate) fn normal_below(z: f64) -> f64 {
    let terms = (1..200).scan(z, |term, n| {
        *term *= z * z / f64::from(2 * n + 1);
        Some(*term)
    });
    let sum = z + terms.sum::<f64>();
    0.5 + (-z * z / 2.0).exp() / (2.0 * PI).sqrt() * sum
}

/// Broken if think times do not follow the distribution, or if its parameters have another meaning.
#[test]
fn think_times_follow_their_distribution() {
    for seed in 0..20 {
        for median_us in [70_000, 8_000_000] {
            let rests = drawn(Rest::Exponential { median_us }, seed);
            let below = |us: f64| 1.0 - (-LN_2 * us / median_us as f64).exp();
            let found = distance(&rests, below);
            assert!(found < DISTANCE_MAX, "exponential, {seed}: {found}");
            // The same draws do not fit another median.
            let other = distance(&rests, |us| below(us / 1.2));
            assert!(other > DISTANCE_MAX, "exponential, {seed}: {other}");
        }
        for (median_us, p99_us) in [(8_000_000, 45_000_000), (1_000_000, 1_500_000)] {
            let rests = drawn(Rest::Lognormal { median_us, p99_us }, seed);
            let (median, p99) = (median_us as f64, p99_us as f64);
            let sigma = (p99 / median).ln() / 2.326_347_874;
            let below = |us: f64| normal_below((us / median).ln() / sigma);
            let found = distance(&rests, below);
            assert!(found < DISTANCE_MAX, "lognormal, {seed}: {found}");
            let wide = |us: f64| normal_below((us / median).ln() / (sigma * 1.2));
            let other = distance(&rests, wide);
            assert!(other > DISTANCE_MAX, "lognormal, {seed}: {other}");
            let share = rests.iter().filter(|&&us| us > p99_us).count();
            assert!((60..=150).contains(&share), "{share} of 10,000 above p99");
        }
    }
}

/// Broken if two users or two seeds have the same think times, or if a think time has no limit.
#[test]
fn think_times_are_of_user_and_seed_and_at_most_a_day() {
    let day_us = 86_400_000_000;
    let median_us = 12_960_000_000;
    let rests = drawn(Rest::Exponential { median_us }, 1);
    assert_eq!(rests.last(), Some(&day_us));
    let cut = rests.iter().filter(|&&us| us == day_us).count();
    assert!((50..=150).contains(&cut), "{cut} of 10,000");
    let others = drawn(Rest::Exponential { median_us }, 2);
    assert_ne!(rests, others);
    let mut distinct = rests;
    distinct.dedup();
    assert!(distinct.len() + cut > 9_990, "{}", distinct.len());
}
