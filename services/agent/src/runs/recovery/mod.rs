//! What killed processes of this agent left: found at the start, reported under their names, and
//! removed.
//!
//! A file of theirs is touched only when nobody holds its lock. Must never publish before it knows
//! the run, nor remove anything that is not stored or of a run that is over.

mod replay;

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use loadpilot_bus::Stream;
use loadpilot_engine::schedule::workload::Workload;
use loadpilot_engine::tally::crash_recovery::{self, Tail};
use loadpilot_events::id::{BootId, Holder, RunId};
use loadpilot_events::log::ctl::RunCreated;
use loadpilot_events::log::evt::What;
use tokio::task::spawn_blocking;

use crate::crash::spool::{self, SpoolContent};
use crate::fire::{RING_EXTENSION, RingOwner, read_ring, ring_name};
use crate::process::shell::Shell;
use crate::runs::envelope::envelope;
use crate::runs::event_publisher::{EventPublisher, store};
use crate::runs::outbox::msg_id;

/// What one killed process left of one run.
#[derive(Debug)]
pub(crate) struct DeadProcess {
    /// The run.
    pub(crate) run: RunId,
    /// The process.
    pub(crate) boot_id: BootId,
    spool: PathBuf,
    /// Held, so that nobody else reports the same.
    _lock: File,
}

/// What lies in a folder of processes before `me`.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// What they left.
    pub(crate) dead_processes: Vec<DeadProcess>,
    /// Whether one of them may still live: its files are locked.
    pub(crate) some_live: bool,
}

/// Looks for what earlier processes of this agent left.
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
    // A process that was killed while it made its files, or removed them, leaves rings alone.
    let has_no_spool = |(whose, _): &(_, _)| !found.some_live && !spools.contains(whose);
    let alone = rings.iter().filter(|ring| has_no_spool(ring));
    alone.for_each(|(_, path)| remove(path));
    found
}

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Spool,
    Ring,
}

/// Of which run and process a file of this agent is; none of `me`, and no other file.
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
    /// Nobody wants them any more: their run is over.
    pub(crate) fn discard(&self, agent: &Holder) {
        tracing::debug!(run = %self.run, boot = %self.boot_id, "what it left is removed");
        // The spool first: rings alone are nothing to report.
        remove(&self.spool);
        let name = format!("{}.{}.{}.", self.run, agent.agent, self.boot_id);
        let folder = self.spool.parent();
        let files = folder.and_then(|folder| fs::read_dir(folder).ok());
        let files = files.into_iter().flatten().flatten();
        let is_its = |file: &fs::DirEntry| file.file_name().to_string_lossy().starts_with(&name);
        files.filter(is_its).for_each(|file| remove(&file.path()));
    }
}

fn remove(path: &Path) {
    if let Err(error) = fs::remove_file(path)
        && error.kind() != std::io::ErrorKind::NotFound
    {
        tracing::warn!(path = %path.display(), %error, "stays behind");
    }
}

/// Publishes what a killed process left of a run, states its last words, and removes its files.
pub(crate) async fn report(
    shell: Shell,
    dead: Arc<DeadProcess>,
    created: RunCreated,
    publisher: EventPublisher,
) {
    let gathered = {
        let (dead, me) = (Arc::clone(&dead), shell.me.clone());
        spawn_blocking(move || gather(&dead, &me, &created)).await
    };
    let (content, tail) = match gathered {
        Ok(Ok(gathered)) => gathered,
        Ok(Err(reason)) => {
            let path = dead.spool.display();
            tracing::error!(%path, reason, "what it left cannot be read, and stays there");
            return;
        }
        Err(error) => {
            // Files that make it panic must not end every later process too.
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
    let words = What::TailReported(tail.reported);
    publisher.publish_for(dead.boot_id.clone(), words);
    publisher.flush().await;
    dead.discard(&shell.me);
}

/// Reads everything that is there and closes it.
fn gather(
    dead: &DeadProcess,
    me: &Holder,
    created: &RunCreated,
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
            let mark = content.books.marks.get(core as usize).copied();
            thread(&ring, &owner, mark.unwrap_or_default())
                .map(|left| replay::thread(&left, &created.plan, &workload))
        })
        .collect();
    let tail = crash_recovery::close(dead.boot_id.clone(), &content.books, &threads);
    let (run, calls) = (&dead.run, tail.reported.totals.calls_total());
    tracing::info!(
        %run, boot = %dead.boot_id, deltas = content.deltas.len(), calls,
        indeterminate = tail.reported.indeterminate, lost = ?tail.reported.lost,
        "a killed process is reported for"
    );
    Ok((content, tail))
}

/// What one thread of it left, or why nobody can tell.
fn thread(
    path: &Path,
    owner: &RingOwner,
    mark: crash_recovery::Watermark,
) -> Result<crate::fire::RingContents, String> {
    let core = owner.core;
    let unreadable = |why: String| format!("the ring of thread {core} cannot be read: {why}");
    let bytes = fs::read(path).map_err(|error| unreadable(error.to_string()))?;
    let left = read_ring(&bytes, mark).map_err(|error| unreadable(error.to_string()))?;
    if left.owner != *owner {
        return Err(unreadable("it is of another process".to_owned()));
    }
    Ok(left)
}

#[cfg(test)]
mod tests {
    use loadpilot_events::AgentId;

    use super::*;

    /// Broken if files that nobody can use were kept for ever, or others than those removed.
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
