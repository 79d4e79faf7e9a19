//! A firing process is killed, and its files are compared with what the target saw: every request
//! is in a closed delta, in the ring as finished, or in the ring as in flight.
//!
//! The killed process is this test program, started again with environment variables that say so.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use loadpilot_agent::fire::{
    ArrivalId, CallRecord, RING_BYTES_DEFAULT, Ring, RingContents, RingOwner,
};
use loadpilot_agent::fire::{RingSettings, read_ring};
use loadpilot_engine::tally::Ledger;
use loadpilot_engine::tally::crash_recovery::Watermark;
use loadpilot_events::id::{AgentId, BootId, Holder, RunId};
use loadpilot_events::log::delta::Gauges;
use loadpilot_events::{Outcome, Plan};
use tempfile::TempDir;

use crate::support::cores::{Cores, RUN, plan, step, task};
use crate::support::target::{Act, Gate, MARKER, Target};

/// Environment variables with the target and the folder of the process that is killed.
const TARGET: &str = "LP_TEST_TARGET";
const FOLDER: &str = "LP_TEST_FOLDER";
const CORES: u32 = 2;
const RPS: u64 = 400;
const CLOSE_EVERY: Duration = Duration::from_millis(70);

/// Every tenth arrival is never answered.
fn is_held(n: u64) -> bool {
    n % 10 == 3
}

fn the_plan(target: String) -> Plan {
    let steps = vec![step("/first"), step("/second")];
    plan(target, RPS, 60_000, vec![task("pair", 1, steps)])
}

fn ring(folder: &Path, plan: &Plan, core: u32) -> Ring {
    let place = RingSettings {
        folder: folder.to_owned(),
        bytes_max: RING_BYTES_DEFAULT,
    };
    let owner = RingOwner {
        run: RunId::parse(RUN).expect("a token"),
        holder: Holder {
            agent: AgentId::parse("agent-1").expect("a token"),
            boot_id: BootId::parse("boot").expect("a token"),
        },
        core,
    };
    Ring::create(&place, &owner, plan, 2_000).expect("room")
}

/// Not a test of its own: the process that is killed. Each line of its file is a delta: for each
/// core the number of the harvest, and how many calls the core closed in it.
#[tokio::test]
async fn the_one_that_dies() {
    let Ok(target) = std::env::var(TARGET) else {
        return;
    };
    let folder = PathBuf::from(std::env::var(FOLDER).expect("beside the target"));
    let mut deltas = File::create(folder.join("deltas")).expect("a file");
    let rings = |plan: &Plan, core| Some(ring(&folder, plan, core));
    let secrets = BTreeMap::new();
    let cores = Cores::with_rings(the_plan(target), &secrets, CORES, 2_000, rings);
    let cores = cores.start();
    let boot = || BootId::parse("boot").expect("a token");
    let mut ledgers: Vec<Ledger> = (0..CORES).map(|_| Ledger::new(boot())).collect();
    loop {
        tokio::time::sleep(CLOSE_EVERY).await;
        for (number, core) in cores.cores.iter().enumerate() {
            let harvest = core.harvest().await.expect("a living core");
            let ledger = &mut ledgers[number];
            let before = ledger.totals().calls_total();
            drop(ledger.close(harvest.rows, 0, 0, Gauges::default()));
            let calls = ledger.totals().calls_total() - before;
            writeln!(deltas, "{number} {calls}").expect("room");
            core.close(harvest.mark.expect("a ring"));
        }
    }
}

fn start_the_one_that_dies(target: &Target, folder: &Path) -> Child {
    Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "journal::kill::the_one_that_dies", "--nocapture"])
        .env(TARGET, target.url())
        .env(FOLDER, folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("another one of this program")
}

/// The number of calls that each core had closed into deltas, harvest by harvest.
fn closed_calls(folder: &Path) -> Vec<Vec<u64>> {
    let text = fs::read_to_string(folder.join("deltas")).expect("it closed deltas");
    let mut cores = vec![Vec::new(); CORES as usize];
    // A line that the kill cut off was not closed.
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    for line in whole.lines() {
        let (core, calls) = line.split_once(' ').expect("two numbers");
        let core: usize = core.parse().expect("a number");
        cores[core].push(calls.parse().expect("a number"));
    }
    cores
}

fn id(record: &CallRecord) -> (u64, usize) {
    match record.arrival {
        ArrivalId::Planned(n) => (n, usize::from(record.call)),
        ArrivalId::Iteration { .. } => panic!("the plan has no users"),
    }
}

/// Broken if calls of a killed process are in no delta and not in the ring, or if the ring calls
/// calls finished whose end the process never saw.
#[test]
fn after_a_kill_every_request_is_accounted_for() {
    for requests in [150, 400, 900] {
        let folder = TempDir::new().expect("a folder");
        let folder = folder.path();
        let gate = Arc::new(Gate::default());
        let closed = Arc::clone(&gate);
        let target = Target::start(move |seen| match is_held(seen.id().0) {
            true => Act::Wait(Arc::clone(&closed)),
            false => Act::Answer(200),
        });
        let mut process = start_the_one_that_dies(&target, folder);
        target.wait_for(requests);
        process.kill().expect("SIGKILL");
        process.wait().expect("it is dead");
        // The process is dead, but requests that it sent still arrive.
        let seen = settled(&target);
        let left: Vec<RingContents> = (0..CORES)
            .map(|core| {
                let name = format!("{RUN}.agent-1.boot.{core}.ring");
                let bytes = fs::read(folder.join(name)).expect("the file stays");
                read_ring(&bytes, Watermark::default()).expect("a whole ring")
            })
            .collect();
        account(&seen, &left, &closed_calls(folder));
        gate.open();
    }
}

/// The requests that the target saw, once no more come: the connections of a dead process are
/// closed, and the target reads what is still in them.
fn settled(target: &Target) -> Vec<(u64, usize)> {
    target.wait_until_read();
    let seen = target.seen();
    let ids = seen.iter().map(crate::support::target::Seen::id);
    ids.filter(|(n, _)| *n != MARKER).collect()
}

fn account(seen: &[(u64, usize)], left: &[RingContents], closed: &[Vec<u64>]) {
    let seen_once: BTreeSet<_> = seen.iter().copied().collect();
    assert_eq!(seen_once.len(), seen.len(), "nothing is sent twice");
    let closed: u64 = left
        .iter()
        .zip(closed)
        .map(|(left, turns)| turns[..left.closed.turn as usize].iter().sum::<u64>())
        .sum();
    let finished: Vec<_> = left.iter().flat_map(|left| &left.finished).collect();
    let in_flight: BTreeSet<_> = left
        .iter()
        .flat_map(|left| &left.in_flight)
        .map(id)
        .collect();
    let finished_ids: BTreeSet<_> = finished.iter().map(|record| id(record)).collect();
    assert_eq!(
        finished_ids.len(),
        finished.len(),
        "each finished call once"
    );
    assert!(finished_ids.is_disjoint(&in_flight));
    // A finished call was answered, and is not one that the target holds back.
    assert!(finished_ids.is_subset(&seen_once));
    assert!(finished_ids.iter().all(|(n, _)| !is_held(*n)));
    for record in &finished {
        let end = record.call_end().expect("finished");
        assert_eq!((end.outcome, end.status), (Outcome::Ok, Some(200)));
        assert_eq!(
            record.due_us == id(record).0 * 1_000_000 / RPS,
            id(record).1 == 0
        );
    }
    // A call that the target holds back can only be in flight.
    let held: BTreeSet<_> = seen_once
        .iter()
        .copied()
        .filter(|(n, _)| is_held(*n))
        .collect();
    assert!(held.is_subset(&in_flight), "{held:?} in {in_flight:?}");
    // Each request is in exactly one place.
    let accounted =
        closed + (finished_ids.len() + in_flight.intersection(&seen_once).count()) as u64;
    assert_eq!(
        accounted,
        seen.len() as u64,
        "{closed} closed, {} finished",
        finished.len()
    );
    // A call in flight that the target never saw was about to be sent when the process died.
    let unsent = in_flight.difference(&seen_once).count();
    assert!(
        unsent <= CORES as usize * 64,
        "{unsent} in flight were never sent"
    );
    assert!(left.iter().all(|left| left.unrecorded == 0));
}
