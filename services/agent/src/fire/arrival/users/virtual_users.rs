//! The virtual users of a core: made and prepared before the start, taken by arrivals in turn,
//! cleaned up after the end.
//!
//! Each does one thing at a time. Must never leave its thread: an interpreter stands behind it.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use loadpilot_engine::schedule::workload::Workload;
use loadpilot_events::plan::script::Feed;
use tokio::task::JoinHandle;

use crate::fire::arrival_id::ArrivalId;
use crate::runs::secrets::Secrets;
use crate::users::prepared_users::States;
use crate::users::script::{Scenario, Scripting, Source, User};

/// What a core needs for a crew.
#[derive(Debug, Clone)]
pub struct VirtualUsersSetup {
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
    /// What the scenario was given by name.
    pub parameters: Secrets,
    /// The data that it takes rows of.
    pub feeds: Vec<Feed>,
    /// The arrivals of the run.
    pub workload: Arc<Workload>,
    /// The numbers of its users here, of all users of the run.
    pub users: Vec<u32>,
    /// What they are made from, when that was prepared elsewhere.
    pub states: Option<Arc<States>>,
}

impl VirtualUsersSetup {
    /// Whether its users come prepared, and are cleaned up after by whoever prepared them.
    fn comes_prepared(&self) -> bool {
        let states = self.states.as_ref();
        states.is_some_and(|states| states.users.is_some())
    }
}

/// A user and its number.
pub(crate) struct VirtualUser {
    pub number: u32,
    pub script: Box<dyn User>,
    /// Whether its preparation has ended well: it is owed its clean-up.
    pub is_prepared: bool,
}

/// Users that have nothing to do.
enum Idle {
    /// Of a schedule: it is served by whoever has rested longest.
    InTurn(VecDeque<VirtualUser>),
    /// Of a closed loop, which says itself who is next: each at the place of its number.
    ByNumber(Vec<Option<VirtualUser>>),
}

/// The users of one core.
pub(crate) struct VirtualUsers {
    scenario: Box<dyn Scenario>,
    /// What the scenario does beside.
    beside: Option<JoinHandle<()>>,
    numbers: Vec<u32>,
    /// Its users need no preparation here.
    pub(crate) comes_prepared: bool,
    idle: RefCell<Idle>,
    /// Nobody is to be given work any more.
    dismissed: Cell<bool>,
}

impl VirtualUsers {
    /// Loads the scenario; must be called on the thread that has entered the interpreter.
    pub(crate) fn load(troupe: &VirtualUsersSetup, is_closed_loop: bool) -> Result<Self, String> {
        let scenario = troupe.scripting.load(&Source {
            bundle: &troupe.bundle,
            file: &troupe.file,
            scenario: &troupe.scenario,
            tasks: &troupe.tasks,
            target: &troupe.target,
            parameters: &troupe.parameters.0,
            feeds: &troupe.feeds,
            workload: &troupe.workload,
            states: troupe.states.as_deref(),
        })?;
        let beside = scenario.beside().map(tokio::task::spawn_local);
        Ok(Self {
            scenario,
            beside,
            numbers: troupe.users.clone(),
            comes_prepared: troupe.comes_prepared(),
            idle: RefCell::new(match is_closed_loop {
                true => Idle::ByNumber(Vec::new()),
                false => Idle::InTurn(VecDeque::new()),
            }),
            dismissed: Cell::new(false),
        })
    }

    /// The numbers of the users to prepare.
    pub(crate) fn numbers(&self) -> &[u32] {
        &self.numbers
    }

    /// A user that has done nothing yet.
    pub(crate) fn make(&self, number: u32) -> Result<VirtualUser, String> {
        Ok(VirtualUser {
            number,
            script: self.scenario.user(number)?,
            is_prepared: false,
        })
    }

    /// Who does what `name` says; `None` when there is nobody idle for it.
    pub(crate) fn take(&self, name: ArrivalId) -> Option<VirtualUser> {
        if self.dismissed.get() {
            return None;
        }
        match (&mut *self.idle.borrow_mut(), name) {
            (Idle::InTurn(idle), _) => idle.pop_front(),
            (Idle::ByNumber(idle), ArrivalId::Iteration { user, .. }) => {
                idle.get_mut(user as usize).and_then(Option::take)
            }
            (Idle::ByNumber(_), ArrivalId::Planned(_)) => None,
        }
    }

    /// Somebody is idle again.
    pub(crate) fn give(&self, user: VirtualUser) {
        match &mut *self.idle.borrow_mut() {
            Idle::InTurn(idle) => idle.push_back(user),
            Idle::ByNumber(idle) => {
                let place = user.number as usize;
                if idle.len() <= place {
                    idle.resize_with(place + 1, || None);
                }
                idle[place] = Some(user);
            }
        }
    }

    /// Whether nobody is to be given work any more.
    pub(crate) fn is_dismissed(&self) -> bool {
        self.dismissed.get()
    }

    /// Takes everybody out who is idle, for good.
    pub(crate) fn dismiss(&self) -> Vec<VirtualUser> {
        self.dismissed.set(true);
        match &mut *self.idle.borrow_mut() {
            Idle::InTurn(idle) => idle.drain(..).collect(),
            Idle::ByNumber(idle) => idle.drain(..).flatten().collect(),
        }
    }
}

impl Drop for VirtualUsers {
    fn drop(&mut self) {
        if let Some(beside) = &self.beside {
            beside.abort();
        }
    }
}
