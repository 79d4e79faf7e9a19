//! Kill switches of other tenants, on an agent that serves several. A task for each tenant follows
//! them from the tenant's first run here. The agent's loop never waits for a subscription.

use std::collections::BTreeMap;

use loadpilot_bus::{Bus, Message};
use loadpilot_events::TenantId;
use loadpilot_events::wire::subject::Subjects;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::process::shell::Shell;

/// Events that such a task reports.
pub(super) enum HaltEvent {
    /// The agent receives the kill switches of this tenant from now on.
    Heard(TenantId),
    /// One was used.
    Used(Message),
}

/// The followed tenants.
pub(super) struct Halts {
    /// Whether the kill switches of each tenant are received.
    tenants: BTreeMap<TenantId, bool>,
    events: mpsc::UnboundedSender<HaltEvent>,
    queue: mpsc::UnboundedReceiver<HaltEvent>,
    tasks: JoinSet<()>,
}

impl Halts {
    /// Follows no tenant.
    pub(super) fn new() -> Self {
        let (events, queue) = mpsc::unbounded_channel();
        Self {
            tenants: BTreeMap::new(),
            events,
            queue,
            tasks: JoinSet::new(),
        }
    }

    /// Follows the kill switches of `tenant` from now on.
    pub(super) fn follow(&mut self, tenant: &TenantId, shell: &Shell) {
        if self.tenants.contains_key(tenant) {
            return;
        }
        self.tenants.insert(tenant.clone(), false);
        let subjects = shell.home.of_tenant(tenant);
        let (bus, events) = (shell.bus.clone(), self.events.clone());
        let retry = shell.timeouts.retry;
        self.tasks.spawn(async move {
            while let Err(fault) = forward(&bus, &subjects, &events).await {
                tracing::warn!(%fault, "a kill switch cannot be heard yet");
                sleep(retry).await;
            }
        });
    }

    /// Whether the kill switch of a run of `tenant` is received; `None`: the agent's own tenant.
    pub(super) fn are_heard(&self, tenant: Option<&TenantId>) -> bool {
        tenant.is_none_or(|tenant| self.tenants.get(tenant).copied().unwrap_or_default())
    }

    /// The next use of a kill switch, after everything that changes which tenants are followed.
    pub(super) async fn next(&mut self) -> Option<Message> {
        match self.queue.recv().await? {
            HaltEvent::Used(message) => Some(message),
            HaltEvent::Heard(tenant) => {
                self.tenants.insert(tenant, true);
                None
            }
        }
    }
}

/// Forwards kill switches until the connection or the receiver is closed for good.
async fn forward(
    bus: &Bus,
    subjects: &Subjects,
    events: &mpsc::UnboundedSender<HaltEvent>,
) -> Result<(), loadpilot_bus::Fault> {
    let mut halts = bus.subscribe(&subjects.halt_all()).await?;
    let mut event = Some(HaltEvent::Heard(subjects.tenant_id().clone()));
    while let Some(next) = event {
        if events.send(next).is_err() {
            return Ok(());
        }
        event = halts.next().await.map(HaltEvent::Used);
    }
    Ok(())
}
