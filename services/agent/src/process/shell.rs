//! What every part of the shell needs to know: who this is, the bus, its limits. Fixed for the
//! life of the process; must never hold anything that changes.

use std::collections::BTreeSet;
use std::sync::Arc;

use loadpilot_bus::Bus;
use loadpilot_engine::check::target_policy::TargetPolicy;
use loadpilot_events::wire::subject::Subjects;
use loadpilot_events::{BootId, Capability, Holder, Rate};
use ulid::Ulid;

use crate::fire::RingSettings;
use crate::process::liveness_file::LivenessFile;
use crate::process::timeouts::Timeouts;
use crate::users::script::Scripting;

/// One agent process, or one life of it.
#[derive(Debug, Clone)]
pub struct Shell {
    /// The connection.
    pub bus: Bus,
    /// The subjects of its tenant.
    pub subjects: Subjects,
    /// Who it is.
    pub me: Holder,
    /// Whether whoever started it knows that its earlier process is dead.
    pub predecessor_dead: bool,
    /// What its operator says of it.
    pub labels: BTreeSet<Capability>,
    /// What it can offer over all runs together.
    pub capacity: Rate,
    /// Threads that fire requests, per run; at least 1.
    pub cores: u32,
    /// Most arrivals of one run in flight, unless the plan wants fewer; at least 1.
    pub max_in_flight: u32,
    /// File descriptors that this process may open.
    pub fds: u64,
    /// Where it may connect to.
    pub targets: TargetPolicy,
    /// Where firing threads note what they count, and deltas lie until they are stored; `None`:
    /// nowhere.
    pub rings: Option<RingSettings>,
    /// What runs scenarios in Python; `None`: this agent takes compiled ones only.
    pub scripting: Option<Arc<dyn Scripting>>,
    /// The file that is touched whenever it is heard.
    pub liveness_file: Option<LivenessFile>,
    /// Waits and bounds.
    pub timeouts: Timeouts,
}

impl Shell {
    /// The same agent as a process of another name, the earlier of which does nothing any more.
    #[must_use]
    pub fn with_new_boot(mut self) -> Self {
        self.me.boot_id = boot_after(&self.me.boot_id);
        self.predecessor_dead = true;
        self
    }

    /// What it can do that other agents may not.
    #[must_use]
    pub fn has(&self) -> BTreeSet<Capability> {
        let python = self.scripting.iter().map(|_| Capability::python());
        self.labels.iter().cloned().chain(python).collect()
    }
}

/// A boot that is newer than `old`, also when the clock was set back meanwhile.
fn boot_after(old: &BootId) -> BootId {
    let fresh = Ulid::generate();
    let next = Ulid::from_string(old.as_str()).ok();
    let next = next.and_then(|old| old.increment().ok());
    BootId::from_ulid(next.map_or(fresh, |next| next.max(fresh)))
}
