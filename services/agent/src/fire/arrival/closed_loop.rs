//! The closed loop: each user starts its next iteration when its last one has ended and its rest is
//! over.
//!
//! Nothing here is due before it starts, so nothing can be late: a slow target shows as fewer
//! iterations. With stages a user that is not active rests until it is. A user must never run twice
//! at a time, nor outside of what is held, nor start an iteration while it is not active.

use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;

use loadpilot_engine::schedule::workload::Workload;
use loadpilot_engine::tally::RowKey;
use loadpilot_events::log::assign::Generation;
use tokio::sync::Notify;

use super::schedule_cursor::CoreHold;

/// The users of one core.
#[derive(Debug)]
pub(crate) struct ClosedLoop {
    workload: Arc<Workload>,
    users: u32,
    holds: RefCell<Vec<CoreHold>>,
    states: RefCell<BTreeMap<u32, User>>,
    /// When holds may let further users join, in µs after the start.
    next_join_us: Cell<Option<u64>>,
    /// Resting users by the end of their rest, in µs after the start.
    resting: RefCell<BinaryHeap<Reverse<(u64, u32)>>>,
    /// Notified when a rest ends before all others.
    earlier: Notify,
    /// No user joins or goes on for now.
    paused: Cell<bool>,
    /// No user joins or goes on any more, whatever is held.
    closed: Cell<bool>,
}

/// One iteration of a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Iteration {
    pub user: u32,
    /// Its number among those of this user on this core, from 0.
    pub k: u64,
    /// Its row key.
    pub key: RowKey,
}

#[derive(Debug, Default)]
struct User {
    iterations: u64,
    began_us: u64,
    activity: Activity,
}

#[derive(Debug, Default, PartialEq)]
enum Activity {
    #[default]
    Idle,
    Resting,
    Running,
}

impl ClosedLoop {
    /// Of a workload that has users; `None` for an open one.
    pub(crate) fn new(workload: Arc<Workload>) -> Option<Self> {
        let users = workload.users()?;
        Some(Self {
            workload,
            users,
            holds: RefCell::default(),
            states: RefCell::default(),
            next_join_us: Cell::new(None),
            resting: RefCell::default(),
            earlier: Notify::new(),
            paused: Cell::new(false),
            closed: Cell::new(false),
        })
    }

    /// The length of the run, in µs.
    pub(crate) fn duration_us(&self) -> u64 {
        self.workload.duration_us()
    }

    /// Replaces what is held. A user that is held no longer ends its iteration and stops.
    pub(crate) fn replace(&self, holds: Vec<CoreHold>) {
        if !self.closed.get() {
            *self.holds.borrow_mut() = holds;
            self.next_join_us.set(Some(0));
        }
    }

    /// While `paused` no user joins or goes on; after that all users that are held may join.
    pub(crate) fn pause(&self, paused: bool) {
        if self.paused.replace(paused) && !paused && !self.closed.get() {
            self.next_join_us.set(Some(0));
        }
    }

    /// Ends the loop: no user joins or goes on any more, whatever is held later.
    pub(crate) fn close(&self) {
        self.closed.set(true);
        self.holds.borrow_mut().clear();
        self.next_join_us.set(None);
        self.resting.borrow_mut().clear();
    }

    /// When users may have to join next, in µs after the start.
    pub(crate) fn next_join_us(&self) -> Option<u64> {
        let rested = self.resting.borrow().peek().map(|Reverse((at, _))| *at);
        let next = rested.into_iter().chain(self.next_join_us.get()).min();
        next.filter(|_| !self.paused.get())
    }

    /// Waits until [`Self::next_join_us`] is earlier than before.
    pub(crate) async fn earlier(&self) {
        self.earlier.notified().await;
    }

    /// The iterations that begin by `now_us` after the start: of users whose rest is over. Lets
    /// newly held users begin their first rest.
    pub(crate) fn join(&self, now_us: u64) -> Vec<Iteration> {
        if self.next_join_us().is_none_or(|at_us| at_us > now_us) {
            return Vec::new();
        }
        if self.next_join_us.get().is_some_and(|at_us| at_us <= now_us) {
            self.next_join_us.set(self.next_begin_us(now_us));
            self.admit(now_us);
        }
        let mut rested = Vec::new();
        while let Some((at_us, user)) = self.pop_rested(now_us) {
            rested.extend(self.next(user, now_us));
            // It begins at the end of its rest, however late that was noticed: paced users do not
            // drift.
            if let Some(state) = self.states.borrow_mut().get_mut(&user) {
                state.began_us = at_us;
            }
        }
        rested
    }

    /// The iteration of `user` that directly follows one that has just ended; `None` when it rests
    /// before, or stops here.
    pub(crate) fn follow(&self, user: u32, now_us: u64) -> Option<Iteration> {
        if !self.workload.rests() {
            return self.next(user, now_us);
        }
        let rested_us = {
            let states = self.states.borrow();
            let (k, began_us) = states
                .get(&user)
                .map_or((0, now_us), |state| (state.iterations, state.began_us));
            self.workload.next_start_us(user, k, began_us, now_us)
        };
        if rested_us <= now_us {
            return self.next(user, now_us);
        }
        self.rest(user, rested_us);
        None
    }

    /// Lets idle users that are held begin: active ones each at its place in the first rest, the
    /// others when they become active.
    fn admit(&self, now_us: u64) {
        let is_idle = |user: &u32| {
            let states = self.states.borrow();
            let activity = states.get(user).map(|user| &user.activity);
            activity.is_none_or(|activity| *activity == Activity::Idle)
        };
        // Lower numbers are active first: each search goes on where the last one ended.
        let mut active_us = now_us;
        for user in (0..self.users).filter(is_idle) {
            if self.hold_of(user, now_us).is_none() {
                continue;
            }
            let Some(at_us) = self.workload.active_from(user, active_us) else {
                break;
            };
            active_us = at_us;
            let spread_us = match at_us {
                at_us if at_us > now_us => 0,
                _ => self.workload.begin_us_of_user(user),
            };
            self.rest(user, at_us + spread_us);
        }
    }

    fn rest(&self, user: u32, until_us: u64) {
        let mut states = self.states.borrow_mut();
        let state = states.entry(user).or_default();
        state.activity = Activity::Resting;
        // A rest that ends after the run, or after a stop, never ends.
        if self.closed.get() || until_us >= self.workload.duration_us() {
            return;
        }
        let mut resting = self.resting.borrow_mut();
        let is_first = resting.peek().is_none_or(|Reverse((at, _))| until_us < *at);
        resting.push(Reverse((until_us, user)));
        if is_first {
            self.earlier.notify_one();
        }
    }

    fn pop_rested(&self, now_us: u64) -> Option<(u64, u32)> {
        let mut resting = self.resting.borrow_mut();
        let Reverse(rested) = *resting.peek()?;
        (rested.0 <= now_us).then(|| {
            resting.pop();
            rested
        })
    }

    /// The next iteration of `user`; `None` when it is not held, or the loop is paused, or when it
    /// rests until it is active again.
    fn next(&self, user: u32, now_us: u64) -> Option<Iteration> {
        let generation = self.hold_of(user, now_us).filter(|_| !self.paused.get());
        let active_us = self.workload.active_from(user, now_us);
        if generation.is_some() && active_us != Some(now_us) {
            self.rest(user, active_us.unwrap_or(u64::MAX));
            return None;
        }
        let mut states = self.states.borrow_mut();
        let state = states.entry(user).or_default();
        state.activity = match generation {
            Some(_) => Activity::Running,
            None => Activity::Idle,
        };
        let generation = generation?;
        let k = state.iterations;
        state.iterations += 1;
        state.began_us = now_us;
        Some(Iteration {
            user,
            k,
            key: RowKey {
                tick: self.workload.tick_of(now_us),
                generation,
                task: self.workload.task_of_user(user, k),
            },
        })
    }

    /// The generation in which `user` is held, if it is and the run is not over.
    fn hold_of(&self, user: u32, now_us: u64) -> Option<Generation> {
        let tick = self.workload.tick_of(now_us);
        let holds = self.holds.borrow();
        let mut its = holds.iter().filter(|hold| {
            tick >= hold.from_tick
                && hold.until_tick.is_none_or(|until| tick < until)
                && hold.share.owns(u64::from(user))
        });
        let over = now_us >= self.workload.duration_us();
        its.next().filter(|_| !over).map(|hold| hold.generation)
    }

    /// When the next hold begins, in µs after the start.
    fn next_begin_us(&self, now_us: u64) -> Option<u64> {
        let holds = self.holds.borrow();
        let begins = holds
            .iter()
            .map(|hold| u64::from(hold.from_tick).saturating_mul(self.workload.tick_us()));
        begins.filter(|&begin_us| begin_us > now_us).min()
    }
}

#[cfg(test)]
mod tests {
    use loadpilot_engine::schedule::share::Share;
    use loadpilot_events::plan::{Plan, Rest, UserStage};

    use super::*;

    const PLAN: &str = include_str!("../../../../../proto/golden/plan-closed.v1.json");
    const SECOND_US: u64 = 1_000_000;

    /// Four users for ten seconds, all of them held.
    fn closed_loop(rest: Rest) -> ClosedLoop {
        let mut plan: Plan = serde_json::from_str(PLAN).expect("a plan");
        plan.users = Some(4);
        plan.rest = Some(rest);
        started(&mut plan)
    }

    /// The same users, of which 0 to 4 become active in 4 s, two stay for 2 s, and none do in 2 s;
    /// then all are active.
    fn staged(rest: Option<Rest>) -> ClosedLoop {
        let mut plan: Plan = serde_json::from_str(PLAN).expect("a plan");
        plan.rest = rest;
        plan.users = Some(4);
        let stages = [(4, 0, 4), (2, 2, 2), (2, 0, 0), (2, 4, 4)];
        let stages = stages.map(|(seconds, from, to)| UserStage {
            duration_us: seconds * SECOND_US,
            from,
            to,
        });
        plan.user_stages = Some(stages.to_vec());
        started(&mut plan)
    }

    fn started(plan: &mut Plan) -> ClosedLoop {
        plan.profile.pieces[0].duration_us = 10 * SECOND_US;
        let closed_loop = ClosedLoop::new(Arc::new(Workload::new(plan, 1))).expect("it has users");
        closed_loop.replace(vec![held()]);
        closed_loop
    }

    fn held() -> CoreHold {
        CoreHold {
            generation: 1,
            from_tick: 0,
            until_tick: None,
            share: Share::new(1, vec![0]),
        }
    }

    fn joined(closed_loop: &ClosedLoop, now_us: u64) -> Vec<(u32, u64)> {
        let joined = closed_loop.join(now_us).into_iter();
        joined.map(|turn| (turn.user, turn.k)).collect()
    }

    /// Broken if a paced user drifted with its waits, or caught up what it missed.
    #[test]
    fn paced_users_keep_their_places() {
        let every_us = 2 * SECOND_US;
        let closed_loop = closed_loop(Rest::Pacing { every_us });
        assert_eq!(joined(&closed_loop, 0), [(0, 0)]);
        assert_eq!(closed_loop.next_join_us(), Some(500_000));
        assert_eq!(joined(&closed_loop, 1_500_000), [(1, 0), (2, 0), (3, 0)]);
        assert_eq!(closed_loop.follow(0, 1_600_000), None);
        // It is noticed late, and its next place is where it was.
        assert_eq!(joined(&closed_loop, every_us + 3_000), [(0, 1)]);
        assert_eq!(closed_loop.follow(0, every_us + 4_000), None);
        assert_eq!(closed_loop.next_join_us(), Some(2 * every_us));
        assert_eq!(joined(&closed_loop, 2 * every_us), [(0, 2)]);
        // Its answer takes three seconds: it goes on at once, and once only.
        let next = closed_loop.follow(0, 7 * SECOND_US).expect("a turn");
        assert_eq!((next.user, next.k), (0, 3));
        assert_eq!(closed_loop.follow(0, 7 * SECOND_US + 1), None);
        assert_eq!(closed_loop.next_join_us(), Some(9 * SECOND_US));
    }

    /// Broken if a resting user began anew because the same hold came again, or one after its last
    /// iteration did.
    #[test]
    fn holding_the_same_once_more_wakes_nobody() {
        let every_us = 6 * SECOND_US;
        let closed_loop = closed_loop(Rest::Pacing { every_us });
        let begun = [joined(&closed_loop, 0), joined(&closed_loop, every_us - 2)].concat();
        assert_eq!(begun, [(0, 0), (1, 0), (2, 0), (3, 0)]);
        for user in 0..4 {
            assert_eq!(closed_loop.follow(user, every_us - 1), None);
        }
        closed_loop.replace(vec![held()]);
        assert_eq!(joined(&closed_loop, every_us), [(0, 1)]);
        // The last one's next place is after the end.
        closed_loop.replace(vec![held()]);
        assert_eq!(joined(&closed_loop, 9_999_999), [(1, 1), (2, 1)]);
        closed_loop.replace(Vec::new());
        assert_eq!(closed_loop.follow(0, 9_999_999), None);
    }

    /// Broken if a resting user came back after a stop, or were forgotten in a pause.
    #[test]
    fn a_pause_keeps_those_who_think_and_a_stop_does_not() {
        let (from_us, to_us) = (SECOND_US, SECOND_US);
        let closed_loop = closed_loop(Rest::Wait { from_us, to_us });
        let begun = [joined(&closed_loop, 0), joined(&closed_loop, SECOND_US)].concat();
        assert_eq!(begun.len(), 4);
        for user in 0..4 {
            assert_eq!(closed_loop.follow(user, 2 * SECOND_US), None);
        }
        closed_loop.pause(true);
        assert_eq!(closed_loop.next_join_us(), None);
        assert_eq!(joined(&closed_loop, 5 * SECOND_US), []);
        closed_loop.pause(false);
        assert_eq!(joined(&closed_loop, 5 * SECOND_US).len(), 4);
        assert_eq!(closed_loop.follow(0, 6 * SECOND_US), None);
        closed_loop.close();
        assert_eq!(closed_loop.follow(1, 6 * SECOND_US), None);
        assert_eq!(closed_loop.next_join_us(), None);
    }

    /// Broken if the number of agents changed when users begin: each agent plays its users alone.
    #[test]
    fn think_times_are_the_same_for_any_number_of_agents() {
        let begins = |agents: u32| {
            let mut begins = Vec::new();
            for agent in 0..agents {
                let closed_loop = closed_loop(Rest::Lognormal {
                    median_us: 300_000,
                    p99_us: 1_500_000,
                });
                let share = Share::new(agents, vec![agent]);
                closed_loop.replace(vec![CoreHold { share, ..held() }]);
                while let Some(at_us) = closed_loop.next_join_us() {
                    for turn in closed_loop.join(at_us) {
                        begins.push((turn.user, turn.k, at_us));
                        assert_eq!(closed_loop.follow(turn.user, at_us + 1_000), None);
                    }
                }
            }
            begins.sort_unstable();
            begins
        };
        let alone = begins(1);
        assert!(alone.len() > 60, "{}", alone.len());
        assert_eq!(alone, begins(4));
    }

    /// Broken if a user began before it is active, went on after that, or did not come back.
    #[test]
    fn users_are_active_as_the_stages_say() {
        let closed_loop = staged(None);
        assert_eq!(joined(&closed_loop, 0), []);
        assert_eq!(closed_loop.next_join_us(), Some(SECOND_US));
        assert_eq!(joined(&closed_loop, SECOND_US - 1), []);
        assert_eq!(joined(&closed_loop, SECOND_US), [(0, 0)]);
        // It is noticed late; user 3 would be active at 4 s, when only two are.
        assert_eq!(joined(&closed_loop, 3_500_000), [(1, 0), (2, 0)]);
        assert_eq!(closed_loop.follow(2, 3_900_000).expect("active").k, 1);
        assert_eq!(closed_loop.follow(2, 4_000_000), None);
        assert_eq!(closed_loop.next_join_us(), Some(8 * SECOND_US));
        // The same hold once more, as after a change of another agent's.
        closed_loop.replace(vec![held()]);
        assert_eq!(joined(&closed_loop, 5 * SECOND_US), []);
        assert_eq!(closed_loop.follow(1, 5 * SECOND_US).expect("active").k, 1);
        assert_eq!(closed_loop.follow(1, 6 * SECOND_US), None);
        // User 0's call ends when all are active again: it never stopped.
        let all = [(1, 2), (2, 2), (3, 0)];
        assert_eq!(joined(&closed_loop, 8 * SECOND_US), all);
        assert_eq!(closed_loop.follow(0, 8 * SECOND_US).expect("active").k, 1);
        assert_eq!(closed_loop.follow(0, 10 * SECOND_US), None);
        assert_eq!(closed_loop.next_join_us(), None);
    }

    /// Broken if a pause, a stop or the loss of a hold forgot who was active, or if one who joins
    /// late rested before its first task.
    #[test]
    fn users_that_are_not_active_outlive_a_pause() {
        let every_us = 3 * SECOND_US;
        let closed_loop = staged(Some(Rest::Pacing { every_us }));
        assert_eq!(joined(&closed_loop, 0), []);
        assert_eq!(joined(&closed_loop, 2 * SECOND_US), [(0, 0), (1, 0)]);
        // User 0 began at 1 s, and its place at 7 s is where none is active.
        assert_eq!(closed_loop.follow(0, 2_100_000), None);
        assert_eq!(joined(&closed_loop, 4 * SECOND_US), [(0, 1)]);
        assert_eq!(closed_loop.follow(0, 4_100_000), None);
        closed_loop.pause(true);
        assert_eq!(joined(&closed_loop, 7 * SECOND_US), []);
        assert_eq!(closed_loop.follow(1, 7 * SECOND_US), None);
        closed_loop.pause(false);
        assert_eq!(joined(&closed_loop, 7_500_000), []);
        closed_loop.replace(Vec::new());
        closed_loop.replace(vec![held()]);
        let mut back = joined(&closed_loop, 8 * SECOND_US);
        back.sort_unstable();
        assert_eq!(back, [(0, 2), (1, 1), (2, 0), (3, 0)]);
        closed_loop.close();
        assert_eq!(closed_loop.next_join_us(), None);
    }
}
