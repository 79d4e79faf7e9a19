//! The closed loop: users that each start their next iteration when their last one has ended.
//!
//! Nothing here is due before it starts, so nothing can be late: what a slow target costs shows as
//! iterations that never were. Must never let a user run twice at a time, nor beyond what is held.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::Arc;

use loadpilot_engine::tally::RowKey;
use loadpilot_engine::workload::Workload;

use super::lanes::CoreHold;

/// The users of one core.
#[derive(Debug)]
pub(crate) struct Roster {
    workload: Arc<Workload>,
    users: u32,
    holds: RefCell<Vec<CoreHold>>,
    known: RefCell<BTreeMap<u32, User>>,
    /// When users may have to join next, in µs after the start.
    next_join_us: Cell<Option<u64>>,
    /// Nobody joins or goes on for now.
    paused: Cell<bool>,
    /// Nobody joins or goes on any more, whatever is held.
    closed: Cell<bool>,
}

/// One turn of a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Iteration {
    pub user: u32,
    /// Its number among those of this user on this core, from 0.
    pub k: u64,
    /// Where it is counted.
    pub key: RowKey,
}

#[derive(Debug, Default)]
struct User {
    iterations: u64,
    active: bool,
}

impl Roster {
    /// Of a workload that has users; `None` for an open one.
    pub(crate) fn new(workload: Arc<Workload>) -> Option<Self> {
        let users = workload.users()?;
        Some(Self {
            workload,
            users,
            holds: RefCell::default(),
            known: RefCell::default(),
            next_join_us: Cell::new(None),
            paused: Cell::new(false),
            closed: Cell::new(false),
        })
    }

    /// Replaces what is held. A user that is held no longer ends its iteration and stops.
    pub(crate) fn replace(&self, holds: Vec<CoreHold>) {
        if !self.closed.get() {
            *self.holds.borrow_mut() = holds;
            self.next_join_us.set(Some(0));
        }
    }

    /// Nobody joins or goes on while `paused`; after that everybody may join who is held.
    pub(crate) fn pause(&self, paused: bool) {
        if self.paused.replace(paused) && !paused && !self.closed.get() {
            self.next_join_us.set(Some(0));
        }
    }

    /// Nobody joins or goes on any more, whatever is held from now on.
    pub(crate) fn close(&self) {
        self.closed.set(true);
        self.holds.borrow_mut().clear();
        self.next_join_us.set(None);
    }

    /// When users may have to join next, in µs after the start.
    pub(crate) fn next_join_us(&self) -> Option<u64> {
        self.next_join_us.get().filter(|_| !self.paused.get())
    }

    /// The first iterations of users that are held at `now_us` after the start and do not run.
    pub(crate) fn join(&self, now_us: u64) -> Vec<Iteration> {
        if self.next_join_us().is_none_or(|at_us| at_us > now_us) {
            return Vec::new();
        }
        self.next_join_us.set(self.next_begin_us(now_us));
        let is_idle = |user: &u32| {
            let known = self.known.borrow();
            known.get(user).is_none_or(|user| !user.active)
        };
        let idle = (0..self.users).filter(is_idle);
        idle.filter_map(|user| self.next(user, now_us)).collect()
    }

    /// The iteration of `user` that follows one that has just ended; `None` ends its run here.
    pub(crate) fn next(&self, user: u32, now_us: u64) -> Option<Iteration> {
        let mut known = self.known.borrow_mut();
        let state = known.entry(user).or_default();
        let tick = self.workload.tick_of(now_us);
        let holds = self.holds.borrow();
        let over = now_us >= self.workload.duration_us();
        let hold = holds.iter().find(|hold| {
            tick >= hold.from_tick
                && hold.until_tick.is_none_or(|until| tick < until)
                && hold.share.owns(u64::from(user))
        });
        state.active = !over && !self.paused.get() && hold.is_some();
        let hold = hold.filter(|_| state.active)?;
        let k = state.iterations;
        state.iterations += 1;
        Some(Iteration {
            user,
            k,
            key: RowKey {
                tick,
                generation: hold.generation,
                task: self.workload.task_of_user(user, k),
            },
        })
    }

    /// When the next holding begins.
    fn next_begin_us(&self, now_us: u64) -> Option<u64> {
        let holds = self.holds.borrow();
        let begins = holds
            .iter()
            .map(|hold| u64::from(hold.from_tick).saturating_mul(self.workload.tick_us()));
        begins.filter(|&begin_us| begin_us > now_us).min()
    }
}
