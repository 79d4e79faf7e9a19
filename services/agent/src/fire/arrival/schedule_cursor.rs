//! Which arrivals are this core's, in order of their due times.
//!
//! A lane is one holding: a share of the arrivals over a stretch of due ticks, under one
//! generation. Must never give the same arrival twice to be sent, however often holdings change.

use std::sync::Arc;

use loadpilot_engine::schedule::rate_change::RateChange;
use loadpilot_engine::schedule::share::Share;
use loadpilot_engine::schedule::workload::{DueTimes, Workload};
use loadpilot_engine::tally::RowKey;
use loadpilot_events::log::assign::Generation;

/// What a core holds over a stretch of due ticks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CoreHold {
    /// Under which assignment.
    pub generation: Generation,
    /// The first due tick.
    pub from_tick: u32,
    /// The first due tick that is no longer held; `None` holds to the end.
    pub until_tick: Option<u32>,
    /// Which arrivals of those ticks.
    pub share: Share,
}

/// An arrival of this core.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Owned {
    /// Its number.
    pub n: u64,
    /// When it is due, in µs after the start.
    pub due_us: u64,
    /// Where it is counted.
    pub key: RowKey,
    /// Whether it was given out before, under a holding that has been replaced.
    pub repeated: bool,
}

/// All holdings of a core.
#[derive(Debug)]
pub(crate) struct Lanes {
    /// As it was planned.
    planned: Arc<Workload>,
    /// How it was changed since.
    rates: Vec<RateChange>,
    /// What came of it.
    workload: Arc<Workload>,
    due_times: DueTimes,
    lanes: Vec<Lane>,
    /// What lanes gave out that are no longer held.
    given: Vec<Given>,
    head: Option<Owned>,
}

#[derive(Debug)]
struct Lane {
    generation: Generation,
    share: Share,
    /// The numbers of the arrivals due in its stretch, half open.
    first: u64,
    end: u64,
    /// The next one to give out; at or beyond `end` when there is none.
    next: u64,
}

/// The arrivals of a share with numbers in a half-open range.
#[derive(Debug)]
struct Given {
    share: Share,
    first: u64,
    end: u64,
}

impl Lanes {
    pub(crate) fn new(workload: Arc<Workload>) -> Self {
        Self {
            due_times: DueTimes::new(workload.clone()),
            planned: workload.clone(),
            rates: Vec::new(),
            workload,
            lanes: Vec::new(),
            given: Vec::new(),
            head: None,
        }
    }

    /// Replaces all holdings. A generation that stays goes on where it was.
    ///
    /// A holding that becomes known after its first tick has begun is caught up from that tick on:
    /// lateness is judged by the caller.
    /// The same holds for a change of the rate: what was given out beyond it is not given again.
    pub(crate) fn replace(&mut self, holds: Vec<CoreHold>, rates: &[RateChange]) {
        if self.rates != rates {
            self.rates = rates.to_vec();
            let workload = Workload::clone(&self.planned).steered(rates);
            self.workload = Arc::new(workload);
            self.due_times = DueTimes::new(Arc::clone(&self.workload));
        }
        let mut old = std::mem::take(&mut self.lanes);
        self.lanes = holds
            .into_iter()
            .map(|hold| self.lane(hold, &mut old))
            .collect();
        let gave_something = old.into_iter().filter(|lane| lane.next > lane.first);
        self.given.extend(gave_something.map(|lane| Given {
            share: lane.share,
            first: lane.first,
            end: lane.next,
        }));
        self.head = self.find_head();
    }

    /// The arrival due next.
    pub(crate) fn head(&self) -> Option<&Owned> {
        self.head.as_ref()
    }

    /// Gives out the arrival due next, if it is due by `limit_us` after the start.
    pub(crate) fn take_due(&mut self, limit_us: u64) -> Option<Owned> {
        let owned = self.head.take_if(|head| head.due_us <= limit_us)?;
        let generation = owned.key.generation;
        let mut lanes = self.lanes.iter_mut();
        let lane = lanes.find(|lane| lane.next == owned.n && lane.generation == generation)?;
        lane.next = lane.share.next_at_or_after(owned.n + 1).unwrap_or(u64::MAX);
        self.head = self.find_head();
        Some(owned)
    }

    fn find_head(&mut self) -> Option<Owned> {
        let waiting = self.lanes.iter().enumerate();
        let waiting = waiting.filter(|(_, lane)| lane.next < lane.end);
        let (place, lane) = waiting.min_by_key(|(_, lane)| lane.next)?;
        let n = lane.next;
        let due_us = self.due_times.due_us(n);
        let key = RowKey {
            tick: self.workload.tick_of(due_us),
            generation: lane.generation,
            task: self.workload.task_of(n),
        };
        // A lane that was cut short later may have given out arrivals beyond its end.
        let others = self.lanes.iter().enumerate();
        let mut others = others.filter(|(other, _)| *other != place);
        let repeated = others.any(|(_, lane)| gave(&lane.share, lane.first..lane.next, n))
            || self
                .given
                .iter()
                .any(|given| gave(&given.share, given.first..given.end, n));
        Some(Owned {
            n,
            due_us,
            key,
            repeated,
        })
    }

    fn lane(&self, hold: CoreHold, old: &mut Vec<Lane>) -> Lane {
        let number = |tick: u32| {
            let tick_begin_us = u64::from(tick).saturating_mul(self.workload.tick_us());
            self.workload.first_at_or_after(tick_begin_us)
        };
        let first = number(hold.from_tick);
        let end = hold.until_tick.map_or(self.workload.planned(), number);
        let same = old.iter().position(|lane| {
            lane.generation == hold.generation && lane.first == first && lane.share == hold.share
        });
        let next = match same.map(|place| old.swap_remove(place)) {
            Some(lane) => lane.next,
            None => hold.share.next_at_or_after(first).unwrap_or(u64::MAX),
        };
        Lane {
            generation: hold.generation,
            share: hold.share,
            first,
            end,
            next,
        }
    }
}

fn gave(share: &Share, numbers: std::ops::Range<u64>, n: u64) -> bool {
    numbers.contains(&n) && share.owns(n)
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadpilot_events::plan::connections::Connections;
    use loadpilot_events::plan::{Arrivals, Method, Piece, Plan, PlanSchema, Profile, Shape};
    use loadpilot_events::plan::{PhaseTimeouts, Step, Task};
    use loadpilot_events::units::Rate;

    const SHARDS: u32 = 4;

    /// 100 arrivals, 10 a second, ticks of 1 s.
    fn workload() -> Arc<Workload> {
        let step = Step {
            name: "GET /".to_owned(),
            method: Method::Get,
            path: "/".to_owned(),
            headers: Vec::new(),
            body: None,
            timeout_us: None,
            stream: None,
            tokens_max: None,
            listen_us: None,
        };
        let rate = Rate::per_second(10);
        let plan = Plan {
            schema: PlanSchema::V1,
            scenario: "Lanes".to_owned(),
            target: "http://127.0.0.1:1".to_owned(),
            profile: Profile {
                shape: Shape::Constant,
                pieces: vec![Piece {
                    duration_us: 10_000_000,
                    from: rate,
                    to: rate,
                }],
            },
            arrivals: Arrivals::Uniform,
            users: None,
            rest: None,
            tasks: vec![Task {
                name: "only".to_owned(),
                weight: 1,
                steps: vec![step],
            }],
            warm_up_us: 0,
            timeout_us: 1_000_000,
            timeouts: PhaseTimeouts::default(),
            max_wait_us: 1_000_000,
            max_lateness_us: 500_000,
            tick_us: 1_000_000,
            max_in_flight: None,
            thresholds: Vec::new(),
            id_header: None,
            debug_requests: 0,
            connections: Connections::default(),
            samples_ppm: None,
            script: None,
            code: None,
            parameters: std::collections::BTreeMap::new(),
            tags: std::collections::BTreeMap::new(),
        };
        Arc::new(Workload::new(&plan, 1))
    }

    fn hold(generation: u32, ticks: (u32, Option<u32>), shards: &[u32]) -> CoreHold {
        CoreHold {
            generation,
            from_tick: ticks.0,
            until_tick: ticks.1,
            share: Share::new(SHARDS, shards.to_vec()),
        }
    }

    fn take_until(lanes: &mut Lanes, limit_us: u64) -> Vec<Owned> {
        std::iter::from_fn(|| lanes.take_due(limit_us)).collect()
    }

    /// Broken if a takeover lost arrivals, gave some twice or counted them for a wrong generation.
    #[test]
    fn a_takeover_ahead_of_time_changes_hands_exactly_at_its_tick() {
        let mut lanes = Lanes::new(workload());
        lanes.replace(vec![hold(1, (0, None), &[0, 1])], &[]);
        let mut given = take_until(&mut lanes, 1_500_000);
        lanes.replace(
            vec![hold(1, (0, Some(4)), &[0, 1]), hold(2, (4, None), &[1, 2])],
            &[],
        );
        given.extend(take_until(&mut lanes, u64::MAX));
        let numbers: Vec<u64> = given.iter().map(|owned| owned.n).collect();
        let wanted: Vec<u64> = (0..100)
            .filter(|n| {
                if *n < 40 {
                    n % 4 < 2
                } else {
                    [1, 2].contains(&(n % 4))
                }
            })
            .collect();
        assert_eq!(numbers, wanted);
        for owned in given {
            assert_eq!(owned.key.generation, 1 + u32::from(owned.key.tick >= 4));
            assert!(!owned.repeated);
        }
    }

    /// Broken if a takeover that is heard of too late made the core send a request twice.
    #[test]
    fn a_takeover_heard_of_late_marks_what_was_already_given() {
        for emptied in [false, true] {
            let mut lanes = Lanes::new(workload());
            lanes.replace(vec![hold(1, (0, None), &[0, 1])], &[]);
            let before = take_until(&mut lanes, 5_950_000);
            assert_eq!(before.last().map(|owned| owned.n), Some(57));
            if emptied {
                lanes.replace(Vec::new(), &[]);
            }
            lanes.replace(
                vec![hold(1, (0, Some(4)), &[0, 1]), hold(2, (4, None), &[1, 2])],
                &[],
            );
            let after = take_until(&mut lanes, u64::MAX);
            for owned in &after {
                let given_before = owned.n < 58 && owned.n % 4 != 2;
                assert_eq!(owned.repeated, given_before, "{owned:?}");
            }
            let fresh = after.iter().filter(|owned| owned.key.generation == 2);
            let numbers: Vec<u64> = fresh.map(|owned| owned.n).collect();
            let wanted: Vec<u64> = (40..100).filter(|n| [1, 2].contains(&(n % 4))).collect();
            assert_eq!(numbers, wanted);
        }
    }
}
