//! The ring against a model that remembers everything.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;

use loadpilot_engine::tally::{CallEnd, ConnectionUse, Phases};
use loadpilot_events::id::{AgentId, BootId, RunId};
use loadpilot_events::log::delta::LastCall;
use loadpilot_events::log::outcome::Outcome;
use proptest::prelude::*;
use tempfile::TempDir;

use super::writer::Recorder;
use super::*;
use crate::fire::arrival_id::ArrivalId;

const RUN: &str = "01run";

fn owner(core: u32) -> RingOwner {
    RingOwner {
        run: RunId::parse(RUN).expect("a token"),
        holder: Holder {
            agent: AgentId::parse("agent-1").expect("a token"),
            boot_id: BootId::parse("boot").expect("a token"),
        },
        core,
    }
}

fn plan(rps: u64, users: Option<u32>) -> Plan {
    let rate = rps * 1_000_000;
    let step = |path: &str| serde_json::json!({"name": path, "method": "GET", "path": path});
    let plan = serde_json::json!({
        "schema": "loadpilot.plan/1", "scenario": "S", "target": "http://127.0.0.1:1",
        "profile": {"shape": "constant", "pieces": [
            {"duration_us": 1_000_000, "from": rate, "to": rate}
        ]},
        "users": users,
        "tasks": [{"name": "a", "weight": 1, "steps": [step("/1"), step("/2")]}],
        "warm_up_us": 0, "timeout_us": 1_000_000, "max_wait_us": 1_000_000,
        "max_lateness_us": 1_000_000, "tick_us": 1_000_000,
    });
    serde_json::from_value(plan).expect("a plan")
}

fn place(folder: &TempDir, bytes_max: u64) -> RingSettings {
    RingSettings {
        folder: folder.path().join("state"),
        bytes_max,
    }
}

fn folder() -> TempDir {
    TempDir::new().expect("a folder")
}

fn begun(n: u64, epoch: u32) -> CallRecord {
    CallRecord {
        arrival: ArrivalId::Planned(n),
        epoch,
        tick: 0,
        generation: 1,
        call: 0,
        due_us: n,
        dispatched_us: n + 1,
        schedule_lag_us: Some(1),
        ended: None,
    }
}

fn end_of(n: u64) -> CallEnd {
    CallEnd {
        tick: 0,
        generation: 1,
        call: 0,
        outcome: Outcome::Ok,
        response_us: n % 90 + 10,
        service_us: n % 90 + 9,
        status: Some(200),
        cause: None,
        sent_bytes: 3,
        received_bytes: 4,
        phases: Phases {
            schedule_lag_us: Some(1),
            connection: Some(ConnectionUse::Reused),
            ..Phases::default()
        },
    }
}

/// What a core may do.
#[derive(Debug, Clone, Copy)]
enum Step {
    Begin(u32),
    End(u32),
    EndEpoch,
    /// Closes the oldest epoch that is not closed.
    Close,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        8 => (0_u32..8).prop_map(Step::Begin),
        8 => (0_u32..8).prop_map(Step::End),
        2 => Just(Step::EndEpoch),
        2 => Just(Step::Close),
    ];
    prop::collection::vec(step, 0..400)
}

/// All that the ring should hold.
#[derive(Default)]
struct Model {
    n: u64,
    in_flight: BTreeMap<u32, CallRecord>,
    /// By the epoch of their end.
    finished: BTreeMap<u32, Vec<CallRecord>>,
    marks: BTreeMap<u32, Watermark>,
    closed_epoch: u32,
}

impl Model {
    fn step(&mut self, ring: &mut Ring, step: Step) {
        match step {
            Step::Begin(seat) => {
                if !self.in_flight.contains_key(&seat) {
                    let record = begun(self.n, ring.epoch);
                    self.n += 1;
                    ring.begin(seat, &record);
                    self.in_flight.insert(seat, record);
                }
            }
            Step::End(seat) => {
                if let Some(begun) = self.in_flight.remove(&seat) {
                    let ArrivalId::Planned(n) = begun.arrival else {
                        panic!("only planned ones are begun");
                    };
                    let record = begun.with_end(&end_of(n));
                    ring.end(seat, &record);
                    self.finished.entry(ring.epoch).or_default().push(record);
                }
            }
            Step::EndEpoch => {
                let epoch = ring.epoch;
                let mark = ring.end_epoch().mark.expect("a ring has marks");
                self.marks.insert(epoch, mark);
            }
            Step::Close => {
                if let Some((epoch, mark)) = self.marks.pop_first() {
                    ring.close(mark);
                    self.closed_epoch = epoch;
                    self.finished.retain(|ended, _| *ended > epoch);
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Broken if a call were lost, given twice, or given although its delta was closed, at whatever
    /// moment the process dies.
    #[test]
    fn at_any_moment_the_file_holds_what_is_open(steps in steps()) {
        let folder = folder();
        let place = place(&folder, RING_BYTES_DEFAULT);
        let mut ring = Ring::create(&place, &owner(0), &plan(100, None), 8).expect("room");
        let path = ring.path().to_owned();
        let mut model = Model::default();
        for (count, step) in steps.into_iter().enumerate() {
            model.step(&mut ring, step);
            if count % 16 > 0 {
                continue;
            }
            let bytes = fs::read(&path).expect("the file");
            let left = read(&bytes, Watermark::default()).expect("a ring");
            let finished: Vec<CallRecord> = model.finished.values().flatten().copied().collect();
            prop_assert_eq!(left.finished, finished);
            let in_flight: Vec<CallRecord> = model.in_flight.values().copied().collect();
            prop_assert_eq!(left.in_flight, in_flight);
            prop_assert_eq!((left.closed.turn, left.unrecorded), (model.closed_epoch, 0));
            prop_assert_eq!(left.owner, owner(0));
        }
    }

    /// Broken if a damaged file could end its reader.
    #[test]
    fn any_bytes_are_read_or_refused(
        at in prop::collection::vec((0_usize..HEADER_AND_SOME, any::<u8>()), 0..20),
        len in 0_usize..HEADER_AND_SOME * 2,
    ) {
        let layout = Layout {
            seats: 4,
            half: 4,
            texts: 100,
        };
        let mut bytes = vec![0; layout.bytes()];
        bytes[..layout::HEADER_BYTES].copy_from_slice(&layout.header(&owner(0)));
        for (at, value) in at {
            let at = at % bytes.len();
            bytes[at] = value;
        }
        bytes.truncate(len);
        let _ = read(&bytes, Watermark::default());
    }
}

const HEADER_AND_SOME: usize = layout::HEADER_BYTES + 600;

/// Broken if a torn end hid that the call was in flight, or a kill between end and clearing showed
/// it twice.
#[test]
fn a_kill_inside_an_end_is_told_apart() {
    let folder = folder();
    let place = place(&folder, RING_BYTES_DEFAULT);
    let mut ring = Ring::create(&place, &owner(0), &plan(100, None), 8).expect("room");
    for n in 0..3 {
        ring.begin(u32::try_from(n).expect("few"), &begun(n, 1));
    }
    let seats = fs::read(ring.path()).expect("the file");
    ring.end(1, &begun(1, 1).with_end(&end_of(1)));
    let ended = fs::read(ring.path()).expect("the file");
    let at = ring.layout.finished_at(0, 0).expect("a place");

    let mut torn = seats.clone();
    torn[at + 4..at + 40].copy_from_slice(&ended[at + 4..at + 40]);
    let left = read(&torn, Watermark::default()).expect("a ring");
    assert_eq!((left.finished.len(), left.in_flight.len()), (0, 3));

    let mut both = seats;
    both[at..at + RECORD_BYTES].copy_from_slice(&ended[at..at + RECORD_BYTES]);
    let last = layout::ENDED_AT..layout::ENDED_AT + 8;
    both[last.clone()].copy_from_slice(&ended[last]);
    let left = read(&both, Watermark::default()).expect("a ring");
    assert_eq!((left.finished.len(), left.in_flight.len()), (1, 2));
    assert_eq!(read(&ended, Watermark::default()).expect("a ring"), left);
}

/// Broken if a full ring lost calls uncounted, or wrote beyond its room.
#[test]
fn what_finds_no_room_is_counted() {
    let folder = folder();
    let place = place(&folder, 64 << 10);
    let mut ring = Ring::create(&place, &owner(0), &plan(100_000, None), 1_000_000).expect("room");
    let half = u64::from(ring.layout.half);
    assert!(ring.layout.bytes() <= 64 << 10);
    for n in 0..half + 7 {
        ring.begin(0, &begun(n, 1));
        ring.end(0, &begun(n, 1).with_end(&end_of(n)));
    }
    ring.begin(ring.layout.seats, &begun(half + 8, 1));
    let left = read(
        &fs::read(ring.path()).expect("the file"),
        Watermark::default(),
    )
    .expect("a ring");
    assert_eq!(left.finished.len() as u64, half);
    assert_eq!((left.unrecorded, left.seatless), (7, 1));
    let ended = ring.end_epoch();
    assert_eq!(ended.unrecorded, 7);
    assert_eq!(ring.end_epoch().unrecorded, 0, "reported once");
    ring.close(ended.mark.expect("a ring has marks"));
    let left = read(
        &fs::read(ring.path()).expect("the file"),
        Watermark::default(),
    )
    .expect("a ring");
    assert_eq!((left.finished.len(), left.unrecorded), (0, 7));
}

/// Broken if a low rate walked through the whole file: each page that it touched would stay in
/// memory.
#[test]
fn closed_room_is_used_again_from_the_start() {
    let folder = folder();
    let place = place(&folder, RING_BYTES_DEFAULT);
    let mut ring = Ring::create(&place, &owner(0), &plan(10_000, None), 8).expect("room");
    let mut n = 0;
    for _ in 0..2_000 {
        for _ in 0..10 {
            ring.begin(0, &begun(n, ring.epoch));
            ring.end(0, &begun(n, ring.epoch).with_end(&end_of(n)));
            n += 1;
        }
        let mark = ring.end_epoch().mark.expect("a ring has marks");
        ring.close(mark);
    }
    let bytes = fs::read(ring.path()).expect("the file");
    let used = bytes
        .chunks(4_096)
        .filter(|page| page.iter().any(|byte| *byte > 0));
    assert!(used.count() <= 4, "header, seats, and one of each half");
}

/// Broken if a disk without room showed in the middle of a run, or left half a file; or if a ring
/// was made over another one.
#[test]
fn a_ring_that_cannot_be_made_is_an_error_and_no_file() {
    let folder = folder();
    let place = place(&folder, RING_BYTES_DEFAULT);
    // More than any file system keeps in a file: refused before anything is set aside.
    let refused = Map::create(&place.folder.join("huge"), 1 << 62);
    assert!(refused.is_err());
    assert_eq!(fs::read_dir(&place.folder).expect("the folder").count(), 0);
    let first = Ring::create(&place, &owner(0), &plan(10, None), 8).expect("room");
    let again = Ring::create(&place, &owner(0), &plan(10, None), 8);
    let error = again.expect_err("it is there");
    assert_eq!(error.kind(), std::io::ErrorKind::AlreadyExists);
    assert!(first.path().exists(), "the first one stays");
    let blocks = fs::metadata(first.path()).expect("the file").blocks();
    assert!(
        blocks * 512 >= first.layout.bytes() as u64,
        "all of it is set aside"
    );
}

fn leftover(ring: &Ring, closed: Watermark) -> RingContents {
    read(&fs::read(ring.path()).expect("the file"), closed).expect("a ring")
}

/// Broken if a kill between the spool's books and the ring's own mark had calls counted twice.
#[test]
fn the_books_are_believed_before_the_ring() {
    let folder = folder();
    let place = place(&folder, RING_BYTES_DEFAULT);
    let mut ring = Ring::create(&place, &owner(0), &plan(100, None), 8).expect("room");
    for n in 0..3 {
        ring.begin(0, &begun(n, 1));
        ring.end(0, &begun(n, 1).with_end(&end_of(n)));
    }
    let mark = ring.end_epoch().mark.expect("a ring has marks");
    ring.begin(0, &begun(3, 2));
    ring.end(0, &begun(3, 2).with_end(&end_of(3)));
    assert_eq!(leftover(&ring, Watermark::default()).finished.len(), 4);
    let left = leftover(&ring, mark);
    assert_eq!((left.finished.len(), left.closed.turn), (1, 1));
    ring.close(mark);
    assert_eq!(
        leftover(&ring, Watermark::default()).finished,
        left.finished
    );
}

/// Broken if a call with its answer, which waited for its check only, were called in flight; or
/// were there twice in the end.
#[test]
fn a_call_that_is_held_is_finished() {
    let folder = folder();
    let place = place(&folder, RING_BYTES_DEFAULT);
    let mut ring = Ring::create(&place, &owner(0), &plan(100, None), 8).expect("room");
    ring.begin(2, &begun(5, 1));
    ring.hold(2, &begun(5, 1).with_end(&end_of(5)));
    let held = leftover(&ring, Watermark::default());
    assert_eq!((held.finished.len(), held.in_flight.len()), (1, 0));
    ring.end(2, &begun(5, 1).with_end(&end_of(5)));
    assert_eq!(
        leftover(&ring, Watermark::default()).finished,
        held.finished
    );
}

/// Broken if an event came back from the ring as something else, or without its text.
#[test]
fn notes_come_back_with_their_words() {
    use loadpilot_events::log::metrics::{MetricValue, Millionths, Rounded};
    use loadpilot_events::log::outcome::DropReason;
    use loadpilot_events::plan::script::{CallName, RaisedBy};

    let folder = folder();
    let place = place(&folder, RING_BYTES_DEFAULT);
    let mut plan = plan(100, None);
    let code = serde_json::from_str(include_str!(
        "../../../../../../proto/golden/plan-code.v1.json"
    ));
    plan.code = code.map(|plan: Plan| plan.code).expect("a plan with code");
    let ring = Ring::create(&place, &owner(0), &plan, 8).expect("room");
    let path = ring.path().to_owned();
    let writer = Recorder::new(Some(ring), true);
    let key = loadpilot_engine::tally::RowKey {
        tick: 7,
        generation: 2,
        task: 3,
    };
    let values = [
        MetricValue::Counter(Millionths::of(2.5).expect("an amount")),
        MetricValue::Trend(Rounded::of(-0.123_4).expect("a value")),
        MetricValue::Rate(true),
    ];
    writer.started(key);
    writer.dropped(key, DropReason::NoUser);
    writer.check(key, true);
    values
        .iter()
        .for_each(|value| writer.metric(key, &"cart".into(), *value));
    writer.raised(key, RaisedBy::Task, "KeyError: 'a' (shop.py:3)");
    writer.raised(key, RaisedBy::Task, "KeyError: 'a' (shop.py:3)");
    writer.task_error(key);
    for last in LastCall::ALL {
        writer.task_raised(key, last);
    }
    writer.session(key, false);
    writer.session(key, true);
    let name = CallName {
        call: 9,
        task: 3,
        name: "GET /ä".to_owned(),
    };
    writer.name(&name);
    writer.name(&name);
    let left = read(&fs::read(path).expect("the file"), Watermark::default()).expect("a ring");
    let kinds: Vec<RingEventKind> = left.events.iter().map(|event| event.kind).collect();
    let metric = |value| RingEventKind::Metric { text: 0, value };
    let expected = [
        RingEventKind::Started,
        RingEventKind::Dropped(DropReason::NoUser),
        RingEventKind::Check { passed: true },
        metric(values[0]),
        metric(values[1]),
        metric(values[2]),
        RingEventKind::Raised { text: 1 },
        RingEventKind::Raised { text: 1 },
        RingEventKind::TaskError,
        RingEventKind::TaskRaised(LastCall::Ok),
        RingEventKind::TaskRaised(LastCall::Failed),
        RingEventKind::TaskRaised(LastCall::Absent),
        RingEventKind::Session { follows: false },
        RingEventKind::Session { follows: true },
    ];
    assert_eq!(kinds, expected);
    assert!(left.events.iter().all(|event| event.key == key));
    assert_eq!(left.texts.calls, BTreeMap::from([(9, name)]));
    assert_eq!(left.texts.metrics.get(&0).map(|name| &**name), Some("cart"));
    let raised = (3, RaisedBy::Task, "KeyError: 'a' (shop.py:3)".to_owned());
    assert_eq!(left.texts.raised, BTreeMap::from([(1, raised)]));
    assert_eq!(left.unrecorded, 0);
}
