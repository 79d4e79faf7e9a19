//! Identity, bus, limits and timeouts of one agent process; constant for its whole life.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use loadpilot_bus::Bus;
use loadpilot_engine::check::target_policy::TargetPolicy;
use loadpilot_events::wire::subject::Subjects;
use loadpilot_events::{BootId, Capability, Holder, Rate, TenantId};
use ulid::Ulid;

use crate::fire::RingSettings;
use crate::process::liveness_file::LivenessFile;
use crate::process::nats_servers::NatsServers;
use crate::process::timeouts::Timeouts;
use crate::users::script::Scripting;

/// One agent under one boot id.
#[derive(Debug, Clone)]
pub struct Shell {
    /// The NATS connection.
    pub bus: Bus,
    /// The subjects of its own tenant: of its heartbeats, of the clock and of live decisions.
    pub home: Subjects,
    /// The subjects of the tenant whose run it serves; the subjects of its own tenant before it
    /// serves any.
    pub subjects: Subjects,
    /// Agent id and boot id.
    pub me: Holder,
    /// Whether the earlier process of this agent is known to be dead.
    pub predecessor_dead: bool,
    /// Labels that its operator set.
    pub labels: BTreeSet<Capability>,
    /// Maximum rate over all runs together.
    pub capacity: Rate,
    /// Number of firing threads per run; at least 1.
    pub cores: u32,
    /// Maximum number of arrivals of one run in flight, unless the plan sets fewer; at least 1.
    pub max_in_flight: u32,
    /// Maximum number of open file descriptors of this process.
    pub fds: u64,
    /// Targets that it may connect to.
    pub targets: TargetPolicy,
    /// Addresses of its NATS servers.
    pub nats_servers: NatsServers,
    /// Folder of the rings and of the spool; `None`: neither is written.
    pub rings: Option<RingSettings>,
    /// Folders in which files of rows are looked up.
    pub feeds: Vec<PathBuf>,
    /// Interpreter for scenarios in Python; `None`: this agent takes compiled ones only.
    pub scripting: Option<Arc<dyn Scripting>>,
    /// File that is touched whenever a coordinator answers.
    pub liveness_file: Option<LivenessFile>,
    /// Timeouts, intervals and limits.
    pub timeouts: Timeouts,
}

impl Shell {
    /// The same agent under a new boot id; its earlier boot is known to be dead.
    #[must_use]
    pub fn with_new_boot(mut self) -> Self {
        self.me.boot_id = boot_after(&self.me.boot_id);
        self.predecessor_dead = true;
        self
    }

    /// The same agent in the service of a run of `tenant`; `None` is its own tenant.
    #[must_use]
    pub fn in_service_of(&self, tenant: Option<&TenantId>) -> Self {
        let subjects = tenant.map(|tenant| self.home.of_tenant(tenant));
        Self {
            subjects: subjects.unwrap_or_else(|| self.home.clone()),
            ..self.clone()
        }
    }

    /// Its capabilities: labels, mixes of user types, lists of requests, pairs, and Python if there
    /// is an interpreter.
    #[must_use]
    pub fn has(&self) -> BTreeSet<Capability> {
        let python = self.scripting.iter().map(|_| Capability::python());
        let plans = [
            Capability::user_types(),
            Capability::request_rows(),
            Capability::pairs(),
            Capability::trace_context(),
            Capability::hold(),
            Capability::sessions(),
            Capability::tenants(),
            Capability::ownership(),
        ];
        self.labels
            .iter()
            .cloned()
            .chain(python)
            .chain(plans)
            .collect()
    }
}

/// A boot id that is newer than `old`, even if the clock was set back.
fn boot_after(old: &BootId) -> BootId {
    let fresh = Ulid::generate();
    let next = Ulid::from_string(old.as_str()).ok();
    let next = next.and_then(|old| old.increment().ok());
    BootId::from_ulid(next.map_or(fresh, |next| next.max(fresh)))
}
