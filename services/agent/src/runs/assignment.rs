//! A run's assignment to this agent, and the events about it.

use std::sync::{Arc, Mutex};

use loadpilot_engine::control::created_run::CreatedRun;
use loadpilot_engine::tally::unreached::Reach;
use loadpilot_events::RunId;
use loadpilot_events::log::evt::{FailureCause, IsolationStop, ShardsFailed, What};
use tokio::sync::watch;

use crate::fire::Lease;
use crate::runs::event_publisher::EventPublisher;
use crate::runs::run_commands::RunCommands;

/// A run that this agent takes part in.
pub struct Assignment {
    /// Id of the run.
    pub run: RunId,
    /// The run as it was created.
    pub created: CreatedRun,
    /// Commands for the run. The worker ends when the sender is dropped.
    pub commands: watch::Receiver<RunCommands>,
    /// Publishes this agent's events of the run.
    pub publisher: EventPublisher,
    /// End of the time in which arrivals may be started.
    pub lease: Lease,
    /// Whether a call of the run has reached a server.
    pub reach: Arc<Mutex<Reach>>,
}

impl Assignment {
    /// Publishes that this agent cannot execute its shards.
    pub(super) fn publish_failure(&self, cause: FailureCause, reason: String) {
        let generation = self.commands.borrow().held_generation().unwrap_or_default();
        self.publisher.publish(What::ShardsFailed(ShardsFailed {
            generation,
            cause,
            reason,
        }));
    }

    /// Publishes that this agent stopped by itself, if it did.
    pub(super) fn publish_isolation(&self) {
        let Some(fenced) = self.commands.borrow().isolated else {
            return;
        };
        self.publisher.publish(What::IsolationStop(IsolationStop {
            fenced_at: fenced.at,
            ctl_seq: fenced.ctl_seq,
            reason: fenced.why.reason().to_owned(),
        }));
    }
}
