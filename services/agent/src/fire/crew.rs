//! The virtual users of a core: made and prepared before the start, taken by arrivals in turn,
//! cleaned up after the end.
//!
//! Each does one thing at a time. Must never leave its thread: an interpreter stands behind it.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use bytes::Bytes;

use super::calls::Name;
use crate::script::{Scenario, Scripting, Source, User};
use crate::states::States;

/// What a core needs for a crew.
#[derive(Debug, Clone)]
pub struct Troupe {
    /// The interpreter.
    pub scripting: Arc<dyn Scripting>,
    /// The archive of the scenario's files.
    pub bundle: Bytes,
    /// The file that defines it.
    pub file: String,
    /// Its class.
    pub scenario: String,
    /// Its tasks, in the order of the plan.
    pub tasks: Vec<String>,
    /// Where the load goes.
    pub target: String,
    /// The numbers of its users here, of all users of the run.
    pub users: Vec<u32>,
    /// What they are made from, when that was prepared elsewhere.
    pub states: Option<Arc<States>>,
}

impl Troupe {
    /// Whether its users come prepared, and are cleaned up after by whoever prepared them.
    fn comes_prepared(&self) -> bool {
        let states = self.states.as_ref();
        states.is_some_and(|states| states.users.is_some())
    }
}

/// A user and its number.
pub(crate) struct Member {
    pub number: u32,
    pub user: Box<dyn User>,
    /// Whether its preparation has ended well: it is owed its clean-up.
    pub is_prepared: bool,
}

/// The users of one core.
pub(crate) struct Crew {
    scenario: Box<dyn Scenario>,
    numbers: Vec<u32>,
    /// Its users need no preparation here.
    pub(crate) comes_prepared: bool,
    idle: RefCell<BTreeMap<u32, Member>>,
    /// The order in which idle ones serve a schedule: whoever has rested longest. A closed loop
    /// says itself who is next.
    turn: Option<RefCell<VecDeque<u32>>>,
    /// Nobody is to be given work any more.
    dismissed: Cell<bool>,
}

impl Crew {
    /// Loads the scenario; must be called on the thread that has entered the interpreter.
    pub(crate) fn load(troupe: &Troupe, is_closed_loop: bool) -> Result<Self, String> {
        let scenario = troupe.scripting.load(&Source {
            bundle: &troupe.bundle,
            file: &troupe.file,
            scenario: &troupe.scenario,
            tasks: &troupe.tasks,
            target: &troupe.target,
            states: troupe.states.as_deref(),
        })?;
        Ok(Self {
            scenario,
            numbers: troupe.users.clone(),
            comes_prepared: troupe.comes_prepared(),
            idle: RefCell::default(),
            turn: (!is_closed_loop).then(RefCell::default),
            dismissed: Cell::new(false),
        })
    }

    /// The numbers of the users to prepare.
    pub(crate) fn numbers(&self) -> &[u32] {
        &self.numbers
    }

    /// A user that has done nothing yet.
    pub(crate) fn make(&self, number: u32) -> Result<Member, String> {
        Ok(Member {
            number,
            user: self.scenario.user(number)?,
            is_prepared: false,
        })
    }

    /// Who does what `name` says; `None` when there is nobody idle for it.
    pub(crate) fn take(&self, name: Name) -> Option<Member> {
        if self.dismissed.get() {
            return None;
        }
        let number = match name {
            Name::Planned(_) => self.turn.as_ref()?.borrow_mut().pop_front()?,
            Name::Iteration { user, .. } => user,
        };
        self.idle.borrow_mut().remove(&number)
    }

    /// Somebody is idle again.
    pub(crate) fn give(&self, member: Member) {
        if let Some(turn) = &self.turn {
            turn.borrow_mut().push_back(member.number);
        }
        self.idle.borrow_mut().insert(member.number, member);
    }

    /// Whether nobody is to be given work any more.
    pub(crate) fn is_dismissed(&self) -> bool {
        self.dismissed.get()
    }

    /// Takes everybody out who is idle, for good.
    pub(crate) fn dismiss(&self) -> Vec<Member> {
        self.dismissed.set(true);
        let idle = std::mem::take(&mut *self.idle.borrow_mut());
        idle.into_values().collect()
    }
}
