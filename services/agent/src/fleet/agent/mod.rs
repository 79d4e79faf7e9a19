//! The event loop of the agent: receives decisions, sends heartbeats, offers capacity and runs one
//! worker for each run of which it holds shards. [`crate::fleet::membership`] decides.
//!
//! The loop never waits for NATS: heartbeats and events are sent by their own tasks, so that a kill
//! switch works while everything else hangs.
//!
//! - `halts`: kill switches of other tenants
//! - `dead_processes`: the files of killed processes of this agent

mod dead_processes;
mod halts;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use loadpilot_bus::{Fault, Link, Message, RequestError};
use loadpilot_engine::control::agent_view::Applied;
use loadpilot_engine::control::created_run::CreatedRun;
use loadpilot_engine::tally::unreached::Reach;
use loadpilot_events::RunId;
use loadpilot_events::log::evt::{CapacityOffered, FinishReason, What};
use loadpilot_events::wire::heartbeat::{AgentBeat, Heartbeat, HeartbeatReply, News, Unreached};
use loadpilot_events::wire::subject::Subjects;
use tokio::sync::{mpsc, watch};
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, sleep_until, timeout};

use self::dead_processes::Recoveries;
use self::halts::Halts;
use crate::fire::{Lease, MonoTime};
use crate::fleet::agent_info::agent_info;
use crate::fleet::membership::Membership;
use crate::process::liveness_file::LivenessFile;
use crate::process::shell::Shell;
use crate::process::signals::{self, Shutdown};
use crate::process::sleep_until::sleep_until_opt;
use crate::runs::event_publisher::EventPublisher;
use crate::runs::run_commands::RunCommands;
use crate::runs::{Assignment, longest_end, work};
use crate::wall_clock;

/// How an agent ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// It left, and all of its events are stored.
    Left,
    /// It left, but not everything could be stored in time.
    NotStored,
    /// A signal ended it at once; the exit code.
    Killed(i32),
}

/// The answer to one heartbeat.
struct BeatReply {
    sent_at: Instant,
    reply: Result<HeartbeatReply, RequestError>,
}

/// Handle of the task of one run.
struct Worker {
    commands: watch::Sender<RunCommands>,
    /// Timeout for draining.
    drain_timeout: Duration,
    /// Whether a call of the run has reached a server.
    reach: Arc<Mutex<Reach>>,
}

struct Agent {
    shell: Shell,
    membership: Membership,
    publishers: BTreeMap<RunId, EventPublisher>,
    workers: BTreeMap<RunId, Worker>,
    tasks: JoinSet<(RunId, Option<FinishReason>)>,
    recoveries: Recoveries,
    halts: Halts,
    lease: Lease,
    replies: mpsc::UnboundedSender<BeatReply>,
    beat_at: Instant,
    /// Whether the last heartbeat was answered by a coordinator.
    has_coordinator: bool,
    /// Whether the absence of a coordinator was logged.
    has_logged_absence: bool,
    /// When it began to leave.
    left_at: Option<Instant>,
    /// Whether a coordinator has answered a heartbeat since `left_at`.
    is_leave_heard: bool,
    /// Deadline for others to take its shards over, while it leaves.
    drain_at: Option<Instant>,
    /// Deadline for leaving, once it drains.
    leave_deadline: Option<Instant>,
}

/// How one boot of an agent ended.
enum End {
    /// The boot ended with its process.
    Exit(Exit),
    /// A run continues without this boot: the agent may join it again under another boot id.
    Rejoin,
}

/// Runs until `shutdown` requests the end.
///
/// # Errors
/// When the connection cannot carry subscriptions, or is closed for good.
pub async fn run(mut shell: Shell, shutdown: watch::Receiver<Shutdown>) -> Result<Exit, Fault> {
    loop {
        match run_one_boot(shell.clone(), shutdown.clone()).await? {
            End::Exit(exit) => return Ok(exit),
            End::Rejoin => shell = shell.with_new_boot(),
        }
        tracing::info!(boot = %shell.me.boot_id, "a run goes on without it: it begins anew");
    }
}

async fn run_one_boot(shell: Shell, mut shutdown: watch::Receiver<Shutdown>) -> Result<End, Fault> {
    let mut live = shell.bus.subscribe(&shell.home.live_all()).await?;
    let mut halts = shell.bus.subscribe(&shell.home.halt_all()).await?;
    let mut link = shell.bus.watch_link();
    let (replies, mut reply_queue) = mpsc::unbounded_channel();
    let mut agent = Agent::new(shell, replies);
    agent.find_dead_processes();
    loop {
        if agent.may_leave() {
            return Ok(End::Exit(agent.settle(&mut shutdown).await));
        }
        if agent.must_rejoin() {
            return Ok(End::Rejoin);
        }
        let beat_at = agent.beat_at;
        let fence_at = agent.membership.fence_at(&agent.shell.timeouts);
        tokio::select! {
            biased;
            Ok(()) = shutdown.changed() => {
                let requested = *shutdown.borrow_and_update();
                match requested {
                    Shutdown::No => {}
                    Shutdown::Drain => agent.leave(),
                    Shutdown::Now(code) => return Ok(End::Exit(Exit::Killed(code))),
                }
            }
            halt = halts.next() => agent.on_halt(&halt.ok_or(Fault::Disconnected)?),
            halt = agent.halts.next() => halt.iter().for_each(|halt| agent.on_halt(halt)),
            () = sleep_until_opt(fence_at) => agent.fence(),
            () = sleep_until_opt(agent.drain_at) => agent.drain(),
            () = sleep_until_opt(agent.leave_deadline) => return Ok(End::Exit(Exit::NotStored)),
            message = live.next() => agent.on_live(&message.ok_or(Fault::Disconnected)?),
            Some(reply) = reply_queue.recv() => agent.on_reply(reply),
            Some(done) = agent.tasks.join_next() => agent.on_done(done),
            Some(done) = agent.recoveries.tasks.join_next() => agent.on_reported(done),
            Ok(()) = link.changed() => agent.on_link(*link.borrow_and_update()),
            () = sleep_until(beat_at) => agent.beat(),
        }
        agent.act();
    }
}

impl Agent {
    fn new(shell: Shell, replies: mpsc::UnboundedSender<BeatReply>) -> Self {
        let now = Instant::now();
        Self {
            membership: Membership::new(shell.me.clone(), shell.predecessor_dead, shell.has(), now),
            shell,
            publishers: BTreeMap::new(),
            workers: BTreeMap::new(),
            tasks: JoinSet::new(),
            recoveries: Recoveries::default(),
            halts: Halts::new(),
            lease: Lease::unlimited(),
            replies,
            beat_at: now,
            has_coordinator: false,
            has_logged_absence: false,
            left_at: None,
            is_leave_heard: false,
            drain_at: None,
            leave_deadline: None,
        }
    }

    /// Sends a heartbeat without waiting for the reply.
    fn beat(&mut self) {
        if self.recoveries.some_live {
            self.find_dead_processes();
        }
        let sent_at = Instant::now();
        let timeouts = &self.shell.timeouts;
        self.beat_at = sent_at
            + if self.has_coordinator {
                timeouts.heartbeat
            } else {
                timeouts.seek
            };
        let beat = Heartbeat::Agent(AgentBeat {
            about: Some(agent_info(self.shell.cores)),
            unreached: self.unreached(),
            ..self.membership.beat(self.shell.capacity)
        });
        let payload = serde_json::to_vec(&beat).expect("a heartbeat has a JSON form");
        let subject = self.shell.home.heartbeat(&self.shell.me.agent);
        let (bus, reply_timeout) = (self.shell.bus.clone(), timeouts.heartbeat_reply);
        let replies = self.replies.clone();
        tokio::spawn(async move {
            let reply = bus.request(&subject, payload.into(), reply_timeout).await;
            let reply = reply.and_then(|reply| {
                serde_json::from_slice(&reply).map_err(|error| {
                    RequestError::Fault(Fault::Server {
                        what: subject,
                        why: format!("not a heartbeat reply: {error}"),
                    })
                })
            });
            // Without a receiver, the agent has ended.
            let _ = replies.send(BeatReply { sent_at, reply });
        });
    }

    /// Runs none of whose calls from this agent has reached a server.
    fn unreached(&self) -> Vec<Unreached> {
        let workers = self.workers.iter();
        let reports = workers.filter_map(|(run, worker)| worker.reach.lock().ok()?.report(run));
        reports.collect()
    }

    fn on_reply(&mut self, beat: BeatReply) {
        let had_coordinator = self.has_coordinator;
        match beat.reply {
            Ok(reply) => {
                self.has_coordinator = true;
                self.is_leave_heard |= self.left_at.is_some_and(|at| beat.sent_at >= at);
                self.shell
                    .liveness_file
                    .iter()
                    .for_each(LivenessFile::touch);
                let now = Instant::now();
                if self.membership.on_reply(&reply, beat.sent_at, now) {
                    self.beat_at = now;
                }
            }
            Err(RequestError::NoResponders { .. }) => {
                if !std::mem::replace(&mut self.has_logged_absence, true) {
                    tracing::info!("waits for a coordinator");
                }
                self.has_coordinator = false;
                self.membership.on_no_responder(beat.sent_at);
            }
            Err(error) => {
                self.has_coordinator = false;
                tracing::debug!(%error, "heartbeat failed");
            }
        }
        self.renew_lease();
        if had_coordinator != self.has_coordinator {
            tracing::info!(found = self.has_coordinator, "coordinator");
            let again = Instant::now() + self.shell.timeouts.seek;
            self.beat_at = self.beat_at.min(again);
        }
    }

    /// Extends the lease of the firing threads, which check it themselves: they may wake up before
    /// this loop does.
    fn renew_lease(&self) {
        let (now, end) = (
            Instant::now(),
            self.membership.cut_off_at(&self.shell.timeouts),
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
        if self.membership.apply(&news, now) == Applied::Gap {
            self.beat_at = now;
        }
    }

    fn on_halt(&mut self, message: &Message) {
        match RunId::parse(Subjects::last_token(&message.subject)) {
            Ok(run) => {
                tracing::warn!(%run, subject = message.subject, "halt");
                let home = &self.shell.home;
                let tenant = home.tenant_of(&message.subject);
                let other = tenant.filter(|tenant| tenant != home.tenant_id());
                self.membership.halt(other.as_ref(), &run);
            }
            Err(problem) => tracing::warn!(%problem, "halt of no run"),
        }
    }

    fn on_link(&mut self, link: Link) {
        if link.is_up() {
            self.beat_at = Instant::now();
        }
    }

    /// Whether it is idle and connected while other agents run shards that it lost.
    fn must_rejoin(&self) -> bool {
        let is_idle = self.tasks.is_empty() && self.recoveries.tasks.is_empty();
        is_idle
            && self.has_coordinator
            && !self.membership.leaves()
            && self.membership.must_rejoin()
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

    fn fence(&mut self) {
        self.membership
            .fence(Instant::now(), wall_clock::now(), &self.shell.timeouts);
    }

    /// Acts on the state after an event.
    fn act(&mut self) {
        for tenant in self.membership.tenants() {
            self.halts.follow(tenant, &self.shell);
        }
        self.update_workers();
        for run in self.membership.remove_over() {
            tracing::info!(%run, "over");
            self.workers.remove(&run);
            if let Some(publisher) = self.publishers.remove(&run) {
                publisher.discard();
            }
        }
        self.recover_dead_processes();
        self.offer();
        for run in self.membership.runs_to_notify() {
            self.publisher(&run).publish(What::AgentLeaving);
        }
    }

    /// Sends the commands to every worker. Starts a worker for each new run with shards, once the
    /// kill switch of its tenant is received.
    fn update_workers(&mut self) {
        let mut unassigned = Vec::new();
        for (run, view, commands) in self.membership.commands() {
            let Some(worker) = self.workers.get(run) else {
                let can_start =
                    !commands.holds.is_empty() && self.halts.are_heard(self.membership.tenant(run));
                let created = view.created().filter(|_| can_start);
                unassigned.extend(created.map(|created| (run.clone(), created.clone(), commands)));
                continue;
            };
            worker.commands.send_if_modified(|known| {
                let changed = *known != commands;
                *known = commands;
                changed
            });
        }
        for (run, created, commands) in unassigned {
            self.start_worker(run, created, commands);
        }
    }

    fn start_worker(&mut self, run: RunId, created: CreatedRun, commands: RunCommands) {
        tracing::info!(%run, generation = commands.generation, "holds shards");
        let drain_timeout = longest_end(&created.plan);
        let (commands, receiver) = watch::channel(commands);
        let reach = Arc::new(Mutex::new(Reach::default()));
        let assignment = Assignment {
            run: run.clone(),
            created,
            commands: receiver,
            publisher: self.publisher(&run),
            lease: self.lease.clone(),
            reach: Arc::clone(&reach),
        };
        self.renew_lease();
        let worker = Worker {
            commands,
            drain_timeout,
            reach,
        };
        self.workers.insert(run.clone(), worker);
        let shell = self.shell.in_service_of(self.membership.tenant(&run));
        let work = work(shell, assignment);
        self.tasks.spawn(async move {
            let reason = work.await;
            (run, reason)
        });
    }

    fn offer(&mut self) {
        let slack_us = self.shell.timeouts.offer_slack.as_micros();
        let slack_us = u64::try_from(slack_us).unwrap_or(u64::MAX);
        for offer in self.membership.offers(self.shell.capacity) {
            // A coordinator that began to listen after the last heartbeat accepts the offer only
            // after the next one.
            self.beat_at = Instant::now();
            self.publisher(&offer.run)
                .publish(What::CapacityOffered(CapacityOffered {
                    rate: offer.rate,
                    cores: self.shell.cores,
                    expires: offer.gather_by.plus_us(slack_us),
                    version: loadpilot_events::VERSION.to_owned(),
                }));
        }
    }

    fn publisher(&mut self, run: &RunId) -> EventPublisher {
        let (shell, tenant) = (&self.shell, self.membership.tenant(run));
        let publisher = self.publishers.entry(run.clone());
        publisher
            .or_insert_with(|| EventPublisher::new(shell.in_service_of(tenant), run.clone()))
            .clone()
    }

    /// Begins to leave: notifies its runs, and serves its shards until others take them over.
    fn leave(&mut self) {
        let wait = self.shell.timeouts.hand_over;
        tracing::info!(hand_over_s = wait.as_secs_f64(), "leaves");
        self.membership.leave();
        if wait.is_zero() {
            return self.drain();
        }
        let now = Instant::now();
        self.left_at = Some(now);
        self.drain_at = Some(now + wait);
        // Coordinators must learn at once that the agent takes no more shards.
        self.beat_at = now;
    }

    /// Ends the wait for others: every worker stops, reports and ends.
    fn drain(&mut self) {
        self.drain_at = None;
        self.membership.drain();
        let longest = self
            .workers
            .values()
            .map(|worker| worker.drain_timeout)
            .max();
        let drain_timeout = longest.unwrap_or_default() + self.shell.timeouts.farewell;
        self.leave_deadline = Some(Instant::now() + drain_timeout);
    }

    /// Whether it leaves and has nothing to serve any more: it holds no shards and gets none, since
    /// its coordinator knows that it takes no more.
    fn may_leave(&self) -> bool {
        let is_known = self.is_leave_heard || !self.has_coordinator;
        let is_free = self.leave_deadline.is_some() || is_known && !self.membership.is_holder();
        self.membership.leaves() && self.tasks.is_empty() && is_free
    }

    /// Waits until all events are stored.
    async fn settle(self, shutdown: &mut watch::Receiver<Shutdown>) -> Exit {
        let settled = async {
            for publisher in self.publishers.values() {
                publisher.flush().await;
            }
        };
        tokio::select! {
            settled = timeout(self.shell.timeouts.farewell, settled) => match settled {
                Ok(()) => Exit::Left,
                Err(_) => Exit::NotStored,
            },
            code = signals::killed(shutdown) => Exit::Killed(code),
        }
    }
}
