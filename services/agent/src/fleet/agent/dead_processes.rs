//! Killed processes of this agent: the agent finds them at its start, reports for them once their
//! run is known, and forgets them with it. The tenant of a run comes with its decisions, as its
//! plan does.

use std::collections::BTreeMap;
use std::sync::Arc;

use loadpilot_events::{BootId, RunId};
use tokio::task::{AbortHandle, JoinError, JoinSet};

// Circle: the agent holds its recoveries, and these act on the agent.
use super::Agent;
use crate::runs::recovery::{self, DeadProcess};

/// Killed processes of this agent, and the tasks that report their counts.
#[derive(Default)]
pub(super) struct Recoveries {
    by_process: BTreeMap<(RunId, BootId), (Arc<DeadProcess>, Option<AbortHandle>)>,
    pub(super) tasks: JoinSet<(RunId, BootId)>,
    /// Whether an earlier process still held the lock of its files at the last search.
    pub(super) some_live: bool,
}

impl Agent {
    /// Finds killed processes of this agent, before the first heartbeat announces this one.
    pub(super) fn find_dead_processes(&mut self) {
        let Some(place) = &self.shell.rings else {
            return;
        };
        let found = recovery::find(&place.folder, &self.shell.me);
        self.recoveries.some_live = found.some_live;
        for dead in found.dead_processes {
            let (run, boot_id) = (dead.run.clone(), dead.boot_id.clone());
            tracing::info!(%run, boot = %boot_id, "a process before this one left something");
            self.membership.add_recovering(run.clone(), boot_id.clone());
            let dead = (Arc::new(dead), None);
            self.recoveries.by_process.insert((run, boot_id), dead);
        }
    }

    /// Reports the counts of killed processes whose run is known; removes the files of runs that
    /// are over.
    pub(super) fn recover_dead_processes(&mut self) {
        let over = |(run, _): &&(RunId, BootId)| self.membership.is_over(run);
        let over: Vec<_> = self
            .recoveries
            .by_process
            .keys()
            .filter(over)
            .cloned()
            .collect();
        for key in over {
            if let Some((dead, task)) = self.recoveries.by_process.remove(&key) {
                task.inspect(AbortHandle::abort);
                dead.discard(&self.shell.me);
                self.membership.recovered(&key.0, &key.1);
            }
        }
        let idle = self.recoveries.by_process.iter();
        let idle = idle.filter(|(_, (_, task))| task.is_none());
        let ready = idle.filter_map(|(key, (dead, _))| {
            let created = self.membership.created(&key.0)?;
            Some((key.clone(), Arc::clone(dead), created.clone()))
        });
        for (key, dead, created) in ready.collect::<Vec<_>>() {
            let publisher = self.publisher(&key.0);
            let shell = self.shell.in_service_of(self.membership.tenant(&key.0));
            let report = recovery::report(shell, dead, created, publisher);
            let done = key.clone();
            let task = self.recoveries.tasks.spawn(async move {
                report.await;
                done
            });
            if let Some((_, known)) = self.recoveries.by_process.get_mut(&key) {
                *known = Some(task);
            }
        }
    }

    pub(super) fn on_reported(&mut self, done: Result<(RunId, BootId), JoinError>) {
        match done {
            // The entry stays, so that unreadable files are not read again.
            Ok((run, boot_id)) => self.membership.recovered(&run, &boot_id),
            Err(error) if error.is_cancelled() => {}
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
    }
}
