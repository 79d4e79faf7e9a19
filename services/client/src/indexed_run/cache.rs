//! What was folded of a run, in a file: the next reading goes on from there.
//!
//! A file that is torn, foreign, of another log or of another version of this program is as good as
//! none. Must never be trusted for anything that the log says otherwise.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use flate2::Crc;
use loadpilot_engine::control::Control;
use loadpilot_engine::fold::index::Index;
use loadpilot_engine::fold::project::Projection;
use loadpilot_events::RunId;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// What a file begins with: another layout, another number.
const MAGIC: &[u8] = b"loadpilot.reading/2\n";
/// Bytes of the checksum after it.
const CRC_BYTES: usize = 4;
/// So many deltas are folded sooner than a file is looked after.
const WORTH_KEEPING: u64 = 256;

/// Whose fold it is, and how far it goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Head {
    run: RunId,
    /// The program that wrote it: sums are written down as it has them in memory.
    version: String,
    /// When the stream was created: in another one the sequences mean something else.
    created: u64,
    /// By what the deltas were judged.
    judged_by: Vec<u8>,
    /// The last delta of the run that the seal covers, once it was sealed.
    sealed_at: Option<u64>,
    /// The last delta that is in it.
    data_seq: u64,
}

/// Where the fold of one run is kept.
#[derive(Debug)]
pub(super) struct Cache {
    folder: PathBuf,
    run: RunId,
    created: u64,
    /// How many deltas the fold in the file has, and whether the run was sealed then.
    kept: (u64, bool),
}

/// What was kept.
pub(super) struct Kept {
    pub(super) data: Projection,
    pub(super) index: Index,
    pub(super) data_seq: u64,
}

impl Cache {
    /// In `folder`, of a log whose data stream was created at `created`.
    pub(super) fn new(folder: PathBuf, run: RunId, created: u64) -> Self {
        Self {
            folder,
            run,
            created,
            kept: (0, false),
        }
    }

    /// What was kept, if it goes on to be true under `control`.
    pub(super) fn load(&mut self, control: &Control) -> Option<Kept> {
        let bytes = fs::read(self.path()).ok()?;
        let rest = bytes.strip_prefix(MAGIC)?;
        let (crc, body) = rest.split_first_chunk::<CRC_BYTES>()?;
        if u32::from_le_bytes(*crc) != checksum(body) {
            return None;
        }
        let (head, rest): (Head, &[u8]) = postcard::take_from_bytes(body).ok()?;
        let expected = self.head(control, head.data_seq);
        let sealed_alike = head.sealed_at == expected.sealed_at
            || (head.sealed_at.is_none() && expected.sealed_at >= Some(head.data_seq));
        let same = Head {
            sealed_at: head.sealed_at,
            ..expected
        };
        if head != same || !sealed_alike {
            return None;
        }
        let (data, index): (Projection, Index) = postcard::from_bytes(rest).ok()?;
        if !data.is_valid_under(control) {
            return None;
        }
        self.kept = (data.generator.deltas, head.sealed_at.is_some());
        Some(Kept {
            data,
            index,
            data_seq: head.data_seq,
        })
    }

    /// What was kept holds no longer.
    pub(super) fn forget(&mut self) {
        self.kept = (0, false);
    }

    /// Keeps a fold, if there is enough in it that is new.
    pub(super) fn keep(
        &mut self,
        control: &Control,
        (data, index): (&Projection, &Index),
        data_seq: u64,
    ) {
        let is_sealed = control.sealed.is_some();
        let (kept, was_sealed) = self.kept;
        let fresh = data.generator.deltas.saturating_sub(kept);
        let ended = is_sealed && !was_sealed && data.generator.deltas >= WORTH_KEEPING;
        // Writing takes as long as the fold is large: each time it has grown by an eighth.
        let grown = fresh >= WORTH_KEEPING.max(kept / 8);
        if !(grown || ended) {
            return;
        }
        let head = self.head(control, data_seq);
        match self.write(&head, data, index) {
            Ok(()) => self.kept = (data.generator.deltas, is_sealed),
            Err(error) => {
                let folder = self.folder.display();
                tracing::warn!("reading {} is not kept in {folder}: {error}", self.run);
            }
        }
    }

    fn write(&self, head: &Head, data: &Projection, index: &Index) -> io::Result<()> {
        let head = postcard::to_stdvec(head).map_err(io::Error::other)?;
        let body = postcard::to_extend(&(data, index), head).map_err(io::Error::other)?;
        fs::create_dir_all(&self.folder)?;
        let path = self.path();
        let part = path.with_extension("part");
        let mut file = fs::File::create(&part)?;
        file.write_all(MAGIC)?;
        file.write_all(&checksum(&body).to_le_bytes())?;
        file.write_all(&body)?;
        drop(file);
        fs::rename(&part, &path)
    }

    fn head(&self, control: &Control, data_seq: u64) -> Head {
        Head {
            run: self.run.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            created: self.created,
            judged_by: judged_by(control),
            sealed_at: control.sealed.as_ref().map(|sealed| sealed.data_seq),
            data_seq,
        }
    }

    fn path(&self) -> PathBuf {
        Path::new(&self.folder).join(format!("{}.reading", self.run))
    }
}

/// A mark of everything by which the fold judges deltas, but the seal.
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

fn checksum(bytes: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(bytes);
    crc.sum()
}

#[cfg(test)]
mod tests {
    use loadpilot_engine::control::ControlLog;
    use loadpilot_events::log::assign::Holding;
    use loadpilot_events::log::ctl::{Ending, RunSealed};

    use super::*;

    const CREATED: u64 = 7;

    fn run(name: &str) -> RunId {
        RunId::parse(name).expect("a token")
    }

    /// A file of a run of which 300 deltas were folded, up to sequence 900.
    fn kept(folder: &Path) -> Control {
        let control = ControlLog::new(run("01run")).close();
        let mut data = Projection::default();
        data.generator.deltas = 300;
        let mut cache = Cache::new(folder.to_owned(), run("01run"), CREATED);
        cache.keep(&control, (&data, &Index::default()), 900);
        control
    }

    fn load(folder: &Path, name: &str, created: u64, control: &Control) -> Option<u64> {
        let mut cache = Cache::new(folder.to_owned(), run(name), created);
        cache.load(control).map(|kept| kept.data_seq)
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

    /// Broken if a fold went on from what another log, another judgement or a seal does not bear
    /// out.
    #[test]
    fn a_file_counts_only_for_what_it_was_folded_from() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        let control = kept(folder);
        assert_eq!(load(folder, "01run", CREATED, &control), Some(900));
        assert_eq!(load(folder, "01run", CREATED + 1, &control), None);
        assert_eq!(load(folder, "01other", CREATED, &control), None);
        let covered = sealed(&control, 900);
        assert_eq!(load(folder, "01run", CREATED, &covered), Some(900));
        let not_covered = sealed(&control, 899);
        assert_eq!(load(folder, "01run", CREATED, &not_covered), None);
        let mut assigned = control.clone();
        assigned
            .assignments
            .push(loadpilot_engine::control::Assignment::new(
                1,
                0,
                Vec::<Holding>::new(),
            ));
        assert_eq!(load(folder, "01run", CREATED, &assigned), None);
    }

    /// Broken if a file that was torn, anywhere, is believed or ends the program.
    #[test]
    fn a_torn_file_is_as_good_as_none() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        let control = kept(folder);
        let path = folder.join("01run.reading");
        let whole = fs::read(&path).expect("it was kept");
        for length in 0..whole.len() {
            fs::write(&path, &whole[..length]).expect("a file");
            assert_eq!(load(folder, "01run", CREATED, &control), None, "{length}");
        }
        for place in 0..whole.len() {
            let mut flipped = whole.clone();
            flipped[place] ^= 0x10;
            fs::write(&path, &flipped).expect("a file");
            assert_eq!(load(folder, "01run", CREATED, &control), None, "{place}");
        }
        fs::write(&path, &whole).expect("a file");
        assert_eq!(load(folder, "01run", CREATED, &control), Some(900));
    }
}
