//! The closed loop: each user starts its next iteration when its last one has ended and its think
//! time ("rest" here) is over.
//!
//! An iteration is due when it starts, so it cannot be late: a slow target shows as fewer
//! iterations. With stages, a user that is not active rests until it becomes active. With sessions,
//! another user takes the place of one whose session is over: directly after that user's task, or
//! during its rest. A user must never run twice at the same time, nor run outside of the core's
//! holds, nor start an iteration while it is not active or after the end of its session.

use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;

use loadpilot_engine::schedule::closed_loop::sessions::Session;
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
    /// When a hold may let further users join, in µs after the start.
    next_join_us: Cell<Option<u64>>,
    /// Resting users by the end of their rest, in µs after the start.
    resting: RefCell<BinaryHeap<Reverse<(u64, u32)>>>,
    /// Notified when a new rest ends before all others.
    earlier: Notify,
    /// While it is set, no user joins or starts another iteration.
    paused: Cell<bool>,
    /// Once it is set, no user joins or starts another iteration, whatever the holds say.
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
    /// Number of the session that the user's place holds; `None` where users stay for the whole
    /// run.
    pub session: Option<u32>,
}

#[derive(Debug, Default)]
struct User {
    iterations: u64,
    began_us: u64,
    /// The session of its last iteration.
    session: Option<Session>,
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
    /// The loop of a workload that has users; `None` for an open loop.
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

    /// Replaces the holds. A user that is no longer held ends its iteration and stops.
    pub(crate) fn replace(&self, holds: Vec<CoreHold>) {
        if !self.closed.get() {
            *self.holds.borrow_mut() = holds;
            self.next_join_us.set(Some(0));
        }
    }

    /// While `paused`, no user joins or starts another iteration. After a pause all held users may
    /// join.
    pub(crate) fn pause(&self, paused: bool) {
        if self.paused.replace(paused) && !paused && !self.closed.get() {
            self.next_join_us.set(Some(0));
        }
    }

    /// Ends the loop: no user joins or starts another iteration, whatever holds come later.
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

    /// Waits until [`Self::next_join_us`] becomes earlier.
    pub(crate) async fn earlier(&self) {
        self.earlier.notified().await;
    }

    /// The iterations that begin by `now_us` after the start, of users whose rest is over. Newly
    /// held users begin their first rest.
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
            // The iteration begins at the end of the rest, however late that was noticed, so that
            // paced users do not drift.
            if let Some(state) = self.states.borrow_mut().get_mut(&user) {
                state.began_us = at_us;
            }
        }
        rested
    }

    /// The iteration of `user` that directly follows the one that has just ended; `None` when the
    /// user rests first, or stops here.
    pub(crate) fn follow(&self, user: u32, now_us: u64) -> Option<Iteration> {
        if !self.workload.rests() {
            return self.next(user, now_us);
        }
        let rested_us = {
            let states = self.states.borrow();
            let (k, began_us) = states
                .get(&user)
                .map_or((0, now_us), |state| (state.iterations, state.began_us));
            let session = states.get(&user).and_then(|state| state.session);
            // The user that takes its place does not wait for its rest.
            let over_us = session.map_or(u64::MAX, |session| session.until_us);
            let rested_us = self.workload.next_start_us(user, k, began_us, now_us);
            rested_us.min(over_us.max(now_us))
        };
        if rested_us <= now_us {
            return self.next(user, now_us);
        }
        self.rest(user, rested_us);
        None
    }

    /// Lets idle held users begin: an active user at its own offset within the first rest, any
    /// other user when it becomes active.
    fn admit(&self, now_us: u64) {
        let is_idle = |user: &u32| {
            let states = self.states.borrow();
            let activity = states.get(user).map(|user| &user.activity);
            activity.is_none_or(|activity| *activity == Activity::Idle)
        };
        // Lower numbers are active first, so each search continues where the last one ended.
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

    /// The next iteration of `user`; `None` when the user is not held, when the loop is paused, or
    /// when the user rests until it is active again.
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
        state.session = self.workload.session_at(user, state.session, now_us);
        Some(Iteration {
            user,
            k,
            key: RowKey {
                tick: self.workload.tick_of(now_us),
                generation,
                task: self.workload.task_of_user(user, k),
            },
            session: state.session.map(|session| session.number),
        })
    }

    /// The generation in which `user` is held; `None` if it is not held or the run is over.
    fn hold_of(&self, user: u32, now_us: u64) -> Option<Generation> {
        let tick = self.workload.tick_of(now_us);
        let holds = self.holds.borrow();
        let mut held = holds.iter().filter(|hold| {
            tick >= hold.from_tick
                && hold.until_tick.is_none_or(|until| tick < until)
                && hold.share.owns(u64::from(user))
        });
        let over = now_us >= self.workload.duration_us();
        held.next().filter(|_| !over).map(|hold| hold.generation)
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
mod tests;
