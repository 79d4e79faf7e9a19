//! The interface between the load engine and the player of a scenario: an interpreter of Python, or
//! compiled code ([`crate::users::compiled`]).
//!
//! The data types are those of `loadpilot_script`. Nothing here depends on Python, so that the
//! plain binary needs none. A user must never block: it returns an [`Operation`], and is resumed
//! when that operation has completed.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use loadpilot_engine::schedule::workload::Workload;
use loadpilot_events::plan::script::Feed;
pub use loadpilot_script::operation::{
    Completion, MetricSample, Occasion, Operation, Part, PartResult, Request, Response, Ticket,
};

use crate::users::prepared_users::States;
use crate::users::row_file::RowFile;

/// An interpreter. A firing thread that plays a scenario holds it, except while it waits for I/O.
pub trait Scripting: Debug + Send + Sync {
    /// Runs `work` on the calling thread, which holds the interpreter meanwhile.
    fn inside(&self, work: Box<dyn FnOnce() + '_>);

    /// Releases the interpreter: the thread is about to wait.
    fn park(&self);

    /// Takes the interpreter back after [`Scripting::park`].
    fn unpark(&self);

    /// Cleans up between two parts, when the thread is idle.
    fn tidy(&self) {}

    /// Whether the users of a scenario may be spread over several threads, each with a scenario of
    /// its own. Several threads under one interpreter would only wait for each other.
    fn is_spread(&self) -> bool {
        false
    }

    /// Loads a scenario on the calling thread, which holds the interpreter. May block.
    ///
    /// # Errors
    /// The reason, for the author of the scenario.
    fn load(&self, source: &Source<'_>) -> Result<Box<dyn Scenario>, String>;
}

/// Source of a scenario.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// Zip archive of its files; for compiled code the rows of its feeds.
    pub bundle: &'a [u8],
    /// The file in the archive that defines the scenario.
    pub file: &'a str,
    /// Name of its class.
    pub scenario: &'a str,
    /// Names of the classes of a mix, in the order of the plan; none without a mix.
    pub types: &'a [String],
    /// Names of its tasks, in the order of the plan.
    pub tasks: &'a [String],
    /// Target of the load: `http://host[:port][/path]`.
    pub target: &'a str,
    /// Target of each of those classes, where two targets are compared; else none.
    pub type_targets: &'a [String],
    /// Its parameters by name, secrets included.
    pub parameters: &'a BTreeMap<String, String>,
    /// Its feeds.
    pub feeds: &'a [Feed],
    /// For each feed the file that holds its rows, if it has one.
    pub row_files: &'a [Option<Arc<RowFile>>],
    /// Its arrivals.
    pub workload: &'a Arc<Workload>,
    /// The states of its users, if the submitter prepared them.
    pub states: Option<&'a States>,
}

/// A loaded scenario. It stays on its thread.
pub trait Scenario {
    /// A new user, by its number among all users of the run, or [`NO_USER`].
    ///
    /// # Errors
    /// The error that its constructor raised.
    fn user(&self, number: u32) -> Result<Box<dyn User>, String>;

    /// A background task of the scenario, for users that wait for [`Operation::External`]. It runs
    /// on the scenario's thread for as long as the scenario exists.
    fn background(&self) -> Option<Pin<Box<dyn Future<Output = ()>>>> {
        None
    }
}

/// One virtual user: plays one part at a time, from operation to operation.
pub trait User {
    /// Begins a part; the part before has ended.
    fn begin(&mut self, part: Part, occasion: Occasion) -> Operation;

    /// Resumes the user after its operation completed.
    fn resume(&mut self, completion: Completion) -> Operation;

    /// After [`Operation::External`]: the next operation, as soon as there is one; wakes the task
    /// that polls. [`Completion::Stopped`] in [`User::resume`] cancels the wait.
    fn poll_external(&mut self, _cx: &mut Context<'_>) -> Poll<Operation> {
        Poll::Ready(Operation::Ended(PartResult::default()))
    }

    /// Whether a check examines the last answer of a task, by its index in the plan.
    fn has_check(&self, task: u16) -> bool;

    /// Position in the plan of the user type that plays; 0 for a user of one type.
    fn playing_type(&self) -> usize {
        0
    }

    /// Takes the samples that the last task added to own metrics, whether the task ended or was
    /// abandoned.
    fn take_samples(&mut self) -> Vec<MetricSample> {
        Vec::new()
    }
}

/// User number for a part that is played once per run and serves no arrival.
pub const NO_USER: u32 = u32::MAX;
