//! What a scenario does aside of its load: parts that are played once per run, and users that are
//! prepared before it and cleaned up after it, on a thread of their own.
//!
//! The calls are those of a core, but nothing paces and nothing is counted. Must never play two
//! parts at a time, and must end the one that it plays when it is called off.

use std::future::Future;
use std::sync::Arc;
use std::{io, thread};

use loadpilot_events::id::RunId;
use loadpilot_events::plan::Plan;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::timeout;

use super::thread::runtime;
use crate::fire::arrival::arrival_runner::Calls;
use crate::fire::arrival::users::FAREWELL;
use crate::fire::arrival::users::virtual_users::{Crew, Member, VirtualUsersSetup};
use crate::fire::clock::lease::Lease;
use crate::fire::fault::Fault;
use crate::fire::http::connect::connection_quota::ConnectionQuota;
use crate::fire::http::protocol::Engine;
use crate::fire::journal::ring::Recorder;
use crate::fire::request::program::Program;
use crate::users::script::NOBODY;

/// What is told to whoever waits for a part that was called off.
const CALLED_OFF: &str = "it was interrupted";

/// What is needed to play aside.
#[derive(Debug)]
pub struct HooksSetup {
    /// Which run it is for.
    pub run: RunId,
    /// Its plan: time-outs and limits.
    pub plan: Arc<Plan>,
    /// Where its requests go.
    pub program: Arc<Program>,
    /// Who plays.
    pub users_setup: VirtualUsersSetup,
}

/// How a part ended: what it raised, in words.
type Told = Result<(), String>;

/// What is asked for.
enum Ask {
    Once(u16, oneshot::Sender<Told>),
    Prepare(oneshot::Sender<Told>),
    Retire(oneshot::Sender<Told>),
}

/// Handle to the thread. Dropping it lets the thread end with the part that it plays.
#[derive(Debug)]
pub struct Hooks {
    asks: mpsc::UnboundedSender<Ask>,
    called_off: watch::Sender<bool>,
    ended: oneshot::Receiver<()>,
}

impl Hooks {
    /// Starts the thread; nothing is played before it is asked for.
    ///
    /// # Errors
    /// [`Fault::Thread`] when the system gives no thread or reactor.
    pub fn spawn(setup: HooksSetup) -> Result<Self, Fault> {
        let (asks, asked) = mpsc::unbounded_channel();
        let (called_off, calls_off) = watch::channel(false);
        let (ready, began) = std::sync::mpsc::channel();
        let named = thread::Builder::new().name("aside".to_owned());
        let (end, ended) = oneshot::channel();
        let run = move || {
            // Dropped last, when the thread is out of the interpreter.
            let _end = end;
            let scripting = Arc::clone(&setup.users_setup.scripting);
            scripting.inside(Box::new(|| match runtime(Some(&scripting)) {
                Ok(runtime) => {
                    drop(ready.send(Ok(())));
                    runtime.block_on(play(setup, asked, calls_off));
                    runtime.shutdown_background();
                }
                Err(error) => drop(ready.send(Err(error))),
            }));
        };
        named.spawn(run).map_err(Fault::Thread)?;
        let gone = || io::Error::other("the thread ended at once");
        let result = began.recv().unwrap_or_else(|_| Err(gone()));
        result.map_err(Fault::Thread)?;
        Ok(Self {
            asks,
            called_off,
            ended,
        })
    }

    /// Plays a part that happens once per run, by its place; says how it ended.
    #[must_use]
    pub fn once(&self, place: u16) -> oneshot::Receiver<Result<(), String>> {
        self.ask(|told| Ask::Once(place, told))
    }

    /// Prepares all users, some at a time; says why not all could be.
    #[must_use]
    pub fn prepare(&self) -> oneshot::Receiver<Result<(), String>> {
        self.ask(Ask::Prepare)
    }

    /// Lets the users that were prepared clean up, in bounded time; says what they raised.
    #[must_use]
    pub fn retire(&self) -> oneshot::Receiver<Result<(), String>> {
        self.ask(Ask::Retire)
    }

    /// Ends what is being played, if anything is: a part that happens once is left where it waits;
    /// while users are prepared, those that are in the middle may end, and all clean up.
    pub fn call_off(&self) {
        self.called_off.send_replace(true);
    }

    /// Ends the thread once it plays nothing more; whoever takes the interpreter down has to wait
    /// for that: the sender of what is returned is dropped then.
    #[must_use]
    pub fn close(self) -> oneshot::Receiver<()> {
        self.call_off();
        self.ended
    }

    fn ask(&self, ask: impl FnOnce(oneshot::Sender<Told>) -> Ask) -> oneshot::Receiver<Told> {
        let (told, answer) = oneshot::channel();
        self.called_off.send_replace(false);
        // A thread that has died drops the answer.
        drop(self.asks.send(ask(told)));
        answer
    }
}

/// The thread's own side.
struct Stand {
    calls: Calls<Engine>,
    users_setup: VirtualUsersSetup,
    crew: Option<Crew>,
    /// Who plays what happens once per run.
    nobody: Option<Member>,
}

async fn play(
    setup: HooksSetup,
    mut asks: mpsc::UnboundedReceiver<Ask>,
    mut called_off: watch::Receiver<bool>,
) {
    let quota = ConnectionQuota::part(&setup.plan.connections, 0, 1);
    let wire = Engine::new(Arc::clone(&setup.program), quota);
    let workload = Arc::clone(&setup.users_setup.workload);
    let recorder = Recorder::new(None, true);
    let mut stand = Stand {
        calls: Calls::new(
            setup.run,
            workload,
            setup.program,
            wire,
            recorder,
            ((0, 1), Lease::unlimited()),
        ),
        users_setup: setup.users_setup,
        crew: None,
        nobody: None,
    };
    while let Some(ask) = asks.recv().await {
        let off = async {
            // An error means that nobody waits any more.
            drop(called_off.wait_for(|off| *off).await);
        };
        let (told, done) = match ask {
            Ask::Once(place, told) => (told, stand.once(place, off).await),
            Ask::Prepare(told) => (told, stand.prepare(off).await),
            Ask::Retire(told) => (told, stand.retire(off).await),
        };
        stand.users_setup.scripting.tidy();
        drop(told.send(done));
    }
}

impl Stand {
    fn load(&mut self) -> Result<&Crew, String> {
        if self.crew.is_none() {
            self.crew = Some(Crew::load(&self.users_setup, true)?);
        }
        self.crew.as_ref().ok_or_else(String::new)
    }

    async fn once(&mut self, place: u16, off: impl Future<Output = ()>) -> Told {
        let mut member = match self.nobody.take() {
            Some(member) => member,
            None => self.load()?.make(NOBODY)?,
        };
        let told = tokio::select! {
            told = self.calls.once(&mut member, place) => told,
            // Whoever plays is left in the middle, and cannot be gone on with.
            () = off => return Err(CALLED_OFF.to_owned()),
        };
        self.nobody = Some(member);
        told
    }

    async fn prepare(&mut self, off: impl Future<Output = ()>) -> Told {
        self.load()?;
        let (calls, Some(crew)) = (&self.calls, &self.crew) else {
            return Ok(());
        };
        let mut prepare = Box::pin(calls.prepare(crew));
        let prepared = tokio::select! {
            prepared = &mut prepare => prepared,
            () = off => {
                drop(tokio::join!(calls.retire(crew), timeout(FAREWELL, prepare)));
                return Err(CALLED_OFF.to_owned());
            }
        };
        let Err(failed) = prepared else {
            return Ok(());
        };
        match calls.retire(crew).await {
            Ok(()) => Err(failed),
            Err(too) => Err(format!("{failed}\n{too}")),
        }
    }

    async fn retire(&mut self, off: impl Future<Output = ()>) -> Told {
        let Some(crew) = &self.crew else {
            return Ok(());
        };
        tokio::select! {
            told = self.calls.retire(crew) => told,
            () = off => Err(CALLED_OFF.to_owned()),
        }
    }
}
