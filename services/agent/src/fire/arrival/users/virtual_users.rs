//! The virtual users of a core: created and prepared before the start, taken by arrivals in turn,
//! cleaned up after the end.
//!
//! Each user does one thing at a time. A user must never leave its thread, which has entered the
//! interpreter.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use loadpilot_engine::schedule::workload::Workload;
use loadpilot_events::plan::script::Feed;
use tokio::task::JoinHandle;

use crate::fire::arrival_id::ArrivalId;
use crate::fire::request::redaction::Secrets;
use crate::users::prepared_users::States;
use crate::users::row_file::RowFile;
use crate::users::script::{Scenario, Scripting, Source, User};

/// The inputs with which a core creates its users.
#[derive(Debug, Clone)]
pub struct VirtualUsersSetup {
    /// The interpreter.
    pub scripting: Arc<dyn Scripting>,
    /// The archive of the scenario's files.
    pub bundle: Bytes,
    /// The file that defines the scenario.
    pub file: String,
    /// The class of the scenario.
    pub scenario: String,
    /// The classes of a mix, in the order of the plan; none without a mix.
    pub types: Vec<String>,
    /// Names of its tasks, in the order of the plan.
    pub tasks: Vec<String>,
    /// The target of the load.
    pub target: String,
    /// The target of each class of the mix, where two targets are compared; else none.
    pub type_targets: Vec<String>,
    /// Values of its parameters by name.
    pub parameters: Secrets,
    /// The data of its feeds.
    pub feeds: Vec<Feed>,
    /// For each feed the file that holds its rows, if it has one.
    pub row_files: Vec<Option<Arc<RowFile>>>,
    /// The arrivals of the run.
    pub workload: Arc<Workload>,
    /// Numbers of the users of this core, among all users of the run.
    pub users: Vec<u32>,
    /// States of users that the submitter prepared.
    pub states: Option<Arc<States>>,
}

impl VirtualUsersSetup {
    /// Whether the submitter prepared the users; it then cleans them up, too.
    fn comes_prepared(&self) -> bool {
        let states = self.states.as_ref();
        states.is_some_and(|states| states.users.is_some())
    }
}

/// A user and its number.
pub(crate) struct VirtualUser {
    pub number: u32,
    pub script: Box<dyn User>,
    /// The session of its place in a closed loop, from 0; without sessions 0.
    pub session: u32,
    /// Whether it took the place of another user and has sent nothing yet: its first request then
    /// opens a connection.
    pub is_new_client: bool,
    /// Whether its preparation has succeeded: only then is it cleaned up.
    pub is_prepared: bool,
}

/// Idle users.
enum Idle {
    /// For a schedule: an arrival takes the user that has been idle longest.
    InTurn(VecDeque<VirtualUser>),
    /// For a closed loop, where an arrival names its user: indexed by number.
    ByNumber(Vec<Option<VirtualUser>>),
}

/// The users of one core.
pub(crate) struct VirtualUsers {
    scenario: Box<dyn Scenario>,
    /// The scenario's own background task.
    background: Option<JoinHandle<()>>,
    numbers: Vec<u32>,
    /// Whether the users need no preparation here.
    pub(crate) comes_prepared: bool,
    idle: RefCell<Idle>,
    /// Whether users are no longer assigned to arrivals.
    closed: Cell<bool>,
}

impl VirtualUsers {
    /// Loads the scenario; must be called on the thread that has entered the interpreter.
    pub(crate) fn load(setup: &VirtualUsersSetup, is_closed_loop: bool) -> Result<Self, String> {
        let scenario = setup.scripting.load(&Source {
            bundle: &setup.bundle,
            file: &setup.file,
            scenario: &setup.scenario,
            types: &setup.types,
            tasks: &setup.tasks,
            target: &setup.target,
            type_targets: &setup.type_targets,
            parameters: &setup.parameters.0,
            feeds: &setup.feeds,
            row_files: &setup.row_files,
            workload: &setup.workload,
            states: setup.states.as_deref(),
        })?;
        let background = scenario.background().map(tokio::task::spawn_local);
        Ok(Self {
            scenario,
            background,
            numbers: setup.users.clone(),
            comes_prepared: setup.comes_prepared(),
            idle: RefCell::new(match is_closed_loop {
                true => Idle::ByNumber(Vec::new()),
                false => Idle::InTurn(VecDeque::new()),
            }),
            closed: Cell::new(false),
        })
    }

    /// Numbers of the users to prepare.
    pub(crate) fn numbers(&self) -> &[u32] {
        &self.numbers
    }

    /// Creates a user that is not prepared yet.
    pub(crate) fn make(&self, number: u32) -> Result<VirtualUser, String> {
        Ok(VirtualUser {
            number,
            script: self.scenario.user(number)?,
            session: 0,
            is_new_client: false,
            is_prepared: false,
        })
    }

    /// Takes the user for an arrival; `None` when no idle user can serve it.
    pub(crate) fn take(&self, id: ArrivalId) -> Option<VirtualUser> {
        if self.closed.get() {
            return None;
        }
        match (&mut *self.idle.borrow_mut(), id) {
            (Idle::InTurn(idle), _) => idle.pop_front(),
            (Idle::ByNumber(idle), ArrivalId::Iteration { user, .. }) => {
                idle.get_mut(user as usize).and_then(Option::take)
            }
            (Idle::ByNumber(_), ArrivalId::Planned(_)) => None,
        }
    }

    /// Returns a user that is idle again.
    pub(crate) fn give(&self, user: VirtualUser) {
        match &mut *self.idle.borrow_mut() {
            Idle::InTurn(idle) => idle.push_back(user),
            Idle::ByNumber(idle) => {
                let index = user.number as usize;
                if idle.len() <= index {
                    idle.resize_with(index + 1, || None);
                }
                idle[index] = Some(user);
            }
        }
    }

    /// Whether users are no longer assigned to arrivals.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed.get()
    }

    /// Removes and returns all idle users. No user is assigned to an arrival afterwards.
    pub(crate) fn close(&self) -> Vec<VirtualUser> {
        self.closed.set(true);
        match &mut *self.idle.borrow_mut() {
            Idle::InTurn(idle) => idle.drain(..).collect(),
            Idle::ByNumber(idle) => idle.drain(..).flatten().collect(),
        }
    }
}

impl Drop for VirtualUsers {
    fn drop(&mut self) {
        if let Some(background) = &self.background {
            background.abort();
        }
    }
}
