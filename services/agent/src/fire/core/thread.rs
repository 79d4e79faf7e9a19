//! The thread of one core, and the handle that the shell holds.
//!
//! Commands go over a channel without bound and are never waited for. Must never block the caller.

use std::rc::Rc;
use std::sync::Arc;
use std::{io, thread};

use loadpilot_engine::schedule::rate_change::RateChange;
use loadpilot_engine::schedule::workload::Workload;
use loadpilot_engine::tally::crash_recovery::Watermark;
use loadpilot_events::Timestamp;
use loadpilot_events::id::RunId;
use loadpilot_events::log::outcome::DropReason;
use loadpilot_events::plan::Plan;
use tokio::runtime::{Builder, LocalOptions, LocalRuntime};
use tokio::sync::{mpsc, oneshot, watch};

use crate::fire::arrival::arrival_runner::Calls;
use crate::fire::arrival::users::virtual_users::Troupe;
use crate::fire::clock::MonoTime;
use crate::fire::fault::Fault;
use crate::fire::http::connect::preconnect::Warmed;
use crate::fire::http::protocol::Engine;

use crate::fire::arrival::closed_loop::Roster;
use crate::fire::arrival::pacer::{Command, Harvest, Pacer, Source};
use crate::fire::arrival::schedule_cursor::{CoreHold, Lanes};
use crate::fire::arrival::slots::{Rules, Slots};
use crate::fire::clock::lease::Lease;
use crate::fire::clock::timer::{Timer, sharpen_thread};
use crate::fire::http::connect::connection_quota::Pool;
use crate::fire::http::wire::Wire as _;
use crate::fire::journal::ring::{Recorder, Ring};
use crate::fire::request::program::Program;
use crate::users::script::Scripting;

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
    /// Its place among the threads of the run, and how many these are.
    pub place: (u32, u32),
    /// Where the calls of the open tick are noted, if anywhere.
    pub ring: Option<Ring>,
    /// Who performs its arrivals, when the scenario runs in Python.
    pub troupe: Option<Troupe>,
    /// Until when anything may be started.
    pub lease: Lease,
}

/// Handle to one core. Dropping it ends the thread and whatever it has in flight.
#[derive(Debug)]
pub struct Core {
    commands: mpsc::UnboundedSender<Command>,
    idle: watch::Receiver<bool>,
    warmed: watch::Receiver<Option<Warmed>>,
    staffed: watch::Receiver<Option<Result<(), String>>>,
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
        let (staffed_set, staffed) = watch::channel(None);
        let (ready, began) = std::sync::mpsc::channel();
        let named = thread::Builder::new().name(setup.name.clone());
        named
            .spawn(move || {
                let scripting = setup.troupe.as_ref();
                let scripting = scripting.map(|troupe| Arc::clone(&troupe.scripting));
                let work = || match prepare(scripting.as_ref()) {
                    Ok((runtime, timer)) => {
                        drop(ready.send(Ok(())));
                        let signals = Signals {
                            idle: idle_set,
                            warmed: warmed_set,
                            staffed: staffed_set,
                        };
                        fire(setup, &runtime, timer, signals, orders);
                        // A name server that does not answer must not hold up the end.
                        runtime.shutdown_background();
                    }
                    Err(error) => drop(ready.send(Err(error))),
                };
                match &scripting {
                    Some(scripting) => scripting.inside(Box::new(work)),
                    None => work(),
                }
            })
            .map_err(Fault::Thread)?;
        let gone = || io::Error::other("the thread ended at once");
        let result = began.recv().unwrap_or_else(|_| Err(gone()));
        result.map_err(Fault::Thread)?;
        Ok(Self {
            commands,
            idle,
            warmed,
            staffed,
        })
    }

    /// Replaces what this core holds. Arrivals of a stretch that has begun are caught up, and
    /// dropped as late where they are; what was sent before is never sent again.
    /// `rates` is every change of the rate that is known.
    pub fn hold(&self, holds: Vec<CoreHold>, rates: Arc<[RateChange]>) {
        self.tell(Command::Hold(holds, rates));
    }

    /// While `paused` nothing new is started: what waits, and what is due meanwhile, is dropped;
    /// arrivals in flight go on to their end.
    pub fn pause(&self, paused: bool) {
        self.tell(Command::Pause(paused));
    }

    /// Sets the instant of due 0; it may have passed. `shown` is what the coordinator's clock shows
    /// then.
    pub fn start(&self, start_at: MonoTime, shown: Timestamp) {
        self.tell(Command::Start(start_at, shown));
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
    pub fn close(&self, mark: Watermark) {
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

    /// Whether its users are prepared, once that is known; says why not, as far as it knows.
    ///
    /// # Errors
    /// What the scenario raised, or that the thread has died.
    pub async fn staffed(&self) -> Result<(), String> {
        let mut staffed = self.staffed.clone();
        let known = staffed.wait_for(Option::is_some).await;
        let known = known.ok().and_then(|staffed| staffed.clone());
        known.unwrap_or_else(|| Err("the thread of the scenario has ended".to_owned()))
    }

    /// Lets its users clean up; returns when they have, or the thread has died.
    pub async fn retire(&self) {
        let (done, wait) = oneshot::channel();
        self.tell(Command::Retire(done));
        drop(wait.await);
    }

    fn tell(&self, command: Command) {
        // A dead thread hears nothing; the next harvest tells the shell.
        drop(self.commands.send(command));
    }
}

/// The runtime of a thread, which has its interpreter whenever it does not wait.
pub(crate) fn runtime(scripting: Option<&Arc<dyn Scripting>>) -> io::Result<LocalRuntime> {
    let mut builder = Builder::new_current_thread();
    builder.enable_all().max_blocking_threads(BLOCKING_THREADS);
    if let Some(scripting) = scripting {
        let (before, after) = (Arc::clone(scripting), Arc::clone(scripting));
        builder.on_thread_park(move || before.park());
        builder.on_thread_unpark(move || after.unpark());
    }
    builder.build_local(LocalOptions::default())
}

fn prepare(scripting: Option<&Arc<dyn Scripting>>) -> io::Result<(LocalRuntime, Timer)> {
    sharpen_thread()?;
    let runtime = runtime(scripting)?;
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
    staffed: watch::Sender<Option<Result<(), String>>>,
}

fn fire(
    setup: CoreSetup,
    runtime: &LocalRuntime,
    timer: Timer,
    signals: Signals,
    commands: mpsc::UnboundedReceiver<Command>,
) {
    let troupe = setup.troupe;
    // A user is its own slot: it never has two arrivals at a time.
    let users = troupe.as_ref().map(|troupe| troupe.users.len());
    let slots = match setup.workload.users() {
        Some(users) => users as usize,
        None => users
            .unwrap_or(usize::MAX)
            .min(setup.max_in_flight as usize),
    };
    let rules = Rules {
        max_in_flight: slots,
        max_wait_us: setup.plan.max_wait_us,
        max_lateness_us: setup.plan.max_lateness_us,
        lacking: match users {
            Some(_) => DropReason::NoUser,
            None => DropReason::NoSlot,
        },
    };
    let wire = Engine::new(Arc::clone(&setup.program), setup.pool);
    let workload = Arc::clone(&setup.workload);
    let recorder = Recorder::new(setup.ring, troupe.is_some());
    let (run, program) = (setup.run, setup.program);
    let calls = Calls::new(
        run,
        workload,
        program,
        wire,
        recorder,
        (setup.place, setup.lease),
    );
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
            if let Some(troupe) = troupe {
                let staffed = slots.staff(&troupe).await;
                signals.staffed.send_replace(Some(staffed));
            }
        });
        pacer.run(commands).await
    });
    if let Err(error) = ended {
        tracing::error!(%error, "a load thread lost its timer");
    }
}
