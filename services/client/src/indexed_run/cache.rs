//! The fold of a run in a file, from which the next read continues.
//!
//! A file is ignored if it is torn, if the log contradicts it, or if it belongs to another run, log
//! or program version.

use std::io;
use std::path::{Path, PathBuf};

use loadpilot_engine::control::Control;
use loadpilot_engine::fold::index::Index;
use loadpilot_engine::fold::project::Projection;
use loadpilot_events::RunId;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::cache_file::{self, Summed, UnreadIndex};

/// Minimum number of new deltas for a write: folding fewer takes less time than writing a file.
const NEW_DELTAS_MIN: u64 = 256;

/// Identity and extent of a stored fold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Head {
    run: RunId,
    /// Version of the program that wrote it: its layout is that of the types in memory.
    version: String,
    /// Identity of the log: in another log the sequences have another meaning.
    log: u64,
    /// Hash of the plan and the assignments by which the deltas were judged.
    judged_by: Vec<u8>,
    /// Sequence of the last delta that the seal covers; absent before the seal.
    sealed_at: Option<u64>,
    /// Sequence of the last delta in the fold.
    data_seq: u64,
}

/// The cache file of one run.
#[derive(Debug)]
pub(super) struct Cache {
    folder: PathBuf,
    run: RunId,
    log: u64,
    /// Number of deltas in the file, and whether the run was sealed then.
    written: (u64, bool),
}

/// A fold read from a cache file.
pub(super) struct CachedFold {
    pub(super) data: Projection,
    pub(super) data_seq: u64,
    /// Its index; not every query needs it.
    pub(super) index: UnreadIndex,
}

impl Cache {
    /// A cache in `folder`, for the log with this identity.
    pub(super) fn new(folder: PathBuf, run: RunId, log: u64) -> Self {
        Self {
            folder,
            run,
            log,
            written: (0, false),
        }
    }

    /// The stored fold, if it is valid, still counts under `control` and contains no record after
    /// the sequence `log_end`.
    pub(super) fn load(&mut self, control: &Control, log_end: u64) -> Option<CachedFold> {
        let (fold, index) = cache_file::open(&self.path())?;
        let (head, rest): (Head, &[u8]) = postcard::take_from_bytes(&fold).ok()?;
        let expected = self.head(control, head.data_seq);
        let sealed_alike = head.sealed_at == expected.sealed_at
            || (head.sealed_at.is_none() && expected.sealed_at >= Some(head.data_seq));
        let same = Head {
            sealed_at: head.sealed_at,
            ..expected
        };
        if head != same || !sealed_alike || head.data_seq > log_end {
            return None;
        }
        let data: Projection = postcard::from_bytes(rest).ok()?;
        if !data.is_valid_under(control) {
            return None;
        }
        self.written = (data.generator.deltas, head.sealed_at.is_some());
        Some(CachedFold {
            data,
            data_seq: head.data_seq,
            index,
        })
    }

    /// Marks the file as outdated, so that the next fold replaces it.
    pub(super) fn forget(&mut self) {
        self.written = (0, false);
    }

    /// Stores a fold if it has grown enough, or the run was sealed since; returns the stored index.
    pub(super) fn store(
        &mut self,
        control: &Control,
        (data, index): (&Projection, &Index),
        data_seq: u64,
    ) -> Option<UnreadIndex> {
        let is_sealed = control.sealed.is_some();
        let (written, was_sealed) = self.written;
        let fresh = data.generator.deltas.saturating_sub(written);
        let newly_sealed = is_sealed && !was_sealed && data.generator.deltas >= NEW_DELTAS_MIN;
        // The cost of a write grows with the fold, so the fold must have grown by an eighth.
        let grown = fresh >= NEW_DELTAS_MIN.max(written / 8);
        if !(grown || newly_sealed) {
            return None;
        }
        let head = self.head(control, data_seq);
        match self.write(&head, data, index) {
            Ok(index) => {
                self.written = (data.generator.deltas, is_sealed);
                Some(index)
            }
            Err(error) => {
                let folder = self.folder.display();
                tracing::warn!("run {} is not cached in {folder}: {error}", self.run);
                None
            }
        }
    }

    fn write(&self, head: &Head, data: &Projection, index: &Index) -> io::Result<UnreadIndex> {
        let write_fold = |file: &mut Summed<'_>| {
            postcard::to_io(head, &mut *file).map_err(io::Error::other)?;
            postcard::to_io(data, file).map_err(io::Error::other)?;
            Ok(())
        };
        cache_file::write(&self.path(), write_fold, index)
    }

    fn head(&self, control: &Control, data_seq: u64) -> Head {
        Head {
            run: self.run.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            log: self.log,
            judged_by: judged_by(control),
            sealed_at: control.sealed.as_ref().map(|sealed| sealed.data_seq),
            data_seq,
        }
    }

    fn path(&self) -> PathBuf {
        Path::new(&self.folder).join(format!("{}.reading", self.run))
    }
}

/// Hash of everything by which the fold judges deltas, except the seal.
fn judged_by(control: &Control) -> Vec<u8> {
    let mut hash = Sha256::new();
    let created = control.state.created.as_ref();
    hash.update(created.map_or("", |created| &created.plan_hash));
    for assignment in &control.assignments {
        hash.update(assignment.generation.to_le_bytes());
        hash.update(assignment.from_tick.to_le_bytes());
        for holding in &assignment.holdings {
            hash.update(holding.holder.to_string());
            hash.update(
                holding
                    .shards
                    .iter()
                    .flat_map(|shard| shard.to_le_bytes())
                    .collect::<Vec<_>>(),
            );
            hash.update([0]);
        }
    }
    hash.finalize().to_vec()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use loadpilot_engine::control::ControlLog;
    use loadpilot_events::log::assign::Holding;
    use loadpilot_events::log::ctl::{Ending, RunSealed};

    use super::*;

    const LOG: u64 = 7;
    const LOG_END: u64 = 1_000;

    fn run(name: &str) -> RunId {
        RunId::parse(name).expect("a token")
    }

    /// Writes the file of a run of which 300 deltas are folded, up to sequence 900.
    fn write_cache(folder: &Path) -> Control {
        let control = ControlLog::new(run("01run")).close();
        let mut data = Projection::default();
        data.generator.deltas = 300;
        let mut cache = Cache::new(folder.to_owned(), run("01run"), LOG);
        cache.store(&control, (&data, &Index::default()), 900);
        control
    }

    fn load(folder: &Path, name: &str, log: u64, control: &Control) -> Option<u64> {
        let mut cache = Cache::new(folder.to_owned(), run(name), log);
        let fold = cache.load(control, LOG_END)?;
        // Whichever part is damaged, the log must be folded again.
        fold.index.read().map(|_| fold.data_seq)
    }

    fn sealed(control: &Control, data_seq: u64) -> Control {
        let seal = RunSealed {
            ending: Ending::Completed,
            ctl_seq: 1,
            evt_seq: 1,
            data_seq,
            finals: Vec::new(),
            missing: Vec::new(),
            unnamed: None,
        };
        Control {
            sealed: Some(seal),
            ..control.clone()
        }
    }

    /// Broken if a fold continues from a file with another log, assignment or seal.
    #[test]
    fn a_file_counts_only_for_what_it_was_folded_from() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        let control = write_cache(folder);
        assert_eq!(load(folder, "01run", LOG, &control), Some(900));
        assert_eq!(load(folder, "01run", LOG + 1, &control), None);
        assert_eq!(load(folder, "01other", LOG, &control), None);
        let covered = sealed(&control, 900);
        assert_eq!(load(folder, "01run", LOG, &covered), Some(900));
        let not_covered = sealed(&control, 899);
        assert_eq!(load(folder, "01run", LOG, &not_covered), None);
        let mut assigned = control.clone();
        assigned
            .assignments
            .push(loadpilot_engine::control::Assignment::new(
                1,
                0,
                Vec::<Holding>::new(),
            ));
        assert_eq!(load(folder, "01run", LOG, &assigned), None);
        let mut shorter = Cache::new(folder.to_owned(), run("01run"), LOG);
        assert!(shorter.load(&control, 899).is_none(), "records were lost");
    }

    /// Broken if a torn file is used, or ends the program.
    #[test]
    fn a_torn_file_is_ignored() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        let control = write_cache(folder);
        let path = folder.join("01run.reading");
        let whole = fs::read(&path).expect("the file was written");
        for length in 0..whole.len() {
            fs::write(&path, &whole[..length]).expect("a file");
            assert_eq!(load(folder, "01run", LOG, &control), None, "{length}");
        }
        for offset in 0..whole.len() {
            let mut flipped = whole.clone();
            flipped[offset] ^= 0x10;
            fs::write(&path, &flipped).expect("a file");
            assert_eq!(load(folder, "01run", LOG, &control), None, "{offset}");
        }
        fs::write(&path, &whole).expect("a file");
        assert_eq!(load(folder, "01run", LOG, &control), Some(900));
    }
}
