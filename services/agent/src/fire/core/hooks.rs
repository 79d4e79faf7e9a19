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
use crate::fire::arrival::arrival_runner::ArrivalRunner;
use crate::fire::arrival::users::CLEANUP_TIMEOUT;
use crate::fire::arrival::users::virtual_users::{VirtualUser, VirtualUsers, VirtualUsersSetup};
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
type HookResult = Result<(), String>;

/// What is asked for.
enum HookRequest {
    Once(u16, oneshot::Sender<HookResult>),
    Prepare(oneshot::Sender<HookResult>),
    Retire(oneshot::Sender<HookResult>),
}

/// Handle to the thread. Dropping it lets the thread end with the part that it plays.
#[derive(Debug)]
pub struct Hooks {
    requests: mpsc::UnboundedSender<HookRequest>,
    called_off: watch::Sender<bool>,
    ended: oneshot::Receiver<()>,
}

impl Hooks {
    /// Starts the thread; nothing is played before it is asked for.
    ///
    /// # Errors
    /// [`Fault::Thread`] when the system gives no thread or reactor.
    pub fn spawn(setup: HooksSetup) -> Result<Self, Fault> {
        let (requests, requests_in) = mpsc::unbounded_channel();
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
                    runtime.block_on(play(setup, requests_in, calls_off));
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
            requests,
            called_off,
            ended,
        })
    }

    /// Plays a part that happens once per run, by its place; says how it ended.
    #[must_use]
    pub fn once(&self, place: u16) -> oneshot::Receiver<Result<(), String>> {
        self.request(|reply| HookRequest::Once(place, reply))
    }

    /// Prepares all users, some at a time; says why not all could be.
    #[must_use]
    pub fn prepare(&self) -> oneshot::Receiver<Result<(), String>> {
        self.request(HookRequest::Prepare)
    }

    /// Lets the users that were prepared clean up, in bounded time; says what they raised.
    #[must_use]
    pub fn retire(&self) -> oneshot::Receiver<Result<(), String>> {
        self.request(HookRequest::Retire)
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

    fn request(
        &self,
        request: impl FnOnce(oneshot::Sender<HookResult>) -> HookRequest,
    ) -> oneshot::Receiver<HookResult> {
        let (reply, answer) = oneshot::channel();
        self.called_off.send_replace(false);
        // A thread that has died drops the answer.
        drop(self.requests.send(request(reply)));
        answer
    }
}

/// The thread's own side.
struct HooksThread {
    runner: ArrivalRunner<Engine>,
    users_setup: VirtualUsersSetup,
    users: Option<VirtualUsers>,
    /// Who plays what happens once per run.
    once_user: Option<VirtualUser>,
}

async fn play(
    setup: HooksSetup,
    mut requests: mpsc::UnboundedReceiver<HookRequest>,
    mut called_off: watch::Receiver<bool>,
) {
    let quota = ConnectionQuota::part(&setup.plan.connections, 0, 1);
    let wire = Engine::new(Arc::clone(&setup.program), quota);
    let workload = Arc::clone(&setup.users_setup.workload);
    let recorder = Recorder::new(None, true);
    let mut thread = HooksThread {
        runner: ArrivalRunner::new(
            setup.run,
            workload,
            setup.program,
            wire,
            recorder,
            ((0, 1), Lease::unlimited()),
        ),
        users_setup: setup.users_setup,
        users: None,
        once_user: None,
    };
    while let Some(request) = requests.recv().await {
        let cancelled = async {
            // An error means that nobody waits any more.
            drop(called_off.wait_for(|cancelled| *cancelled).await);
        };
        let (reply, done) = match request {
            HookRequest::Once(place, reply) => (reply, thread.once(place, cancelled).await),
            HookRequest::Prepare(reply) => (reply, thread.prepare(cancelled).await),
            HookRequest::Retire(reply) => (reply, thread.retire(cancelled).await),
        };
        thread.users_setup.scripting.tidy();
        drop(reply.send(done));
    }
}

impl HooksThread {
    fn load(&mut self) -> Result<&VirtualUsers, String> {
        if self.users.is_none() {
            self.users = Some(VirtualUsers::load(&self.users_setup, true)?);
        }
        self.users.as_ref().ok_or_else(String::new)
    }

    async fn once(&mut self, place: u16, cancelled: impl Future<Output = ()>) -> HookResult {
        let mut user = match self.once_user.take() {
            Some(user) => user,
            None => self.load()?.make(NOBODY)?,
        };
        let reply = tokio::select! {
            reply = self.runner.once(&mut user, place) => reply,
            // Whoever plays is left in the middle, and cannot be gone on with.
            () = cancelled => return Err(CALLED_OFF.to_owned()),
        };
        self.once_user = Some(user);
        reply
    }

    async fn prepare(&mut self, cancelled: impl Future<Output = ()>) -> HookResult {
        self.load()?;
        let (runner, Some(users)) = (&self.runner, &self.users) else {
            return Ok(());
        };
        let mut prepare = Box::pin(runner.prepare(users));
        let prepared = tokio::select! {
            prepared = &mut prepare => prepared,
            () = cancelled => {
                drop(tokio::join!(runner.retire(users), timeout(CLEANUP_TIMEOUT, prepare)));
                return Err(CALLED_OFF.to_owned());
            }
        };
        let Err(failed) = prepared else {
            return Ok(());
        };
        match runner.retire(users).await {
            Ok(()) => Err(failed),
            Err(too) => Err(format!("{failed}\n{too}")),
        }
    }

    async fn retire(&mut self, cancelled: impl Future<Output = ()>) -> HookResult {
        let Some(users) = &self.users else {
            return Ok(());
        };
        tokio::select! {
            reply = self.runner.retire(users) => reply,
            () = cancelled => Err(CALLED_OFF.to_owned()),
        }
    }
}
