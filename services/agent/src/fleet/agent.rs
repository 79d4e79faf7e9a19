//! The agent's life: hears decisions, gives signs of life, offers capacity, keeps one worker for
//! each run that it holds shards of. What to make of it all is decided in
//! [`crate::fleet::membership`].
//!
//! It must never wait for NATS inside the loop: heartbeats and facts travel in tasks of their own,
//! so that a kill switch is obeyed while everything else hangs.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use loadpilot_bus::{Fault, Link, Message, RequestError};
use loadpilot_engine::control::agent_view::Applied;
use loadpilot_engine::tally::unreached::Reach;
use loadpilot_events::log::ctl::RunCreated;
use loadpilot_events::log::evt::{CapacityOffered, FinishReason, What};
use loadpilot_events::wire::heartbeat::{AgentBeat, Heartbeat, HeartbeatReply, News, Unreached};
use loadpilot_events::wire::subject::Subjects;
use loadpilot_events::{BootId, RunId};
use tokio::sync::{mpsc, watch};
use tokio::task::{AbortHandle, JoinError, JoinSet};
use tokio::time::{Instant, sleep_until, timeout};

use crate::fire::{Lease, MonoTime};
use crate::fleet::agent_info::about;
use crate::fleet::membership::Membership;
use crate::process::liveness_file::AliveFile;
use crate::process::shell::Shell;
use crate::process::signals::Shutdown;
use crate::process::sleep_until::until;
use crate::runs::clock;
use crate::runs::event_publisher::Clerk;
use crate::runs::recovery::{self, Remains};
use crate::runs::run_commands::Orders;
use crate::runs::{Assignment, longest_end, work};

/// How an agent ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// It drained, and everything that it had to say is stored.
    Left,
    /// It drained, but not everything could be stored in time.
    Unheard,
    /// It was told to end at once; the exit code for it.
    Cut(i32),
}

/// The answer to one heartbeat.
struct Answer {
    sent_at: Instant,
    reply: Result<HeartbeatReply, RequestError>,
}

/// The task that does what is ordered for one run.
struct Worker {
    orders: watch::Sender<Orders>,
    /// So long may it drain.
    patience: Duration,
    /// Whether a call of it has reached a server.
    reach: Arc<Mutex<Reach>>,
}

/// What killed processes of this agent left, and who reports it.
#[derive(Default)]
struct Heritage {
    remains: BTreeMap<(RunId, BootId), (Arc<Remains>, Option<AbortHandle>)>,
    tasks: JoinSet<(RunId, BootId)>,
    /// Whether a process before this one held its files when they were looked for.
    some_live: bool,
}

struct Agent {
    shell: Shell,
    membership: Membership,
    clerks: BTreeMap<RunId, Clerk>,
    workers: BTreeMap<RunId, Worker>,
    tasks: JoinSet<(RunId, Option<FinishReason>)>,
    heritage: Heritage,
    lease: Lease,
    answers: mpsc::UnboundedSender<Answer>,
    beat_at: Instant,
    /// Whether the last heartbeat was answered by a coordinator.
    found: bool,
    /// Whether it was told that there is none.
    sought: bool,
    /// By when it is gone, once it was told to leave.
    gone_by: Option<Instant>,
}

/// How one life of an agent ended.
enum End {
    /// With its process.
    Exit(Exit),
    /// A run goes on without it: it may come back, under another boot id.
    Ousted,
}

/// Runs until `shutdown` says otherwise.
///
/// # Errors
/// When the connection cannot carry subscriptions, or is closed for good.
pub async fn run(mut shell: Shell, shutdown: watch::Receiver<Shutdown>) -> Result<Exit, Fault> {
    loop {
        match live(shell.clone(), shutdown.clone()).await? {
            End::Exit(exit) => return Ok(exit),
            End::Ousted => shell = shell.anew(),
        }
        tracing::info!(boot = %shell.me.boot_id, "a run goes on without it: it begins anew");
    }
}

async fn live(shell: Shell, mut shutdown: watch::Receiver<Shutdown>) -> Result<End, Fault> {
    let mut live = shell.bus.subscribe(&shell.subjects.live_all()).await?;
    let mut halts = shell.bus.subscribe(&shell.subjects.halt_all()).await?;
    let mut link = shell.bus.watch_link();
    let (answers, mut answered) = mpsc::unbounded_channel();
    let mut agent = Agent::new(shell, answers);
    agent.look_for_remains();
    loop {
        if agent.gone_by.is_some() && agent.tasks.is_empty() {
            return Ok(End::Exit(agent.say_goodbye(&mut shutdown).await));
        }
        if agent.is_ousted() {
            return Ok(End::Ousted);
        }
        let beat_at = agent.beat_at;
        let fence_at = agent.membership.fence_at(&agent.shell.timing);
        tokio::select! {
            biased;
            Ok(()) = shutdown.changed() => {
                let wish = *shutdown.borrow_and_update();
                match wish {
                    Shutdown::No => {}
                    Shutdown::Drain => agent.leave(),
                    Shutdown::Now(code) => return Ok(End::Exit(Exit::Cut(code))),
                }
            }
            halt = halts.next() => agent.on_halt(&halt.ok_or(Fault::Disconnected)?),
            () = until(fence_at) => agent.fence(),
            () = until(agent.gone_by) => return Ok(End::Exit(Exit::Unheard)),
            message = live.next() => agent.on_live(&message.ok_or(Fault::Disconnected)?),
            Some(answer) = answered.recv() => agent.on_answer(answer),
            Some(done) = agent.tasks.join_next() => agent.on_done(done),
            Some(done) = agent.heritage.tasks.join_next() => agent.on_reported(done),
            Ok(()) = link.changed() => agent.on_link(*link.borrow_and_update()),
            () = sleep_until(beat_at) => agent.beat(),
        }
        agent.act();
    }
}

impl Agent {
    fn new(shell: Shell, answers: mpsc::UnboundedSender<Answer>) -> Self {
        let now = Instant::now();
        Self {
            membership: Membership::new(shell.me.clone(), shell.predecessor_dead, shell.has(), now),
            shell,
            clerks: BTreeMap::new(),
            workers: BTreeMap::new(),
            tasks: JoinSet::new(),
            heritage: Heritage::default(),
            lease: Lease::unlimited(),
            answers,
            beat_at: now,
            found: false,
            sought: false,
            gone_by: None,
        }
    }

    /// Sends a sign of life without waiting for the answer.
    fn beat(&mut self) {
        if self.heritage.some_live {
            self.look_for_remains();
        }
        let sent_at = Instant::now();
        let timing = &self.shell.timing;
        self.beat_at = sent_at
            + if self.found {
                timing.heartbeat
            } else {
                timing.seek
            };
        let beat = Heartbeat::Agent(AgentBeat {
            about: Some(about(self.shell.cores)),
            unreached: self.unreached(),
            ..self.membership.beat(self.shell.capacity)
        });
        let payload = serde_json::to_vec(&beat).expect("a heartbeat has a JSON form");
        let subject = self.shell.subjects.heartbeat(&self.shell.me.agent);
        let (bus, patience) = (self.shell.bus.clone(), timing.heartbeat_reply);
        let answers = self.answers.clone();
        tokio::spawn(async move {
            let reply = bus.request(&subject, payload.into(), patience).await;
            let reply = reply.and_then(|reply| {
                serde_json::from_slice(&reply).map_err(|error| {
                    RequestError::Fault(Fault::Server {
                        what: subject,
                        why: format!("not a heartbeat reply: {error}"),
                    })
                })
            });
            // Nobody to tell: the agent has ended.
            let _ = answers.send(Answer { sent_at, reply });
        });
    }

    /// Runs none of whose calls has reached a server from here.
    fn unreached(&self) -> Vec<Unreached> {
        let workers = self.workers.iter();
        let said = workers.filter_map(|(run, worker)| worker.reach.lock().ok()?.said(run));
        said.collect()
    }

    fn on_answer(&mut self, answer: Answer) {
        let was_found = self.found;
        match answer.reply {
            Ok(reply) => {
                self.found = true;
                self.shell.alive.iter().for_each(AliveFile::touch);
                let now = Instant::now();
                if self.membership.answered(&reply, answer.sent_at, now) {
                    self.beat_at = now;
                }
            }
            Err(RequestError::NoResponders { .. }) => {
                if !std::mem::replace(&mut self.sought, true) {
                    tracing::info!("waits for a coordinator");
                }
                self.found = false;
                self.membership.nobody_listens(answer.sent_at);
            }
            Err(error) => {
                self.found = false;
                tracing::debug!(%error, "heartbeat failed");
            }
        }
        self.renew_lease();
        if was_found != self.found {
            tracing::info!(found = self.found, "coordinator");
            let again = Instant::now() + self.shell.timing.seek;
            self.beat_at = self.beat_at.min(again);
        }
    }

    /// Threads that fire look at the fence themselves: they may wake before this loop does.
    fn renew_lease(&self) {
        let (now, end) = (
            Instant::now(),
            self.membership.cut_off_at(&self.shell.timing),
        );
        let left = end.saturating_duration_since(now).as_micros();
        let left_us = u64::try_from(left).unwrap_or(u64::MAX);
        self.lease.renew(MonoTime::now().plus_us(left_us));
    }

    fn on_live(&mut self, message: &Message) {
        let news: News = match serde_json::from_slice(&message.payload) {
            Ok(news) => news,
            Err(error) => {
                tracing::warn!(subject = message.subject, %error, "unreadable event left out");
                return;
            }
        };
        if news.run.as_str() != Subjects::last_token(&message.subject) {
            let (subject, run) = (&message.subject, &news.run);
            tracing::warn!(subject, %run, "event on a foreign subject");
            return;
        }
        let now = Instant::now();
        if self.membership.hear(&news, now) == Applied::Gap {
            self.beat_at = now;
        }
    }

    fn on_halt(&mut self, message: &Message) {
        match RunId::parse(Subjects::last_token(&message.subject)) {
            Ok(run) => {
                tracing::warn!(%run, "halt");
                self.membership.halt(&run);
            }
            Err(problem) => tracing::warn!(%problem, "halt of no run"),
        }
    }

    fn on_link(&mut self, link: Link) {
        if link.is_up() {
            self.beat_at = Instant::now();
        }
    }

    /// Whether it does nothing, and is heard, while a run goes on that others took from it.
    fn is_ousted(&self) -> bool {
        let is_idle = self.tasks.is_empty() && self.heritage.tasks.is_empty();
        is_idle && self.found && self.gone_by.is_none() && self.membership.is_ousted()
    }

    fn on_done(&mut self, done: Result<(RunId, Option<FinishReason>), JoinError>) {
        match done {
            Ok((run, reason)) => {
                self.membership.finished(&run, reason);
                self.workers.remove(&run);
            }
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
    }

    /// Notes what killed processes of this agent left, before anybody hears of this one.
    fn look_for_remains(&mut self) {
        let Some(place) = &self.shell.rings else {
            return;
        };
        let found = recovery::find(&place.folder, &self.shell.me);
        self.heritage.some_live = found.some_live;
        for remains in found.remains {
            let (run, boot_id) = (remains.run.clone(), remains.boot_id.clone());
            tracing::info!(%run, boot = %boot_id, "a process before this one left something");
            self.membership.found(run.clone(), boot_id.clone());
            let remains = (Arc::new(remains), None);
            self.heritage.remains.insert((run, boot_id), remains);
        }
    }

    /// Has reported what can be, and removes what nobody wants any more.
    fn settle_remains(&mut self) {
        let over = |(run, _): &&(RunId, BootId)| self.membership.is_over(run);
        let over: Vec<_> = self.heritage.remains.keys().filter(over).cloned().collect();
        for key in over {
            if let Some((remains, task)) = self.heritage.remains.remove(&key) {
                task.inspect(AbortHandle::abort);
                remains.discard(&self.shell.me);
                self.membership.settled(&key.0, &key.1);
            }
        }
        let idle = self.heritage.remains.iter();
        let idle = idle.filter(|(_, (_, task))| task.is_none());
        let ready = idle.filter_map(|(key, (remains, _))| {
            let created = self.membership.created(&key.0)?;
            Some((key.clone(), Arc::clone(remains), created.clone()))
        });
        for (key, remains, created) in ready.collect::<Vec<_>>() {
            let clerk = self.clerk(&key.0);
            let report = recovery::report(self.shell.clone(), remains, created, clerk);
            let done = key.clone();
            let task = self.heritage.tasks.spawn(async move {
                report.await;
                done
            });
            if let Some((_, known)) = self.heritage.remains.get_mut(&key) {
                *known = Some(task);
            }
        }
    }

    fn on_reported(&mut self, done: Result<(RunId, BootId), JoinError>) {
        match done {
            // They stay known, so that what cannot be read is not read again and again.
            Ok((run, boot_id)) => self.membership.settled(&run, &boot_id),
            Err(error) if error.is_cancelled() => {}
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
    }

    fn fence(&mut self) {
        self.membership
            .fence(Instant::now(), clock::wall(), &self.shell.timing);
    }

    /// Does whatever follows from what was just heard.
    fn act(&mut self) {
        self.instruct();
        for run in self.membership.forget() {
            tracing::info!(%run, "over");
            self.workers.remove(&run);
            if let Some(clerk) = self.clerks.remove(&run) {
                clerk.dismiss();
            }
        }
        self.settle_remains();
        self.offer();
    }

    /// Tells every worker what to do, and employs one where shards have come.
    fn instruct(&mut self) {
        let mut vacant = Vec::new();
        for (run, view, orders) in self.membership.orders() {
            let Some(worker) = self.workers.get(run) else {
                let created = view.created().filter(|_| !orders.holds.is_empty());
                vacant.extend(created.map(|created| (run.clone(), created.clone(), orders)));
                continue;
            };
            worker.orders.send_if_modified(|known| {
                let changed = *known != orders;
                *known = orders;
                changed
            });
        }
        for (run, created, orders) in vacant {
            self.employ(run, created, orders);
        }
    }

    fn employ(&mut self, run: RunId, created: RunCreated, orders: Orders) {
        tracing::info!(%run, generation = orders.generation, "holds shards");
        let patience = longest_end(&created.plan);
        let (orders, told) = watch::channel(orders);
        let reach = Arc::new(Mutex::new(Reach::default()));
        let assignment = Assignment {
            run: run.clone(),
            created,
            orders: told,
            clerk: self.clerk(&run),
            lease: self.lease.clone(),
            reach: Arc::clone(&reach),
        };
        self.renew_lease();
        let worker = Worker {
            orders,
            patience,
            reach,
        };
        self.workers.insert(run.clone(), worker);
        let work = work(self.shell.clone(), assignment);
        self.tasks.spawn(async move {
            let reason = work.await;
            (run, reason)
        });
    }

    fn offer(&mut self) {
        let slack_us = self.shell.timing.offer_slack.as_micros();
        let slack_us = u64::try_from(slack_us).unwrap_or(u64::MAX);
        for offer in self.membership.offers(self.shell.capacity) {
            self.clerk(&offer.run)
                .state(What::CapacityOffered(CapacityOffered {
                    rate: offer.rate,
                    cores: self.shell.cores,
                    expires: offer.gather_by.plus_us(slack_us),
                    version: env!("CARGO_PKG_VERSION").to_owned(),
                }));
        }
    }

    fn clerk(&mut self, run: &RunId) -> Clerk {
        let shell = &self.shell;
        let clerk = self.clerks.entry(run.clone());
        clerk
            .or_insert_with(|| Clerk::new(shell.clone(), run.clone()))
            .clone()
    }

    /// Begins to drain: every worker stops, reports and ends.
    fn leave(&mut self) {
        tracing::info!("leaves");
        self.membership.leave();
        let longest = self.workers.values().map(|worker| worker.patience).max();
        let patience = longest.unwrap_or_default() + self.shell.timing.farewell;
        self.gone_by = Some(Instant::now() + patience);
    }

    /// Tells every run that knows it, and waits until all it ever said is stored.
    async fn say_goodbye(mut self, shutdown: &mut watch::Receiver<Shutdown>) -> Exit {
        let runs: Vec<RunId> = self.membership.acquainted().cloned().collect();
        for run in &runs {
            self.clerk(run).state(What::AgentLeaving);
        }
        let settled = async {
            for clerk in self.clerks.values() {
                clerk.settled().await;
            }
        };
        tokio::select! {
            settled = timeout(self.shell.timing.farewell, settled) => match settled {
                Ok(()) => Exit::Left,
                Err(_) => Exit::Unheard,
            },
            code = cut(shutdown) => Exit::Cut(code),
        }
    }
}

/// Waits for the order to end at once.
async fn cut(shutdown: &mut watch::Receiver<Shutdown>) -> i32 {
    loop {
        if let Shutdown::Now(code) = *shutdown.borrow_and_update() {
            return code;
        }
        if shutdown.changed().await.is_err() {
            // Nobody can order it any more.
            std::future::pending::<()>().await;
        }
    }
}
