//! The workload: a pure function of plan and seed. The number of an arrival fixes its due time, its
//! task and its draws. In a closed loop nothing is due: a user and the number of its iteration fix
//! its task and its draws.
//!
//! Any agent computes its own share alone, at any moment, for any n. The result must never depend
//! on the agent or on earlier calls.

use loadpilot_events::limits::RATE_MAX_URPS;
use loadpilot_events::plan::{Arrivals, Plan};
use loadpilot_events::units::Rate;

use crate::bugs::{Bug, bug};
use crate::schedule::hash::{Purpose, below, draw};
use crate::schedule::pace::{PARTS_PER_ARRIVAL, Pace};
use crate::schedule::rate_change::RateChange;
use crate::schedule::rows_end::FirstWithoutRow;
use crate::schedule::task_order::TaskOrder;
use crate::schedule::user_stages::ActiveUsers;
use crate::schedule::user_types::UserTypes;
use crate::schedule::user_types::pairs::{Pairs, SIDES};

/// Number of arrivals in one block of Poisson points.
pub const POISSON_BLOCK: u64 = 1_024;

/// Number of blocks of the task permutation that belong to one user: more than the iterations of
/// the longest run.
const BLOCKS_PER_USER: u64 = 1 << 42;

/// All arrivals of a run.
#[derive(Debug, Clone)]
pub struct Workload {
    pace: Pace,
    /// The segments of Λ in which Poisson points are drawn: one, and one more for each change of
    /// the rate.
    segments: Vec<Segment>,
    pub(super) users: Option<u32>,
    /// Absent: all users are active for the whole run.
    active: Option<ActiveUsers>,
    pub(super) types: UserTypes,
    arrivals: Arrivals,
    pub(super) seed: u64,
    tick_us: u64,
    /// All tasks, with the weights that they have among the arrivals of the run; of pairs the tasks
    /// of the first side.
    order: TaskOrder,
    /// Absent: arrivals stand alone.
    pub(super) pairs: Option<Pairs>,
    samples_ppm: u32,
    /// Absent: no feed ends the run.
    without_row: Option<FirstWithoutRow>,
    /// The end by the present pace, where a feed ends the run before the end of its profile.
    rows_end: Option<RowsEnd>,
}

/// The end of a run for which a feed has no row left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowsEnd {
    /// Position of the feed in the plan.
    pub feed: usize,
    /// Number of the first arrival that would have no row; it is not offered.
    pub arrival: u64,
    /// When that arrival would be due, in µs after the start: the run ends then.
    pub at_us: u64,
}

/// A segment of Λ with Poisson points of its own. Arrivals that are due before a change of the rate
/// must not depend on it, and the points of a block depend on where the last block ends.
#[derive(Debug, Clone, Copy)]
struct Segment {
    /// The number of its first arrival.
    first: u64,
    /// Where it begins, in parts.
    begin: u128,
    /// Where its last block ends, in parts. The next segment may begin before, and has precedence.
    end: u128,
}

impl Segment {
    /// Number of points in its blocks.
    fn points(&self) -> u64 {
        let count = (self.end - self.begin).div_ceil(PARTS_PER_ARRIVAL);
        u64::try_from(count).unwrap_or(u64::MAX)
    }
}

/// A block of Poisson points: the position of its segment, and its number in the segment.
pub(super) type BlockAt = (usize, u64);

/// Binary logarithm of the number of blocks between the first blocks of two segments: more than the
/// highest rate fills in the longest run.
const SEGMENT_BITS: u32 = 40;

impl Workload {
    /// The workload of a plan that [`crate::check`] has accepted.
    #[must_use]
    pub fn new(plan: &Plan, seed: u64) -> Self {
        let order = TaskOrder::of_run(plan, seed);
        let pace = Pace::new(&plan.profile);
        let whole = Segment {
            first: 0,
            begin: 0,
            end: pace.total_parts(),
        };
        let workload = Self {
            pace,
            segments: vec![whole],
            users: plan.users,
            active: plan.user_stages.as_deref().map(ActiveUsers::new),
            types: UserTypes::new(plan, seed),
            arrivals: plan.arrivals,
            seed,
            tick_us: plan.tick_us,
            without_row: FirstWithoutRow::of(plan, &order),
            order,
            pairs: Pairs::of(plan, seed),
            samples_ppm: plan.samples_ppm.unwrap_or(0),
            rows_end: None,
        };
        workload.with_rows_end()
    }

    /// The workload after changes of the rate, in the order in which they were decided. An arrival
    /// that is due before the tick of a change keeps its number, its due time, its task and its
    /// draws. A feed ends the run at the same arrival. A closed loop has no rate and stays as it
    /// is.
    #[must_use]
    pub fn steered(mut self, changes: &[RateChange]) -> Self {
        for change in changes.iter().filter(|_| self.users.is_none()) {
            let at_us = u64::from(change.from_tick).saturating_mul(self.tick_us);
            if at_us >= self.pace.duration_us() {
                continue;
            }
            let (first, begin) = (self.due_before(at_us), self.pace.parts_before(at_us));
            let rate = Rate(change.rate.0.min(RATE_MAX_URPS));
            self.pace = self.pace.changed(at_us, rate);
            let end = self.pace.total_parts();
            self.segments.retain(|segment| segment.begin < begin);
            self.segments.push(Segment { first, begin, end });
        }
        self.with_rows_end()
    }

    /// The workload with the end that its feeds give it at the present pace.
    fn with_rows_end(mut self) -> Self {
        let without_row = self.without_row;
        let without_row = without_row.filter(|first| first.arrival < self.in_profile());
        self.rows_end = without_row.map(|FirstWithoutRow { feed, arrival }| {
            // Poisson arrivals may be due in the same µs: the last one is due before the end.
            let last_us = arrival
                .checked_sub(1)
                .map_or(0, |last| self.due_at(last) + 1);
            RowsEnd {
                feed,
                arrival,
                at_us: self.due_at(arrival).max(last_us),
            }
        });
        self
    }

    /// The end of the run, where a feed ends it before the end of its profile.
    #[must_use]
    pub fn rows_end(&self) -> Option<RowsEnd> {
        self.rows_end
    }

    /// Number of users of a closed loop, each of which starts its next task when its last one
    /// ended; `None` when arrivals are due on schedule.
    #[must_use]
    pub fn users(&self) -> Option<u32> {
        self.users
    }

    /// The first moment from `t_us` on at which a user of a closed loop is active and may start a
    /// task, in µs after the start; `None` when there is none. Not earlier for a higher number.
    #[must_use]
    pub fn active_from(&self, user: u32, t_us: u64) -> Option<u64> {
        let exists = self.users.is_some_and(|users| user < users);
        let whole = || Some(t_us).filter(|_| t_us < self.duration_us());
        let active = self.active.as_ref();
        let from_us = active.map_or_else(whole, |active| active.active_from(user, t_us));
        from_us.filter(|_| exists)
    }

    /// The most users of a closed loop that are active at a moment of a tick; 0 without a closed
    /// loop.
    #[must_use]
    pub fn active_in_tick(&self, tick: u32) -> u32 {
        let from_us = u64::from(tick) * self.tick_us;
        let whole = || self.users.filter(|_| from_us < self.duration_us());
        match &self.active {
            None => whole().unwrap_or(0),
            Some(active) => active.most_in(&(from_us..from_us + self.tick_us)),
        }
    }

    /// The load at both ends of the piece or stage that `t_us` lies in: rates, or active users of
    /// stages; `None` after the end.
    #[must_use]
    pub fn slope_at(&self, t_us: u64) -> Option<(u64, u64)> {
        match &self.active {
            _ if t_us >= self.duration_us() => None,
            None => self.pace.slope_at(t_us),
            Some(active) => active.slope_at(t_us),
        }
    }

    /// The planned rate at `t_us`, in millionths of an arrival per second; 0 after the end.
    #[must_use]
    pub fn rate_at(&self, t_us: u64) -> u64 {
        let is_over = t_us >= self.duration_us();
        if is_over { 0 } else { self.pace.rate_at(t_us) }
    }

    /// The seed of every random choice.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Number of arrivals of the whole run; 0 in a closed loop, which plans none.
    #[must_use]
    pub fn planned(&self) -> u64 {
        let rows_end = self.rows_end;
        rows_end.map_or_else(|| self.in_profile(), |end| end.arrival)
    }

    /// Number of arrivals of the whole profile.
    fn in_profile(&self) -> u64 {
        match (self.arrivals, self.segments.last()) {
            (Arrivals::Poisson, Some(last)) => last.first + last.points(),
            _ => self.pace.planned(),
        }
    }

    /// The length of the run in µs: that of the profile, unless a feed ends the run before.
    #[must_use]
    pub fn duration_us(&self) -> u64 {
        let rows_end = self.rows_end;
        rows_end.map_or_else(|| self.pace.duration_us(), |end| end.at_us)
    }

    /// The length of a tick, the unit of deltas and series, in µs.
    #[must_use]
    pub fn tick_us(&self) -> u64 {
        self.tick_us
    }

    /// Number of ticks that hold a due time.
    #[must_use]
    pub fn ticks(&self) -> u32 {
        u32::try_from(self.duration_us().div_ceil(self.tick_us)).unwrap_or(u32::MAX)
    }

    /// Distribution of due times inside the profile.
    pub(super) fn arrivals(&self) -> Arrivals {
        self.arrivals
    }

    /// The rate profile.
    #[must_use]
    pub fn pace(&self) -> &Pace {
        &self.pace
    }

    /// When arrival `n` is due, in µs after the start; monotone in n. A caller that reads many
    /// neighbours uses [`super::due_times::DueTimes`].
    ///
    /// # Panics
    /// When `n` is not below [`Workload::planned`].
    #[must_use]
    pub fn due_us(&self, n: u64) -> u64 {
        assert!(n < self.planned(), "arrival {n} beyond the plan");
        self.due_at(n)
    }

    /// When an arrival of the profile is due, whether or not a feed ends the run before.
    fn due_at(&self, n: u64) -> u64 {
        let position = match self.arrivals {
            Arrivals::Uniform => u128::from(n) * PARTS_PER_ARRIVAL,
            Arrivals::Poisson => {
                let (at, place) = self.place_of(n);
                self.poisson_points(at)[place]
            }
        };
        self.pace.due_us(position)
    }

    /// The task of arrival `n`: a seeded permutation of each block of W arrivals, where W is the
    /// sum of the weights. Every block holds every task exactly as often as its weight says.
    #[must_use]
    pub fn task_of(&self, n: u64) -> u16 {
        match self.pairs {
            None => self.task_in_blocks(&self.order, 0, n),
            Some(pairs) => pairs.task(n, self.task_in_blocks(&self.order, 0, n / 2)),
        }
    }

    /// The task of iteration `k` (0, 1, 2 …) of a user of a closed loop, one of its type. Each user
    /// has a seeded permutation of its own for each block of W iterations: the weights hold for
    /// every user in every block, and users do not run in step.
    #[must_use]
    pub fn task_of_user(&self, user: u32, k: u64) -> u16 {
        let first_block = Self::first_block_of(self.drawing_user(user));
        self.task_in_blocks(self.tasks_of(user), first_block, k)
    }

    /// The task at position `n` of a sequence whose first block has number `first_block`.
    fn task_in_blocks(&self, tasks: &TaskOrder, first_block: u64, n: u64) -> u16 {
        if tasks.tasks() <= 1 || bug(Bug::FirstTaskOnly) {
            return tasks.first();
        }
        let block_len = tasks.block_len();
        let block = first_block.wrapping_add(n / block_len);
        tasks.task_at(block, n % block_len)
    }

    /// The tasks that arrivals are drawn from.
    pub(crate) fn tasks_of_run(&self) -> &TaskOrder {
        &self.order
    }

    /// The first block of the task permutation of a user.
    pub(crate) fn first_block_of(user: u32) -> u64 {
        u64::from(user) * BLOCKS_PER_USER
    }

    /// Number of tasks.
    pub(crate) fn tasks(&self) -> usize {
        self.order.tasks() * self.pairs.map_or(1, |_| SIDES)
    }

    /// The draw, in 0..1,000,000, that decides whether a call may use an open connection. The call
    /// is step `step` of the arrival named by `block` and `index`.
    #[must_use]
    pub fn reuse_draw_ppm(&self, block: u64, index: u64, step: usize) -> u32 {
        let block = self.pairs.map_or(block, |_| block / 2);
        let index = index.wrapping_mul(1 << 16).wrapping_add(step as u64);
        let uniform = draw(self.seed, Purpose::Reuse, block, index);
        u32::try_from(below(1_000_000, uniform)).unwrap_or(u32::MAX)
    }

    /// Whether a call of the arrival named by `block` and `index` is recorded as a sample; `call`
    /// is its position in the plan's list of calls.
    #[must_use]
    pub fn is_sampled(&self, block: u64, index: u64, call: u16) -> bool {
        let index = index.wrapping_mul(1 << 16).wrapping_add(u64::from(call));
        let drawn = || below(1_000_000, draw(self.seed, Purpose::Sample, block, index));
        match self.samples_ppm {
            0 => false,
            1_000_000.. => true,
            samples_ppm => drawn() < u64::from(samples_ppm),
        }
    }

    /// The tick that holds a due time.
    #[must_use]
    pub fn tick_of(&self, due_us: u64) -> u32 {
        u32::try_from(due_us / self.tick_us).unwrap_or(u32::MAX)
    }

    /// The first arrival due at or after `t_us`; [`Workload::planned`] when there is none.
    #[must_use]
    pub fn first_at_or_after(&self, t_us: u64) -> u64 {
        self.due_before(t_us).min(self.planned())
    }

    /// Number of arrivals of the profile that are due before `t_us`.
    fn due_before(&self, t_us: u64) -> u64 {
        match self.arrivals {
            Arrivals::Uniform => self.pace.planned_before(t_us),
            Arrivals::Poisson => self.points_below(self.pace.parts_before(t_us)),
        }
    }

    /// The arrivals that are due in a tick, as a half-open range of their numbers.
    #[must_use]
    pub fn arrivals_in_tick(&self, tick: u32) -> std::ops::Range<u64> {
        self.arrivals_in_ticks(&(tick..tick + 1))
    }

    /// The arrivals that are due in some ticks, as a half-open range of their numbers.
    #[must_use]
    pub fn arrivals_in_ticks(&self, ticks: &std::ops::Range<u32>) -> std::ops::Range<u64> {
        let first = |tick: u32| self.first_at_or_after(u64::from(tick) * self.tick_us);
        first(ticks.start)..first(ticks.end)
    }

    /// Number of each task at the positions `range` of the sequence of tasks.
    pub(super) fn count_in_blocks(&self, range: std::ops::Range<u64>) -> Vec<u64> {
        let block_len = self.order.block_len();
        let mut counts = vec![0; self.order.tasks()];
        let mut n = range.start;
        while n < range.end {
            let whole_blocks = (range.end - n) / block_len;
            if n.is_multiple_of(block_len) && whole_blocks > 0 {
                for (count, weight) in counts.iter_mut().zip(self.order.weights()) {
                    *count += weight * whole_blocks;
                }
                n += whole_blocks * block_len;
            } else {
                counts[usize::from(self.task_in_blocks(&self.order, 0, n))] += 1;
                n += 1;
            }
        }
        counts
    }

    /// Number of points below `limit` parts of Λ.
    fn points_below(&self, limit: u128) -> u64 {
        let begun = self
            .segments
            .partition_point(|segment| segment.begin < limit);
        let Some(place) = begun.checked_sub(1) else {
            return 0;
        };
        // A block of points stays inside its part of Λ, so that only one can hold the limit.
        let segment = self.segments[place];
        let block = (limit - segment.begin - 1) / (u128::from(POISSON_BLOCK) * PARTS_PER_ARRIVAL);
        let block = u64::try_from(block).unwrap_or(u64::MAX);
        let below = self
            .unsorted_points((place, block))
            .filter(|&point| point < limit);
        segment.first + block * POISSON_BLOCK + below.count() as u64
    }

    /// The block of Poisson points that holds arrival `n`, and the position of the arrival there.
    pub(super) fn place_of(&self, n: u64) -> (BlockAt, usize) {
        let begun = self.segments.partition_point(|segment| segment.first <= n);
        let place = begun.saturating_sub(1);
        let inside = n - self.segments[place].first;
        let rest = usize::try_from(inside % POISSON_BLOCK).unwrap_or(usize::MAX);
        ((place, inside / POISSON_BLOCK), rest)
    }

    /// The points of one block, sorted.
    pub(super) fn poisson_points(&self, block: BlockAt) -> Vec<u128> {
        let mut points: Vec<u128> = self.unsorted_points(block).collect();
        points.sort_unstable();
        points
    }

    /// The points of one block: uniform over the block's part of Λ.
    fn unsorted_points(&self, (place, block): BlockAt) -> impl Iterator<Item = u128> {
        let segment = self.segments[place];
        let first = block * POISSON_BLOCK;
        let count = POISSON_BLOCK.min(segment.points() - first);
        let begin = segment.begin + u128::from(first) * PARTS_PER_ARRIVAL;
        let full = u128::from(POISSON_BLOCK) * PARTS_PER_ARRIVAL;
        let width = full.min(segment.end - begin);
        let drawn = block.wrapping_add((place as u64) << SEGMENT_BITS);
        let seed = self.seed;
        (0..count)
            .map(move |i| u128::from(draw(seed, Purpose::Poisson, drawn, i)))
            .map(move |uniform| begin + ((uniform * width) >> 64))
    }
}
