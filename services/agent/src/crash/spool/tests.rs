//! The spool against a model of its content.

use std::collections::BTreeMap;
use std::fs;

use bytes::Bytes;
use loadpilot_engine::tally::crash_recovery::Watermark;
use loadpilot_events::id::{AgentId, BootId};
use proptest::prelude::*;
use tempfile::TempDir;

use super::*;

const ROOM: usize = 4_096;

fn run() -> RunId {
    RunId::parse("01run").expect("a token")
}

fn holder() -> Holder {
    Holder {
        agent: AgentId::parse("agent-1").expect("a token"),
        boot_id: BootId::parse("boot").expect("a token"),
    }
}

fn folder() -> TempDir {
    TempDir::new().expect("a folder")
}

fn spool(folder: &TempDir) -> Spool {
    Spool::create(folder.path(), (&run(), &holder()), 2, ROOM).expect("room")
}

fn found(spool: &Spool) -> SpoolContent {
    read(&fs::read(spool.path()).expect("the file")).expect("a spool")
}

fn checkpoint(last_seq: u64) -> Checkpoint {
    Checkpoint {
        last_seq,
        to_us: last_seq * 10,
        marks: vec![
            Watermark {
                turn: 3,
                number: last_seq * 100,
                unrecorded: 0,
            };
            2
        ],
        ..Checkpoint::default()
    }
}

/// Step of a process.
#[derive(Debug, Clone)]
enum Step {
    /// Saves a delta of this many bytes.
    Save(usize),
    /// Writes a checkpoint.
    Close,
    /// Acknowledges the oldest closed delta.
    Acknowledge,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => (0_usize..900).prop_map(Step::Save),
        1 => (0_usize..5_000).prop_map(Step::Save),
        3 => Just(Step::Close),
        3 => Just(Step::Acknowledge),
    ];
    prop::collection::vec(step, 0..120)
}

#[derive(Default)]
struct Model {
    seq: u64,
    closed: Option<u64>,
    acked: u64,
    saved: BTreeMap<u64, Bytes>,
    unsaved: u64,
}

impl Model {
    fn step(&mut self, spool: &mut Spool, step: &Step) {
        match step {
            Step::Save(len) => {
                self.seq += 1;
                let fill = u8::try_from(self.seq % 251).unwrap_or(0);
                let payload = Bytes::from(vec![fill; *len]);
                if spool.save(self.seq, &payload) {
                    self.saved.insert(self.seq, payload);
                } else {
                    self.unsaved += 1;
                }
            }
            Step::Close => {
                self.closed = Some(self.seq);
                spool.close(&checkpoint(self.seq));
            }
            Step::Acknowledge => {
                if Some(self.acked) < self.closed {
                    self.acked += 1;
                    spool.acknowledge(self.acked);
                }
            }
        }
    }

    fn check(&self, content: &SpoolContent) {
        assert_eq!(
            content.checkpoint,
            self.closed.map(checkpoint).unwrap_or_default()
        );
        let open = self.saved.range(self.acked + 1..);
        let open = open.filter(|(seq, _)| Some(**seq) <= self.closed);
        let open: BTreeMap<u64, Bytes> = open.map(|(seq, one)| (*seq, one.clone())).collect();
        assert_eq!(content.deltas, open);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Broken if a kill at any moment loses a closed delta that is not stored, or if an open delta
    /// is read.
    #[test]
    fn at_any_moment_the_file_holds_what_is_closed_and_not_stored(steps in steps()) {
        let folder = folder();
        let mut spool = spool(&folder);
        let mut model = Model::default();
        for step in &steps {
            model.step(&mut spool, step);
            model.check(&found(&spool));
        }
        prop_assert_eq!(spool.unsaved(), model.unsaved);
    }

    /// Broken if after a kill in the middle of a write a part of it is read, or an earlier write is
    /// lost.
    #[test]
    fn a_torn_write_leaves_what_was_there(
        steps in steps(), last in prop_oneof![Just(Step::Save(700)), Just(Step::Close)],
        from in 0_usize..1_000,
    ) {
        let folder = folder();
        let mut spool = spool(&folder);
        let mut model = Model::default();
        steps.iter().for_each(|step| model.step(&mut spool, step));
        let before = fs::read(spool.path()).expect("the file");
        let kept = read(&before).expect("a spool");
        model.step(&mut spool, &last);
        let after = fs::read(spool.path()).expect("the file");
        let changed: Vec<usize> = (0..after.len()).filter(|at| before[*at] != after[*at]).collect();
        prop_assume!(!changed.is_empty());
        // The check value, which is the first to differ, is written last.
        let mut torn = after.clone();
        for at in changed.iter().take(4.max(from % changed.len())) {
            torn[*at] = before[*at];
        }
        let torn = read(&torn).expect("a spool");
        prop_assert_eq!(&torn.checkpoint, &kept.checkpoint);
        prop_assert_eq!(&torn.deltas, &kept.deltas);
    }

    /// Broken if a damaged file ends its reader.
    #[test]
    fn any_bytes_are_read_or_refused(
        damage in prop::collection::vec((0_usize..20_000, any::<u8>()), 0..20),
        len in 0_usize..20_000,
    ) {
        let folder = folder();
        let mut spool = spool(&folder);
        (1..9).for_each(|_| Model::default().step(&mut spool, &Step::Save(300)));
        spool.close(&checkpoint(1));
        let mut bytes = fs::read(spool.path()).expect("the file");
        for (at, value) in damage {
            let at = at % bytes.len();
            bytes[at] = value;
        }
        bytes.truncate(len);
        let _ = read(&bytes);
    }
}

/// Broken if a delta without room takes the room of another, or is not counted.
#[test]
fn what_finds_no_room_is_counted_and_room_comes_back() {
    let folder = folder();
    let mut spool = spool(&folder);
    assert!(!spool.save(1, &[0; ROOM]), "more than a half holds");
    for seq in 2..=5 {
        assert!(spool.save(seq, &[1; 1_000]), "{seq}");
    }
    assert!(!spool.save(6, &[1; 1_000]));
    spool.close(&checkpoint(6));
    assert_eq!(
        found(&spool).deltas.keys().copied().collect::<Vec<_>>(),
        [2, 3, 4, 5]
    );
    assert_eq!(spool.unsaved(), 2);
    spool.acknowledge(3);
    assert!(spool.save(7, &[1; 1_000]), "a half is free again");
    spool.close(&checkpoint(7));
    assert_eq!(
        found(&spool).deltas.keys().copied().collect::<Vec<_>>(),
        [4, 5, 7]
    );
}

/// Broken if a long run whose deltas are soon stored uses ever more pages of its file, and so of
/// the agent's memory.
#[test]
fn what_is_stored_leaves_its_place_to_the_next() {
    let folder = folder();
    let names = (&run(), &holder());
    let mut spool = Spool::create(folder.path(), names, 2, SPOOL_BYTES_DEFAULT).expect("room");
    for seq in 1..=1_000 {
        assert!(spool.save(seq, &[1; 1_000]));
        spool.close(&checkpoint(seq));
        spool.acknowledge(seq);
    }
    let bytes = fs::read(spool.path()).expect("the file");
    let touched = bytes.iter().rposition(|byte| *byte != 0);
    assert!(touched < Some(16 << 10), "{touched:?}");
}

/// Broken if another process could report for a living one.
#[test]
fn it_is_locked_as_long_as_its_process_lives() {
    let folder = folder();
    let spool = spool(&folder);
    let other = fs::OpenOptions::new().write(true).open(spool.path());
    let other = other.expect("the file");
    assert!(matches!(
        other.try_lock(),
        Err(fs::TryLockError::WouldBlock)
    ));
    drop(spool);
    other.try_lock().expect("its process is gone");
}
