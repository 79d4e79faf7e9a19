//! The arrivals of this core, in order of their due times.
//!
//! The core holds shares of the arrivals, each over a range of due ticks under one generation. Must
//! never release the same arrival twice to be sent, however often the holds change.

use std::sync::Arc;

use loadpilot_engine::schedule::due_times::DueTimes;
use loadpilot_engine::schedule::rate_change::RateChange;
use loadpilot_engine::schedule::share::Share;
use loadpilot_engine::schedule::workload::Workload;
use loadpilot_engine::tally::RowKey;
use loadpilot_events::log::assign::Generation;

/// One hold of a core: a share of the arrivals over a range of due ticks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CoreHold {
    /// Generation of the assignment.
    pub generation: Generation,
    /// The first due tick.
    pub from_tick: u32,
    /// The first due tick that is no longer held; `None` holds to the end.
    pub until_tick: Option<u32>,
    /// The arrivals of those ticks that belong to this core.
    pub share: Share,
}

/// An arrival of this core.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DueArrival {
    /// Its number.
    pub n: u64,
    /// When it is due, in µs after the start.
    pub due_us: u64,
    /// Its row key.
    pub key: RowKey,
    /// Whether it was released before, under a hold that has been replaced.
    pub repeated: bool,
}

/// All holds of a core, and the next arrival.
#[derive(Debug)]
pub(crate) struct ScheduleCursor {
    /// The workload as planned.
    planned: Arc<Workload>,
    /// Changes of the rate since.
    rates: Vec<RateChange>,
    /// The workload after these changes.
    workload: Arc<Workload>,
    due_times: DueTimes,
    shares: Vec<HeldShare>,
    /// Arrivals released under holds that were replaced.
    past: Vec<PastShare>,
    head: Option<DueArrival>,
}

#[derive(Debug)]
struct HeldShare {
    generation: Generation,
    share: Share,
    /// Numbers of the arrivals due in its range, half open.
    first: u64,
    end: u64,
    /// Number of the next arrival to release; at or beyond `end` when there is none.
    next: u64,
}

/// Arrivals of a share with numbers in a half-open range.
#[derive(Debug)]
struct PastShare {
    share: Share,
    first: u64,
    end: u64,
}

impl ScheduleCursor {
    pub(crate) fn new(workload: Arc<Workload>) -> Self {
        Self {
            due_times: DueTimes::new(workload.clone()),
            planned: workload.clone(),
            rates: Vec::new(),
            workload,
            shares: Vec::new(),
            past: Vec::new(),
            head: None,
        }
    }

    /// Replaces all holds. A generation that is still there continues where it was.
    ///
    /// A hold that becomes known after its first tick has begun is caught up from that tick on; the
    /// caller judges the lateness. The same applies to a change of the rate. Arrivals released
    /// beyond that change are not released again.
    pub(crate) fn replace(&mut self, holds: Vec<CoreHold>, rates: &[RateChange]) {
        if self.rates != rates {
            self.rates = rates.to_vec();
            let workload = Workload::clone(&self.planned).steered(rates);
            self.workload = Arc::new(workload);
            self.due_times = DueTimes::new(Arc::clone(&self.workload));
        }
        let mut old = std::mem::take(&mut self.shares);
        self.shares = holds
            .into_iter()
            .map(|hold| self.share(hold, &mut old))
            .collect();
        let gave_something = old.into_iter().filter(|held| held.next > held.first);
        self.past.extend(gave_something.map(|held| PastShare {
            share: held.share,
            first: held.first,
            end: held.next,
        }));
        self.head = self.find_head();
    }

    /// The length of the run in µs, with the rate changes known so far.
    pub(crate) fn duration_us(&self) -> u64 {
        self.workload.duration_us()
    }

    /// The arrival due next.
    pub(crate) fn head(&self) -> Option<&DueArrival> {
        self.head.as_ref()
    }

    /// Takes the arrival due next, if it is due by `limit_us` after the start.
    pub(crate) fn take_due(&mut self, limit_us: u64) -> Option<DueArrival> {
        let due = self.head.take_if(|head| head.due_us <= limit_us)?;
        let generation = due.key.generation;
        let mut shares = self.shares.iter_mut();
        let held = shares.find(|held| held.next == due.n && held.generation == generation)?;
        held.next = held.share.next_at_or_after(due.n + 1).unwrap_or(u64::MAX);
        self.head = self.find_head();
        Some(due)
    }

    fn find_head(&mut self) -> Option<DueArrival> {
        let waiting = self.shares.iter().enumerate();
        let waiting = waiting.filter(|(_, held)| held.next < held.end);
        let (index, held) = waiting.min_by_key(|(_, held)| held.next)?;
        let n = held.next;
        let due_us = self.due_times.due_us(n);
        let key = RowKey {
            tick: self.workload.tick_of(due_us),
            generation: held.generation,
            task: self.workload.task_of(n),
        };
        // A share that was cut short later may have released arrivals beyond its end.
        let others = self.shares.iter().enumerate();
        let mut others = others.filter(|(other, _)| *other != index);
        let repeated = others.any(|(_, held)| contains(&held.share, held.first..held.next, n))
            || self
                .past
                .iter()
                .any(|past| contains(&past.share, past.first..past.end, n));
        Some(DueArrival {
            n,
            due_us,
            key,
            repeated,
        })
    }

    fn share(&self, hold: CoreHold, old: &mut Vec<HeldShare>) -> HeldShare {
        let number = |tick: u32| {
            let tick_begin_us = u64::from(tick).saturating_mul(self.workload.tick_us());
            self.workload.first_at_or_after(tick_begin_us)
        };
        let first = number(hold.from_tick);
        let end = hold.until_tick.map_or(self.workload.planned(), number);
        let same = old.iter().position(|held| {
            held.generation == hold.generation && held.first == first && held.share == hold.share
        });
        let next = match same.map(|index| old.swap_remove(index)) {
            Some(held) => held.next,
            None => hold.share.next_at_or_after(first).unwrap_or(u64::MAX),
        };
        HeldShare {
            generation: hold.generation,
            share: hold.share,
            first,
            end,
            next,
        }
    }
}

fn contains(share: &Share, numbers: std::ops::Range<u64>, n: u64) -> bool {
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
            target: 0,
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
            user_stages: None,
            rest: None,
            session: None,
            types: Vec::new(),
            paired: false,
            hold: Vec::new(),
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
            requests: None,
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

    fn take_until(cursor: &mut ScheduleCursor, limit_us: u64) -> Vec<DueArrival> {
        std::iter::from_fn(|| cursor.take_due(limit_us)).collect()
    }

    /// Broken if a takeover loses arrivals, releases some twice or counts them for a wrong
    /// generation.
    #[test]
    fn a_takeover_ahead_of_time_changes_hands_exactly_at_its_tick() {
        let mut cursor = ScheduleCursor::new(workload());
        cursor.replace(vec![hold(1, (0, None), &[0, 1])], &[]);
        let mut taken = take_until(&mut cursor, 1_500_000);
        cursor.replace(
            vec![hold(1, (0, Some(4)), &[0, 1]), hold(2, (4, None), &[1, 2])],
            &[],
        );
        taken.extend(take_until(&mut cursor, u64::MAX));
        let numbers: Vec<u64> = taken.iter().map(|due| due.n).collect();
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
        for due in taken {
            assert_eq!(due.key.generation, 1 + u32::from(due.key.tick >= 4));
            assert!(!due.repeated);
        }
    }

    /// Broken if a takeover that becomes known too late makes the core send a request twice.
    #[test]
    fn a_takeover_heard_of_late_marks_what_was_already_given() {
        for emptied in [false, true] {
            let mut cursor = ScheduleCursor::new(workload());
            cursor.replace(vec![hold(1, (0, None), &[0, 1])], &[]);
            let before = take_until(&mut cursor, 5_950_000);
            assert_eq!(before.last().map(|due| due.n), Some(57));
            if emptied {
                cursor.replace(Vec::new(), &[]);
            }
            cursor.replace(
                vec![hold(1, (0, Some(4)), &[0, 1]), hold(2, (4, None), &[1, 2])],
                &[],
            );
            let after = take_until(&mut cursor, u64::MAX);
            for due in &after {
                let given_before = due.n < 58 && due.n % 4 != 2;
                assert_eq!(due.repeated, given_before, "{due:?}");
            }
            let fresh = after.iter().filter(|due| due.key.generation == 2);
            let numbers: Vec<u64> = fresh.map(|due| due.n).collect();
            let wanted: Vec<u64> = (40..100).filter(|n| [1, 2].contains(&(n % 4))).collect();
            assert_eq!(numbers, wanted);
        }
    }
}
