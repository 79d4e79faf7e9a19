//! Crash recovery: finds the files of killed processes of this agent at its start, reports their
//! counts under their boots, and removes the files.
//!
//! A file is used only while this process holds its lock. Must never publish before it has read the
//! run. Must never remove a file unless its counts are stored or its run is over.

mod replay;

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use loadpilot_bus::Stream;
use loadpilot_engine::control::created_run::CreatedRun;
use loadpilot_engine::schedule::workload::Workload;
use loadpilot_engine::tally::crash_recovery::{self, Tail};
use loadpilot_events::id::{BootId, Holder, RunId};
use loadpilot_events::log::evt::What;
use tokio::task::spawn_blocking;

use crate::crash::spool::{self, SpoolContent};
use crate::fire::{RING_EXTENSION, RingOwner, read_ring, ring_name};
use crate::process::shell::Shell;
use crate::runs::envelope::envelope;
use crate::runs::event_publisher::{EventPublisher, store};
use crate::runs::outbox::msg_id;

/// Files that one killed process left of one run.
#[derive(Debug)]
pub(crate) struct DeadProcess {
    /// Id of the run.
    pub(crate) run: RunId,
    /// Boot of the process.
    pub(crate) boot_id: BootId,
    spool: PathBuf,
    /// Lock on the spool: no other process reports the same counts.
    _lock: File,
}

/// Files of earlier processes in a folder.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Files of killed processes.
    pub(crate) dead_processes: Vec<DeadProcess>,
    /// Whether an earlier process may still live: its files are locked.
    pub(crate) some_live: bool,
}

/// Finds files of earlier processes of this agent.
pub(crate) fn find(folder: &Path, me: &Holder) -> Found {
    let mut found = Found::default();
    let files = match fs::read_dir(folder) {
        Ok(files) => files,
        Err(error) => {
            if error.kind() != std::io::ErrorKind::NotFound {
                tracing::warn!(folder = %folder.display(), %error, "cannot look for remains");
            }
            return found;
        }
    };
    let (mut spools, mut rings) = (BTreeSet::new(), Vec::new());
    for path in files.flatten().map(|file| file.path()) {
        let Some((run, boot_id, kind)) = named(&path, me) else {
            continue;
        };
        if kind == Kind::Ring {
            rings.push(((run, boot_id), path));
            continue;
        }
        spools.insert((run.clone(), boot_id.clone()));
        let file = OpenOptions::new().read(true).write(true).open(&path);
        let lock = file.and_then(|file| {
            file.try_lock()?;
            Ok(file)
        });
        match lock {
            Ok(lock) => found.dead_processes.push(DeadProcess {
                run,
                boot_id,
                spool: path,
                _lock: lock,
            }),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => found.some_live = true,
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "remains cannot be read");
            }
        }
    }
    // A process that is killed while it creates or removes its files leaves rings without a spool.
    if !found.some_live {
        let orphans = rings.iter().filter(|(owner, _)| !spools.contains(owner));
        orphans.for_each(|(_, path)| remove(path));
    }
    found
}

/// Kind of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Spool,
    Ring,
}

/// Run, boot and kind of a file of this agent's earlier processes; `None` for any other file.
fn named(path: &Path, me: &Holder) -> Option<(RunId, BootId, Kind)> {
    let name = path.file_name()?.to_str()?;
    let parts: Vec<&str> = name.split('.').collect();
    let (run, agent, boot, kind) = match parts[..] {
        [run, agent, boot, spool::EXTENSION] => (run, agent, boot, Kind::Spool),
        [run, agent, boot, _, RING_EXTENSION] => (run, agent, boot, Kind::Ring),
        _ => return None,
    };
    let boot_id = BootId::parse(boot).ok()?;
    let is_earlier = agent == me.agent.as_str() && boot_id != me.boot_id;
    is_earlier.then_some((RunId::parse(run).ok()?, boot_id, kind))
}

impl DeadProcess {
    /// Removes the files.
    pub(crate) fn discard(&self, agent: &Holder) {
        tracing::debug!(run = %self.run, boot = %self.boot_id, "what it left is removed");
        // The spool goes first: recovery ignores rings without one.
        remove(&self.spool);
        let name = format!("{}.{}.{}.", self.run, agent.agent, self.boot_id);
        let folder = self.spool.parent();
        let files = folder.and_then(|folder| fs::read_dir(folder).ok());
        let files = files.into_iter().flatten().flatten();
        let is_own = |file: &fs::DirEntry| file.file_name().to_string_lossy().starts_with(&name);
        files.filter(is_own).for_each(|file| remove(&file.path()));
    }
}

fn remove(path: &Path) {
    if let Err(error) = fs::remove_file(path)
        && error.kind() != std::io::ErrorKind::NotFound
    {
        tracing::warn!(path = %path.display(), %error, "stays behind");
    }
}

/// Publishes the deltas of a killed process and its final event, and removes its files.
pub(crate) async fn report(
    shell: Shell,
    dead: Arc<DeadProcess>,
    created: CreatedRun,
    publisher: EventPublisher,
) {
    let recovered = {
        let (dead, me) = (Arc::clone(&dead), shell.me.clone());
        spawn_blocking(move || recover(&dead, &me, &created)).await
    };
    let (content, tail) = match recovered {
        Ok(Ok(recovered)) => recovered,
        Ok(Err(reason)) => {
            let path = dead.spool.display();
            tracing::error!(%path, reason, "what it left cannot be read, and stays there");
            return;
        }
        Err(error) => {
            // Files that cause a panic must not end every later process of the agent.
            tracing::error!(run = %dead.run, %error, "what it left cannot be read");
            return;
        }
    };
    let subject = shell.subjects.delta(&dead.run, &shell.me.agent);
    let closed = tail.deltas.into_iter().map(|delta| {
        let seq = delta.seq;
        let payload = serde_json::to_vec(&envelope(delta)).expect("a delta has a JSON form");
        (seq, payload.into())
    });
    for (seq, payload) in content.deltas.into_iter().chain(closed) {
        let id = msg_id(&dead.run, &dead.boot_id, seq);
        store(&shell, Stream::Data, &subject, &id, payload).await;
    }
    let reported = What::TailReported(tail.reported);
    publisher.publish_for(dead.boot_id.clone(), reported);
    publisher.flush().await;
    dead.discard(&shell.me);
}

/// Reads the files and closes their counts.
fn recover(
    dead: &DeadProcess,
    me: &Holder,
    created: &CreatedRun,
) -> Result<(SpoolContent, Tail), String> {
    let bytes = fs::read(&dead.spool).map_err(|error| error.to_string())?;
    let content = spool::read(&bytes).map_err(|error| error.to_string())?;
    let holder = Holder {
        agent: me.agent.clone(),
        boot_id: dead.boot_id.clone(),
    };
    if (&content.run, &content.holder) != (&dead.run, &holder) {
        return Err("it is of another process than its name says".to_owned());
    }
    let workload = Workload::new(&created.plan, created.seed);
    let threads: Vec<_> = (0..content.threads)
        .map(|core| {
            let owner = RingOwner {
                run: dead.run.clone(),
                holder: holder.clone(),
                core,
            };
            let ring = dead.spool.with_file_name(ring_name(&owner));
            let mark = content.checkpoint.marks.get(core as usize).copied();
            thread(&ring, &owner, mark.unwrap_or_default())
                .map(|contents| replay::thread(&contents, &created.plan, &workload))
        })
        .collect();
    let tail = crash_recovery::close(dead.boot_id.clone(), &content.checkpoint, &threads);
    let (run, calls) = (&dead.run, tail.reported.totals.calls_total());
    tracing::info!(
        %run, boot = %dead.boot_id, deltas = content.deltas.len(), calls,
        indeterminate = tail.reported.indeterminate, lost = ?tail.reported.lost,
        "a killed process is reported for"
    );
    Ok((content, tail))
}

/// Reads the ring of one thread.
fn thread(
    path: &Path,
    owner: &RingOwner,
    mark: crash_recovery::Watermark,
) -> Result<crate::fire::RingContents, String> {
    let core = owner.core;
    let unreadable = |why: String| format!("the ring of thread {core} cannot be read: {why}");
    let bytes = fs::read(path).map_err(|error| unreadable(error.to_string()))?;
    let ring = read_ring(&bytes, mark).map_err(|error| unreadable(error.to_string()))?;
    if ring.owner != *owner {
        return Err(unreadable("it is of another process".to_owned()));
    }
    Ok(ring)
}

#[cfg(test)]
mod tests {
    use loadpilot_events::AgentId;

    use super::*;

    /// Broken if useless files stay for ever, or if files that are needed are removed.
    #[test]
    fn rings_without_a_spool_are_removed_and_no_others() {
        let folder = tempfile::tempdir().expect("a folder");
        let files = [
            ("run1.me.old.0.ring", false),
            ("run1.me.old.1.ring", false),
            ("run2.me.old.spool", true),
            ("run2.me.old.0.ring", true),
            ("run1.me.now.0.ring", true),
            ("run1.other.old.0.ring", true),
            ("run1.me.old.txt", true),
        ];
        for (name, _) in files {
            fs::write(folder.path().join(name), "").expect("room");
        }
        let me = Holder {
            agent: AgentId::parse("me").expect("a token"),
            boot_id: BootId::parse("now").expect("a token"),
        };
        let found = find(folder.path(), &me);
        assert_eq!((found.dead_processes.len(), found.some_live), (1, false));
        for (name, stays) in files {
            assert_eq!(folder.path().join(name).exists(), stays, "{name}");
        }
    }
}
