//! The thread of one core, and the handle that the agent holds.
//!
//! Commands go over an unbounded channel and are never awaited: the handle must never block its
//! caller.

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

use crate::fire::arrival::arrival_runner::ArrivalRunner;
use crate::fire::arrival::users::hooks::Retired;
use crate::fire::arrival::users::virtual_users::VirtualUsersSetup;
use crate::fire::clock::MonoTime;
use crate::fire::fault::Fault;
use crate::fire::http::connect::preconnect::Preconnected;
use crate::fire::http::protocol::Engine;

use crate::fire::arrival::closed_loop::ClosedLoop;
use crate::fire::arrival::pacer::{Command, Harvest, Pacer, Source};
use crate::fire::arrival::schedule_cursor::{CoreHold, ScheduleCursor};
use crate::fire::arrival::slots::{SlotLimits, Slots};
use crate::fire::clock::lease::Lease;
use crate::fire::clock::timer::{Timer, sharpen_thread};
use crate::fire::http::connect::connection_quota::ConnectionQuota;
use crate::fire::http::wire::Wire as _;
use crate::fire::journal::ring::Ring;
use crate::fire::journal::ring::writer::Recorder;
use crate::fire::request::program::Program;
use crate::users::script::Scripting;

/// Number of blocking threads of a core's runtime: for names, socket paths and freed memory.
const BLOCKING_THREADS: usize = 1;

/// The inputs of a core.
#[derive(Debug)]
pub struct CoreSetup {
    /// The run, for the id header.
    pub run: RunId,
    /// The plan: time-outs and limits.
    pub plan: Arc<Plan>,
    /// Its arrivals.
    pub workload: Arc<Workload>,
    /// Its requests.
    pub program: Arc<Program>,
    /// Maximum number of arrivals in flight on this core; with 0 all of its arrivals are dropped.
    pub max_in_flight: u32,
    /// Its connections.
    pub quota: ConnectionQuota,
    /// Name of the thread.
    pub name: String,
    /// Index among the threads of the run, and their number.
    pub place: (u32, u32),
    /// The ring for the calls of the open tick, if there is one.
    pub ring: Option<Ring>,
    /// The users that perform its arrivals, when the scenario runs in Python.
    pub users_setup: Option<VirtualUsersSetup>,
    /// Until when anything may be started.
    pub lease: Lease,
}

/// Handle to one core. Dropping it ends the thread and everything that it has in flight.
#[derive(Debug)]
pub struct Core {
    commands: mpsc::UnboundedSender<Command>,
    idle: watch::Receiver<bool>,
    preconnected: watch::Receiver<Option<Preconnected>>,
    users_prepared: watch::Receiver<Option<Result<(), String>>>,
}

impl Core {
    /// Starts the thread; nothing is sent before [`Core::hold`] and [`Core::start`].
    ///
    /// # Errors
    /// [`Fault::Thread`] when the system gives no thread, reactor or timer.
    pub fn spawn(setup: CoreSetup) -> Result<Self, Fault> {
        let (commands, commands_in) = mpsc::unbounded_channel();
        let (idle_set, idle) = watch::channel(false);
        let (preconnected_set, preconnected) = watch::channel(None);
        let (users_prepared_set, users_prepared) = watch::channel(None);
        let (ready, began) = std::sync::mpsc::channel();
        let named = thread::Builder::new().name(setup.name.clone());
        named
            .spawn(move || {
                let scripting = setup.users_setup.as_ref();
                let scripting = scripting.map(|users_setup| Arc::clone(&users_setup.scripting));
                let work = || match prepare(scripting.as_ref()) {
                    Ok((runtime, timer)) => {
                        drop(ready.send(Ok(())));
                        let signals = Signals {
                            idle: idle_set,
                            preconnected: preconnected_set,
                            users_prepared: users_prepared_set,
                        };
                        fire(setup, &runtime, timer, signals, commands_in);
                        // A name server that does not answer must not delay the end.
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
            preconnected,
            users_prepared,
        })
    }

    /// Replaces the holds of this core. Arrivals of a range that has begun already are caught up;
    /// those that are too late are dropped as late. Nothing is sent twice. `rates` contains every
    /// known change of the rate.
    pub fn hold(&self, holds: Vec<CoreHold>, rates: Arc<[RateChange]>) {
        self.tell(Command::Hold(holds, rates));
    }

    /// While `paused` nothing new is started: arrivals that wait, and those that become due
    /// meanwhile, are dropped. Arrivals in flight continue to their end.
    pub fn pause(&self, paused: bool) {
        self.tell(Command::Pause(paused));
    }

    /// Sets the instant of due 0; it may have passed. `coordinator_time` is the coordinator's clock
    /// at that instant.
    pub fn start(&self, start_at: MonoTime, coordinator_time: Timestamp) {
        self.tell(Command::Start(start_at, coordinator_time));
    }

    /// Ends all dispatching, even of the next call of a task. Arrivals that wait, and those due by
    /// now, are dropped for `reason`; later arrivals are not counted at all. Calls in flight
    /// continue. The first stop counts.
    pub fn stop(&self, reason: DropReason) {
        self.tell(Command::Stop(reason));
    }

    /// Stops, and ends calls in flight as cancelled at once.
    pub fn cancel(&self) {
        self.tell(Command::Cancel);
    }

    /// Counts since the last harvest. `None` when the thread has died, by a bug or for lack of
    /// memory: its counts since the last harvest are lost.
    pub async fn harvest(&self) -> Option<Harvest> {
        let (reply, harvest) = oneshot::channel();
        self.tell(Command::Harvest(reply));
        harvest.await.ok()
    }

    /// The records up to `mark` are in a delta: the ring may reuse their space.
    pub fn close(&self, mark: Watermark) {
        self.tell(Command::Close(mark));
    }

    /// Resolves when pacing is over, by the end of the profile or by a stop, and nothing is in
    /// flight or waiting. Also resolves when the thread has died; the next harvest reports that.
    pub async fn idle(&self) {
        // An error means that the thread is gone.
        drop(self.idle.clone().wait_for(|idle| *idle).await);
    }

    /// Result of opening connections before the start, once known; `None` when the thread has died.
    pub async fn preconnected(&self) -> Option<Preconnected> {
        let mut preconnected = self.preconnected.clone();
        let known = preconnected.wait_for(Option::is_some).await;
        known.ok().and_then(|preconnected| *preconnected)
    }

    /// Waits until its users are prepared.
    ///
    /// # Errors
    /// The error that the scenario raised, or that the thread has died.
    pub async fn users_prepared(&self) -> Result<(), String> {
        let mut users_prepared = self.users_prepared.clone();
        let known = users_prepared.wait_for(Option::is_some).await;
        let known = known.ok().and_then(|users_prepared| users_prepared.clone());
        known.unwrap_or_else(|| Err("the thread of the scenario has ended".to_owned()))
    }

    /// Lets its users clean up; returns when they have, or the thread has died.
    pub async fn retire(&self) -> Retired {
        let (done, wait) = oneshot::channel();
        self.tell(Command::Retire(done));
        wait.await.unwrap_or_default()
    }

    fn tell(&self, command: Command) {
        // A dead thread ignores it; the next harvest reports that.
        drop(self.commands.send(command));
    }
}

/// The runtime of a thread, which has entered its interpreter except while it waits.
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

/// Signals of a thread to its handle.
struct Signals {
    idle: watch::Sender<bool>,
    preconnected: watch::Sender<Option<Preconnected>>,
    users_prepared: watch::Sender<Option<Result<(), String>>>,
}

fn fire(
    setup: CoreSetup,
    runtime: &LocalRuntime,
    timer: Timer,
    signals: Signals,
    commands: mpsc::UnboundedReceiver<Command>,
) {
    let users_setup = setup.users_setup;
    // A user is its own slot: it never performs two arrivals at the same time.
    let users = users_setup
        .as_ref()
        .map(|users_setup| users_setup.users.len());
    let slots = match setup.workload.users() {
        Some(users) => users as usize,
        None => users
            .unwrap_or(usize::MAX)
            .min(setup.max_in_flight as usize),
    };
    let limits = SlotLimits {
        max_in_flight: slots,
        max_wait_us: setup.plan.max_wait_us,
        max_lateness_us: setup.plan.max_lateness_us,
        no_slot_reason: match users {
            Some(_) => DropReason::NoUser,
            None => DropReason::NoSlot,
        },
    };
    let wire = Engine::new(Arc::clone(&setup.program), setup.quota);
    let workload = Arc::clone(&setup.workload);
    let recorder = Recorder::new(setup.ring, users_setup.is_some());
    let (run, program) = (setup.run, setup.program);
    let runner = ArrivalRunner::new(
        run,
        workload,
        program,
        wire,
        recorder,
        (setup.place, setup.lease),
    );
    let closed_loop = ClosedLoop::new(Arc::clone(&setup.workload)).map(Rc::new);
    let source = match &closed_loop {
        Some(closed_loop) => Source::Users(Rc::clone(closed_loop)),
        None => Source::Schedule(ScheduleCursor::new(Arc::clone(&setup.workload))),
    };
    let slots = Rc::new(Slots::new(runner, limits, closed_loop, signals.idle));
    let pacer = Pacer::new(Rc::clone(&slots), source, timer);
    let ended = runtime.block_on(async move {
        tokio::task::spawn_local(async move {
            let preconnected = slots.wire().preconnect().await;
            signals.preconnected.send_replace(Some(preconnected));
            if let Some(users_setup) = users_setup {
                let users_prepared = slots.prepare_users(&users_setup).await;
                signals.users_prepared.send_replace(Some(users_prepared));
            }
        });
        pacer.run(commands).await
    });
    if let Err(error) = ended {
        tracing::error!(%error, "a load thread lost its timer");
    }
}
