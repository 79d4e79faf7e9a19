//! The controller of `--hold`, against a queue whose capacity is known.

use loadpilot_engine::control::hold::{Measured, Range, WINDOW_TICKS, next_rate};
use loadpilot_events::log::steer::hold::HoldWindow;
use loadpilot_events::units::Rate;

use crate::rules::dice::Dice;

const TICK_S: f64 = 1.0;
/// Time from a decision to the first tick of the new rate, as in a local stack.
const DELAY_S: f64 = 3.0;
/// Time from the end of a tick to its report.
const REPORT_S: f64 = 0.5;
const LIMIT_MS: f64 = 200.0;

/// A server with one queue, whose service times vary by up to half of their mean.
struct Queue {
    capacity: Box<dyn Fn(f64) -> f64>,
    free_at: f64,
    dice: Dice,
    /// Due time and end of every arrival.
    ended: Vec<(f64, f64)>,
}

impl Queue {
    fn arrive(&mut self, due: f64) {
        let begin = self.free_at.max(due);
        let varied = 0.5 + self.dice.pick(0..1_000) as f64 / 1_000.0;
        self.free_at = begin + varied / (self.capacity)(begin);
        self.ended.push((due, self.free_at));
    }

    /// What a report at `now` contains about the arrivals that were due in some ticks.
    fn window(&self, rate: Rate, from: u32, to: u32, now: f64) -> HoldWindow {
        let due = f64::from(from) * TICK_S..f64::from(to) * TICK_S;
        let of_ticks = self.ended.iter().filter(|(at, _)| due.contains(at));
        let planned = of_ticks.clone().count() as u64;
        let ended = of_ticks.filter(|(_, end)| *end < now);
        let mut ms: Vec<f64> = ended.map(|(due, end)| (end - due) * 1_000.0).collect();
        ms.sort_by(f64::total_cmp);
        let rank = (ms.len() as f64 * 0.99).ceil() as usize;
        let actual = ms.get(rank.saturating_sub(1)).copied();
        HoldWindow {
            rate,
            from_us: u64::from(from) * 1_000_000,
            to_us: u64::from(to) * 1_000_000,
            planned,
            started: planned,
            calls: ms.len() as u64,
            passed: actual.is_some_and(|actual| actual <= LIMIT_MS),
            key: "p99_ms".to_owned(),
            limit: LIMIT_MS,
            actual,
        }
    }
}

/// The rate of each tick, and the steps of a run of `ticks`.
fn hold(
    start: Rate,
    ticks: u32,
    seed: u64,
    capacity: impl Fn(f64) -> f64 + 'static,
) -> (Vec<Rate>, Vec<HoldWindow>) {
    hold_below(None, start, ticks, seed, capacity)
}

/// The same for a tenant with a limit. The controller learns the limit when it requests a rate
/// above it.
fn hold_below(
    limit: Option<Rate>,
    start: Rate,
    ticks: u32,
    seed: u64,
    capacity: impl Fn(f64) -> f64 + 'static,
) -> (Vec<Rate>, Vec<HoldWindow>) {
    let mut queue = Queue {
        capacity: Box::new(capacity),
        free_at: 0.0,
        dice: Dice::new(seed),
        ended: Vec::new(),
    };
    let (mut rate, mut since) = (start, 0);
    let mut coming: Option<(u32, Rate)> = None;
    let (mut rates, mut steps) = (Vec::new(), Vec::new());
    for tick in 0..ticks {
        if let Some((from, next)) = coming.filter(|(from, _)| *from == tick) {
            (rate, since, coming) = (next, from, None);
        }
        let mut due = f64::from(tick) * TICK_S;
        while due < f64::from(tick + 1) * TICK_S {
            queue.arrive(due);
            due += 1.0 / rate.as_rps();
        }
        rates.push(rate);
        let (end, now) = (tick + 1, f64::from(tick + 1) * TICK_S + REPORT_S);
        let from = since.max(end.saturating_sub(WINDOW_TICKS));
        let window = queue.window(rate, from, end, now);
        let newest = queue.window(rate, tick, end, now);
        let measured = Measured {
            window: &window,
            newest: &newest,
            ticks: end - since,
        };
        if coming.is_none()
            && let Some(next) = next_rate(&steps, &measured, limit)
        {
            let is_caught_up = !window.passed && newest.passed;
            steps.push(if is_caught_up { newest } else { window });
            coming = Some((((now + DELAY_S) / TICK_S).ceil() as u32, next));
        }
    }
    (rates, steps)
}

/// The median of sorted rates.
fn median(rates: &[Rate]) -> f64 {
    let mut rps: Vec<f64> = rates.iter().map(|rate| rate.as_rps()).collect();
    rps.sort_by(f64::total_cmp);
    rps[rps.len() / 2]
}

/// The capacity of the target for a seed, in arrivals per second.
fn capacity(seed: u64) -> f64 {
    100.0 + Dice::new(seed).pick(0..400) as f64
}

/// Broken if a run does not settle within 60 s at a rate within 5 % of what its target can serve,
/// from a start at between an eighth of that and twice as much.
#[test]
fn the_rate_settles_at_the_capacity() {
    for seed in 1..=40 {
        let capacity = capacity(seed);
        let start = capacity / [8.0, 5.0, 3.0, 1.5, 0.5][seed as usize % 5];
        let (rates, steps) = hold(Rate((start * 1e6) as u64), 120, seed, move |_| capacity);
        let held = median(&rates[60..120]);
        assert!(
            (held / capacity - 1.0).abs() <= 0.05,
            "seed {seed}: {held} of {capacity}: {steps:#?}"
        );
        let reported = Range::of(&steps).held().expect("a rate passed").as_rps();
        assert!(
            (reported / capacity - 1.0).abs() <= 0.1,
            "seed {seed}: {reported}"
        );
    }
}

/// Broken if a run stays at a rate that its target no longer serves, or below the rate that it
/// serves now.
#[test]
fn the_rate_follows_a_capacity_that_changes() {
    for seed in 1..=10 {
        let before = capacity(seed);
        for (after, settled) in [(0.6, 90), (1.5, 150)] {
            let capacity = move |second: f64| match second < 100.0 {
                true => before,
                false => before * after,
            };
            let start = Rate((before / 4.0 * 1e6) as u64);
            let (rates, steps) = hold(start, 360, seed, capacity);
            let held = median(&rates[100 + settled..]);
            assert!(
                (held / (before * after) - 1.0).abs() <= 0.1,
                "seed {seed}: {held} of {}: {steps:#?}",
                before * after
            );
        }
    }
}

/// Broken if the rate is lowered for a target that no rate overloads, or raised for a target that
/// fails at every rate.
#[test]
fn the_rate_rises_while_the_gate_holds_and_falls_while_it_fails() {
    let (rates, steps) = hold(Rate::per_second(10), 40, 1, |_| 1e9);
    assert!(steps.iter().all(|step| step.passed));
    assert!(
        rates.is_sorted() && rates[39] >= Rate::per_second(320),
        "{rates:?}"
    );
    let (rates, steps) = hold(Rate::per_second(1_000), 60, 1, |_| 1.0);
    assert!(steps.iter().all(|step| !step.passed));
    assert!(rates.iter().rev().is_sorted(), "{rates:?}");
}

/// Broken if a tenant's run stays below its limit of rates, goes on requesting more, or reports a
/// lower rate than it held there. Also broken if the rate does not fall when the target gets
/// slower.
#[test]
fn the_rate_stays_at_the_limit_of_the_tenant() {
    let limit = Rate::per_second(90);
    let capacity = |second: f64| if second < 60.0 { 1e9 } else { 40.0 };
    let (rates, steps) = hold_below(Some(limit), Rate::per_second(50), 240, 1, capacity);
    assert_eq!(rates.iter().max(), Some(&limit));
    assert!(rates[20..60].iter().all(|rate| *rate == limit), "{rates:?}");
    let at_limit = |step: &&HoldWindow| step.rate == limit && step.passed;
    assert_eq!(steps.iter().filter(at_limit).count(), 1, "{steps:#?}");
    let until_then = steps.iter().take_while(|step| step.passed);
    assert_eq!(Range::of(until_then).held(), Some(limit));
    let held = median(&rates[180..]);
    assert!((held / 40.0 - 1.0).abs() <= 0.1, "{held}: {steps:#?}");
}
