//! The thread of one core, and the handle that the shell holds.
//!
//! Commands go over a channel without bound and are never waited for. Must never block the caller.

use std::rc::Rc;
use std::sync::Arc;
use std::{io, thread};

use loadpilot_engine::workload::Workload;
use loadpilot_events::id::RunId;
use loadpilot_events::outcome::DropReason;
use loadpilot_events::plan::Plan;
use tokio::runtime::{Builder, LocalOptions, LocalRuntime};
use tokio::sync::{mpsc, oneshot, watch};

use super::ahead::Warmed;
use super::calls::Calls;
use super::clock::MonoTime;
use super::engine::Engine;
use super::fault::Fault;

use super::lanes::{CoreHold, Lanes};
use super::pacer::{Command, Harvest, Pacer, Source};
use super::pool::Pool;
use super::program::Program;
use super::ring::{Mark, Recorder, Ring};
use super::roster::Roster;
use super::slots::{Rules, Slots};
use super::timer::{Timer, sharpen_thread};
use super::wire::Wire as _;

/// Threads of a core's runtime that may block; only name resolution does.
const BLOCKING_THREADS: usize = 1;

/// What a core needs to begin.
#[derive(Debug)]
pub struct CoreSetup {
    /// For the id header.
    pub run: RunId,
    /// The plan: time-outs and limits.
    pub plan: Arc<Plan>,
    /// Its arrivals.
    pub workload: Arc<Workload>,
    /// Its requests.
    pub program: Arc<Program>,
    /// Most arrivals that this core has in flight; with 0 every arrival of it is dropped.
    pub max_in_flight: u32,
    /// Its connections.
    pub pool: Pool,
    /// The thread's name.
    pub name: String,
    /// Where the calls of the open tick are noted, if anywhere.
    pub ring: Option<Ring>,
}

/// Handle to one core. Dropping it ends the thread and whatever it has in flight.
#[derive(Debug)]
pub struct Core {
    commands: mpsc::UnboundedSender<Command>,
    idle: watch::Receiver<bool>,
    warmed: watch::Receiver<Option<Warmed>>,
}

impl Core {
    /// Starts the thread; nothing is sent before [`Core::hold`] and [`Core::start`].
    ///
    /// # Errors
    /// [`Fault::Thread`] when the system gives no thread, reactor or timer.
    pub fn spawn(setup: CoreSetup) -> Result<Self, Fault> {
        let (commands, orders) = mpsc::unbounded_channel();
        let (idle_set, idle) = watch::channel(false);
        let (warmed_set, warmed) = watch::channel(None);
        let (ready, began) = std::sync::mpsc::channel();
        let named = thread::Builder::new().name(setup.name.clone());
        named
            .spawn(move || match prepare() {
                Ok((runtime, timer)) => {
                    drop(ready.send(Ok(())));
                    let signals = Signals {
                        idle: idle_set,
                        warmed: warmed_set,
                    };
                    fire(setup, &runtime, timer, signals, orders);
                    // A name server that does not answer must not hold up the end.
                    runtime.shutdown_background();
                }
                Err(error) => drop(ready.send(Err(error))),
            })
            .map_err(Fault::Thread)?;
        let gone = || io::Error::other("the thread ended at once");
        let result = began.recv().unwrap_or_else(|_| Err(gone()));
        result.map_err(Fault::Thread)?;
        Ok(Self {
            commands,
            idle,
            warmed,
        })
    }

    /// Replaces what this core holds. Arrivals of a stretch that has begun are caught up, and
    /// dropped as late where they are; what was sent before is never sent again.
    pub fn hold(&self, holds: Vec<CoreHold>) {
        self.tell(Command::Hold(holds));
    }

    /// Sets the instant of due 0; it may have passed.
    pub fn start(&self, start_at: MonoTime) {
        self.tell(Command::Start(start_at));
    }

    /// From now on nothing is dispatched, not even the next call of a task. What waits, and what
    /// is due by now, is dropped for `reason`; later arrivals are not counted at all. Calls in
    /// flight go on. The first stop counts.
    pub fn stop(&self, reason: DropReason) {
        self.tell(Command::Stop(reason));
    }

    /// Stops, and ends calls in flight as cancelled at once.
    pub fn cancel(&self) {
        self.tell(Command::Cancel);
    }

    /// What was counted since the last harvest. `None` when the thread has died, by a bug or for
    /// lack of memory: then what it counted since the last harvest is lost.
    pub async fn harvest(&self) -> Option<Harvest> {
        let (reply, harvest) = oneshot::channel();
        self.tell(Command::Harvest(reply));
        harvest.await.ok()
    }

    /// What was harvested up to `mark` is in a delta: its room in the ring is free.
    pub fn close(&self, mark: Mark) {
        self.tell(Command::Close(mark));
    }

    /// Resolves when pacing is over, by the end of the profile or a stop, and nothing is in flight
    /// or waiting; also when the thread has died, which the next harvest tells.
    pub async fn idle(&self) {
        // An error means that the thread is gone.
        drop(self.idle.clone().wait_for(|idle| *idle).await);
    }

    /// What became of the connections to open before the start, once that is known; `None` when
    /// the thread has died.
    pub async fn warmed(&self) -> Option<Warmed> {
        let mut warmed = self.warmed.clone();
        let known = warmed.wait_for(Option::is_some).await;
        known.ok().and_then(|warmed| *warmed)
    }

    fn tell(&self, command: Command) {
        // A dead thread hears nothing; the next harvest tells the shell.
        drop(self.commands.send(command));
    }
}

fn prepare() -> io::Result<(LocalRuntime, Timer)> {
    sharpen_thread()?;
    let runtime = Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(BLOCKING_THREADS)
        .build_local(LocalOptions::default())?;
    let timer = {
        let _inside = runtime.enter();
        Timer::new()?
    };
    Ok((runtime, timer))
}

/// What a thread lets others know.
struct Signals {
    idle: watch::Sender<bool>,
    warmed: watch::Sender<Option<Warmed>>,
}

fn fire(
    setup: CoreSetup,
    runtime: &LocalRuntime,
    timer: Timer,
    signals: Signals,
    commands: mpsc::UnboundedReceiver<Command>,
) {
    let rules = Rules {
        // A user is its own slot: it never has two arrivals at a time.
        max_in_flight: setup.workload.users().unwrap_or(setup.max_in_flight) as usize,
        max_wait_us: setup.plan.max_wait_us,
        max_lateness_us: setup.plan.max_lateness_us,
    };
    let wire = Engine::new(Arc::clone(&setup.program), setup.pool);
    let workload = Arc::clone(&setup.workload);
    let recorder = Recorder::new(setup.ring);
    let calls = Calls::new(setup.run, workload, setup.program, wire, recorder);
    let roster = Roster::new(Arc::clone(&setup.workload)).map(Rc::new);
    let source = match &roster {
        Some(roster) => Source::Users(Rc::clone(roster)),
        None => Source::Schedule(Lanes::new(Arc::clone(&setup.workload))),
    };
    let slots = Rc::new(Slots::new(calls, rules, roster, signals.idle));
    let pacer = Pacer::new(Rc::clone(&slots), &setup.workload, source, timer);
    let ended = runtime.block_on(async move {
        tokio::task::spawn_local(async move {
            let warmed = slots.wire().warm().await;
            signals.warmed.send_replace(Some(warmed));
        });
        pacer.run(commands).await
    });
    if let Err(error) = ended {
        tracing::error!(%error, "a load thread lost its timer");
    }
}
