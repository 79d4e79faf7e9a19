//! The inputs of a decision, beside the log and the time.

use std::collections::{BTreeMap, BTreeSet};

use loadpilot_events::Capability;
use loadpilot_events::id::{BootId, Holder, OwnerId, TenantId};
use loadpilot_events::log::admission::RunQueued;
use loadpilot_events::units::Timestamp;
use loadpilot_events::wire::heartbeat::Unreached;

use crate::check::target_policy::TargetPolicy;
use crate::control::tenants::Tenants;

/// Timeouts and rules of a fleet; times are in µs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// Time without a heartbeat after which a holder is lost.
    pub lost_us: u64,
    /// Time without a message after which a holder fences itself; less than `lost_us`.
    pub fence_us: u64,
    /// Age of its view of the decisions at which a holder fences itself.
    pub behind_us: u64,
    /// Time between a decision and the tick at which it takes effect.
    pub takeover_us: u64,
    /// Time without a heartbeat after which an owner is gone.
    pub owner_us: u64,
    /// Time for holders to get ready, without fetching bodies: see
    /// [`crate::control::decide::timeouts::OBJECT_BYTE_US`].
    pub ready_us: u64,
    /// Time after the last possible call for holders to report their final totals.
    pub finish_us: u64,
    /// Time that a run waits for a new holder when it has none.
    pub no_holder_us: u64,
    /// Whether runs that need Python on agents are refused: a shared fleet must not run the code of
    /// its users.
    pub compiled_only: bool,
    /// Targets that are refused at creation, as far as a plan names addresses.
    pub targets: TargetPolicy,
    /// The tenants that share the fleet; `None`: it serves one.
    pub tenants: Option<Tenants>,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            lost_us: 10_000_000,
            fence_us: 7_000_000,
            behind_us: 2_000_000,
            takeover_us: 1_000_000,
            owner_us: 10_000_000,
            ready_us: 15_000_000,
            finish_us: 15_000_000,
            no_holder_us: 30_000_000,
            compiled_only: false,
            // Only the agents know which private networks they may enter.
            targets: TargetPolicy::local(),
            tenants: None,
        }
    }
}

/// Observations of a coordinator beside the log, from heartbeats and its server.
#[derive(Debug, Clone, Default)]
pub struct Observations {
    /// Tenant of the run, from its subject; `None` where the fleet serves one.
    pub tenant: Option<TenantId>,
    /// Why the run may not be created yet; `None`: a shared fleet has admitted it, or the fleet
    /// serves one tenant.
    pub not_admitted: Option<NotAdmitted>,
    /// Since when the coordinator has listened: earlier silence proves nothing.
    pub since: Timestamp,
    /// The last heartbeat of each process.
    pub agents: BTreeMap<Holder, LastSeen>,
    /// When each owner of the run's tenant was last seen.
    pub owners: BTreeMap<OwnerId, Timestamp>,
    /// The last stream sequence of LP_DATA, read after the final totals that a seal counts.
    pub data_head: u64,
    /// Whether the run was left unfinished by an earlier local stack.
    pub left_over: bool,
    /// Whether a left-over run waits for what its killed agents left in files of this stack.
    pub waits_for_tails: bool,
    /// Maximum length of a message of the server, in bytes; `None` while it is unknown.
    pub message_bytes_max: Option<u64>,
    /// Processes at full capacity: no new shards while a run goes on.
    pub at_capacity: BTreeSet<Holder>,
    /// Processes that report that none of their calls of this run reached a server.
    pub unreached: BTreeMap<Holder, Unreached>,
}

/// The state of a run that a shared fleet has not admitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotAdmitted {
    /// Its place, and the reason why it waits.
    pub queued: RunQueued,
    /// Number of other runs of its tenant that count for the last 24 hours.
    pub today: u32,
    /// Whether it has to wait: no admission is due before something else happens.
    pub must_wait: bool,
}

/// The last heartbeat of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastSeen {
    /// When it arrived.
    pub at: Timestamp,
    /// Whether it knows that the earlier process of its agent is dead.
    pub predecessor_dead: bool,
    /// The process's capabilities.
    pub has: BTreeSet<Capability>,
    /// Killed processes of its agent for which it still reports.
    pub recovering: BTreeSet<BootId>,
}
