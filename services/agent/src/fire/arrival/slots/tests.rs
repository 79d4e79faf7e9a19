//! Seats, with a wire whose calls end when the test says so.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use loadpilot_engine::schedule::workload::Workload;
use loadpilot_engine::tally::RowKey;
use loadpilot_events::id::RunId;
use loadpilot_events::plan::Plan;
use tokio::runtime::{Builder, LocalOptions};
use tokio::sync::Semaphore;
use tokio::task::yield_now;
use tokio::time::timeout;

use super::*;
use crate::fire::clock::lease::Lease;
use crate::fire::http::connect::error_classification::ErrorClass;
use crate::fire::http::connect::preconnect::Preconnected;
use crate::fire::http::wire::Order;
use crate::fire::journal::ring::writer::Recorder;
use crate::fire::request::program::Program;
use crate::fire::request::progress::Trace;

const PLAN: &str = r#"{
    "schema": "loadpilot.plan/1", "scenario": "Seats", "target": "http://127.0.0.1:1",
    "profile": {"shape": "constant", "pieces": [{"duration_us": 1000000, "from": 1, "to": 1}]},
    "tasks": [{"name": "t", "weight": 1, "steps": [{"name": "s", "method": "GET", "path": "/"}]}],
    "warm_up_us": 0, "timeout_us": 60000000, "max_wait_us": 60000000,
    "max_lateness_us": 60000000, "tick_us": 1000000
}"#;

/// Each call takes one permit of the test's.
struct Gate(Semaphore);

impl Wire for Gate {
    async fn send(&self, _order: &Order<'_>, _trace: &mut Trace) -> Result<u16, ErrorClass> {
        self.0.acquire().await.expect("never closed").forget();
        Ok(200)
    }

    fn calls_max(&self) -> usize {
        usize::MAX
    }

    async fn preconnect(&self) -> Preconnected {
        Preconnected::default()
    }

    fn close_idle(&self, _unneeded: MonoTime) -> usize {
        0
    }
}

fn slots() -> Rc<Slots<Gate>> {
    let plan: Plan = serde_json::from_str(PLAN).expect("a plan");
    let run = RunId::parse("01run").expect("a token");
    let program = Program::compile(&plan, &run, &BTreeMap::new()).expect("a sendable plan");
    let runner = ArrivalRunner::new(
        run,
        Arc::new(Workload::new(&plan, 1)),
        Arc::new(program),
        Gate(Semaphore::new(0)),
        Recorder::new(None, false),
        ((0, 1), Lease::unlimited()),
    );
    let limits = SlotLimits {
        max_in_flight: 100,
        max_wait_us: plan.max_wait_us,
        max_lateness_us: plan.max_lateness_us,
        no_slot_reason: DropReason::NoSlot,
    };
    Rc::new(Slots::new(runner, limits, None, watch::channel(false).0))
}

impl Slots<Gate> {
    fn burst(self: &Rc<Self>, arrivals: u64) {
        let now = MonoTime::now();
        let key = RowKey {
            tick: 0,
            generation: 1,
            task: 0,
        };
        for n in 0..arrivals {
            self.reach(Arrival {
                id: ArrivalId::Planned(n),
                key,
                due: now,
                reached: now,
                session: None,
            });
        }
    }

    /// Lets `calls` calls end, and waits until `left` are left.
    async fn end(&self, calls: usize, left: usize) {
        self.wire().0.add_permits(calls);
        while self.in_flight() != left {
            yield_now().await;
        }
    }

    /// Waits until the number of tasks is `tasks`: each holds the slots, and the test does once.
    async fn wait_for_tasks(self: &Rc<Self>, tasks: usize) {
        while Rc::strong_count(self) != tasks + 1 {
            yield_now().await;
        }
    }
}

/// Broken if seats of a burst stayed for the rest of the run, if a seat were taken from under an
/// arrival, or if later arrivals had no seats.
#[test]
fn seats_that_nobody_needs_are_given_back() {
    let runtime = Builder::new_current_thread()
        .enable_all()
        .build_local(LocalOptions::default())
        .expect("a runtime");
    let story = async {
        let slots = slots();
        let before = MonoTime::now();
        slots.burst(10);
        slots.end(7, 3).await;
        assert_eq!(slots.release_idle(before), 0, "just needed");
        assert_eq!(slots.release_idle(MonoTime::now()), 7);
        slots.wait_for_tasks(3).await;
        assert_eq!(slots.in_flight(), 3);
        slots.burst(2);
        slots.wait_for_tasks(5).await;
        slots.end(5, 0).await;
        slots.release_idle(MonoTime::now());
        slots.wait_for_tasks(0).await;
        assert_eq!(slots.wire().0.available_permits(), 0, "each call ended");
        // Ten seats had to be numbered, and no more: the ring has a place for each.
        let again: Vec<_> = (0..11).map(|_| slots.runner.new_scratch().seat).collect();
        assert!(again[..10].iter().all(|seat| *seat < 10), "{again:?}");
        assert_eq!(again[10], 10);
    };
    let ended = runtime.block_on(async { timeout(Duration::from_secs(10), story).await });
    ended.expect("nothing has to be waited for");
}
