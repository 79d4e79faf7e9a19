//! The thread for the hooks of a scenario: parts that are played once per run, and users that are
//! prepared before the run and cleaned up after it.
//!
//! Its calls are made as on a core, but nothing is paced and nothing is counted. The thread plays
//! one part at a time, and ends that part when it is called off.

use std::future::Future;
use std::sync::Arc;
use std::{io, thread};

use loadpilot_events::id::RunId;
use loadpilot_events::plan::Plan;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::timeout;

use super::thread::runtime;
use crate::fire::arrival::arrival_runner::ArrivalRunner;
use crate::fire::arrival::users::hooks::CLEANUP_TIMEOUT;
use crate::fire::arrival::users::virtual_users::{VirtualUser, VirtualUsers, VirtualUsersSetup};
use crate::fire::clock::lease::Lease;
use crate::fire::fault::Fault;
use crate::fire::http::connect::connection_quota::ConnectionQuota;
use crate::fire::http::protocol::Engine;
use crate::fire::journal::ring::writer::Recorder;
use crate::fire::request::program::Program;
use crate::users::script::NO_USER;

/// Error of a part that was called off.
const INTERRUPTED: &str = "it was interrupted";

/// The inputs of the thread.
#[derive(Debug)]
pub struct HooksSetup {
    /// Id of the run.
    pub run: RunId,
    /// The plan of the run: time-outs and limits.
    pub plan: Arc<Plan>,
    /// The compiled requests, and the targets that they go to.
    pub program: Arc<Program>,
    /// Setup of the users that play the hooks.
    pub users_setup: VirtualUsersSetup,
}

/// Result of a part: the error that it raised, as text.
type HookResult = Result<(), String>;

/// A request to the thread.
enum HookRequest {
    Once(u16, oneshot::Sender<HookResult>),
    Prepare(oneshot::Sender<HookResult>),
    Retire(oneshot::Sender<HookResult>),
}

/// Handle to the thread. When it is dropped, the thread ends after its current part.
#[derive(Debug)]
pub struct Hooks {
    requests: mpsc::UnboundedSender<HookRequest>,
    called_off: watch::Sender<bool>,
    ended: oneshot::Receiver<()>,
}

impl Hooks {
    /// Starts the thread; it plays nothing without a request.
    ///
    /// # Errors
    /// [`Fault::Thread`] when the system gives no thread or reactor.
    pub fn spawn(setup: HooksSetup) -> Result<Self, Fault> {
        let (requests, requests_in) = mpsc::unbounded_channel();
        let (called_off, calls_off) = watch::channel(false);
        let (ready, began) = std::sync::mpsc::channel();
        let named = thread::Builder::new().name("hooks".to_owned());
        let (end, ended) = oneshot::channel();
        let run = move || {
            // Dropped last, when the thread has left the interpreter.
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

    /// Plays a part that is played once per run, by its index; returns its result.
    #[must_use]
    pub fn once(&self, place: u16) -> oneshot::Receiver<Result<(), String>> {
        self.request(|reply| HookRequest::Once(place, reply))
    }

    /// Prepares all users, a limited number at the same time; returns why some could not be
    /// prepared.
    #[must_use]
    pub fn prepare(&self) -> oneshot::Receiver<Result<(), String>> {
        self.request(HookRequest::Prepare)
    }

    /// Lets the prepared users clean up, in bounded time; returns the errors that they raised.
    #[must_use]
    pub fn retire(&self) -> oneshot::Receiver<Result<(), String>> {
        self.request(HookRequest::Retire)
    }

    /// Ends the current part, if there is one. A part that is played once per run is abandoned at
    /// the operation that it waits for. While users are prepared, those that have begun may finish,
    /// and all of them clean up.
    pub fn call_off(&self) {
        self.called_off.send_replace(true);
    }

    /// Ends the thread after the current part. The sender of the result is dropped then; the caller
    /// must wait for it before the interpreter is finalised.
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

/// The state of the thread.
struct HooksThread {
    runner: ArrivalRunner<Engine>,
    users_setup: VirtualUsersSetup,
    users: Option<VirtualUsers>,
    /// The user that plays the parts that are played once per run.
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
            // An error means that the handle is gone.
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
            None => self.load()?.make(NO_USER)?,
        };
        let result = tokio::select! {
            result = self.runner.once(&mut user, place) => result,
            // The user is left in the middle of its part and cannot be used again.
            () = cancelled => return Err(INTERRUPTED.to_owned()),
        };
        self.once_user = Some(user);
        result
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
                return Err(INTERRUPTED.to_owned());
            }
        };
        let Err(failed) = prepared else {
            return Ok(());
        };
        match runner.retire(users).await.error() {
            None => Err(failed),
            Some(too) => Err(format!("{failed}\n{too}")),
        }
    }

    async fn retire(&mut self, cancelled: impl Future<Output = ()>) -> HookResult {
        let Some(users) = &self.users else {
            return Ok(());
        };
        tokio::select! {
            retired = self.runner.retire(users) => retired.error().map_or(Ok(()), Err),
            () = cancelled => Err(INTERRUPTED.to_owned()),
        }
    }
}
