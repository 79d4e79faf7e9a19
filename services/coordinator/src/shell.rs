//! The one loop of a coordinator: passes records and heartbeats to [`Coordinator`], performs its
//! effects as tasks, and reports their results back. The loop never waits for an effect, so that
//! heartbeats are answered while an append is in progress.

use std::time::Duration;

use loadpilot_bus::{Bus, Fault, Link, Message, Step, Stored, Stream, Subscription, Tail};
use loadpilot_events::log::admission::AdmissionDecision;
use loadpilot_events::log::ctl::Decision;
use loadpilot_events::log::envelope::{EVENT_VERSION, version_of};
use loadpilot_events::wire::heartbeat::{Heartbeat, HeartbeatReply, News};
use loadpilot_events::wire::subject::Subjects;
use loadpilot_events::{AgentId, OwnerId, RunId, TenantId, Timestamp};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep};

use crate::answers;
use crate::append::{Outcome, PendingAppend, append};
use crate::clock::{self, Clock, ClockMeasurement};
use crate::config::Settings;
use crate::coordinator::Coordinator;
use crate::core_publisher::CorePublisher;
use crate::http::Status;
use crate::pause_detector::{PULSE, PauseDetector};
use crate::run_state::Effect;

/// Maximum number of records that wait to be folded; the tail then waits too.
const STEPS_MAX: usize = 256;

/// Maximum number of holders in a decision that is published to all agents at once.
const LIVE_HOLDERS_MAX: usize = 64;

/// Delay before a failed tail is read again.
const TAIL_RETRY_DELAY: Duration = Duration::from_secs(1);

/// Interval of the measurements of the log's clock while no run is open.
const CLOCK_INTERVAL: Duration = Duration::from_secs(10);

/// Maximum sleep in µs; the pulse wakes the loop earlier anyway.
const SLEEP_US_MAX: u64 = 3_600_000_000;

/// The dependencies of a coordinator.
#[derive(Debug, Clone)]
pub struct Io {
    /// The connection.
    pub bus: Bus,
    /// The clock of all runs.
    pub clock: Clock,
    /// Runs that it decides, and its time limits.
    pub settings: Settings,
    /// Figures of this process, updated by the loop.
    pub status: Status,
}

/// Runs until `shutdown`, then ends at once: all its state is in the log.
///
/// # Errors
/// When the log cannot be opened, is gone or was made anew, or the connection is closed for good.
pub async fn run(io: Io, shutdown: impl Future<Output = ()>) -> Result<(), Fault> {
    tokio::select! {
        end = coordinate(io) => end,
        () = shutdown => Ok(()),
    }
}

async fn coordinate(io: Io) -> Result<(), Fault> {
    let Io {
        bus,
        clock,
        settings,
        ..
    } = &io;
    bus.open_log().await?;
    if let Some(account) = bus.account().await? {
        tracing::info!("account of NATS: {account}");
        for warning in account.warnings() {
            tracing::warn!("{warning}");
        }
    }
    if let Err(fault) = bus.open_stores().await {
        tracing::warn!(%fault, "users that the server confines to a tenant cannot use this fleet");
    }
    clock.set(&measure_clock(bus).await);
    let subjects = &settings.subjects;
    let (of_beats, of_clock, of_secrets, mut of_runs) = match settings.is_shared() {
        true => (
            subjects.heartbeat_of_all_tenants(),
            subjects.clock_of_all_tenants(),
            subjects.secret_of_all_tenants(),
            subjects.control_of_all_tenants(),
        ),
        false => (
            subjects.heartbeat_all(),
            subjects.clock(),
            subjects.secret_all(),
            subjects.control_of_all_runs(),
        ),
    };
    if settings.admits().is_some() {
        of_runs.push(subjects.admission());
    }
    let mut beats = bus.subscribe(&of_beats).await?;
    let clock_requests = bus.subscribe(&of_clock).await?;
    let mut secrets = bus.subscribe(&of_secrets).await?;
    let (publisher, send) = CorePublisher::new(bus.clone());
    // Dropping the set at the end of this function ends every task.
    let mut tasks = JoinSet::new();
    tasks.spawn(send);
    tasks.spawn(answers::clock_samples(
        bus.clone(),
        clock_requests,
        clock.clone(),
    ));
    let (step_sender, mut steps) = mpsc::channel(STEPS_MAX);
    tasks.spawn(follow(bus.clone(), of_runs, step_sender));
    let mut shell = Shell {
        coordinator: Coordinator::new(settings.clone(), clock.now()),
        effects: JoinSet::new(),
        publisher,
        io: io.clone(),
    };
    shell.serve(&mut beats, &mut secrets, &mut steps).await
}

/// Measures the log's clock, retrying until it succeeds: agents get their time from it.
async fn measure_clock(bus: &Bus) -> ClockMeasurement {
    loop {
        match clock::measure(bus).await {
            Ok(measured) => return measured,
            Err(fault) => {
                tracing::warn!(%fault, "the time of the log cannot be read for now");
                sleep(TAIL_RETRY_DELAY).await;
            }
        }
    }
}

struct Shell {
    coordinator: Coordinator,
    effects: JoinSet<Completion>,
    publisher: CorePublisher,
    io: Io,
}

/// The result of a task.
enum Completion {
    Appended(Box<PendingAppend>, Outcome, Option<Box<News>>),
    DataHead(RunId, Result<u64, Fault>),
    CtlLast(RunId, Result<u64, Fault>),
    Admitted(Box<PendingAppend<AdmissionDecision>>, Outcome),
    AdmissionLast(Result<u64, Fault>),
    Shredded,
    SecretsSent,
    Clock(Result<ClockMeasurement, Fault>),
}

impl Shell {
    async fn serve(
        &mut self,
        beats: &mut Subscription,
        secrets: &mut Subscription,
        steps: &mut mpsc::Receiver<Result<Step, Fault>>,
    ) -> Result<(), Fault> {
        let mut link = self.io.bus.watch_link();
        let mut known_link = self.link_changed(None, *link.borrow_and_update());
        let mut pause_detector = PauseDetector::new(Instant::now(), self.io.clock.now());
        let mut is_status_stale = true;
        let mut measured_at = Instant::now();
        let mut pulse = interval(PULSE);
        pulse.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            if self.coordinator.is_idle() && measured_at.elapsed() >= CLOCK_INTERVAL {
                measured_at = Instant::now();
                let bus = self.io.bus.clone();
                let measured = async move { Completion::Clock(clock::measure(&bus).await) };
                self.effects.spawn(measured);
            }
            let now = self.io.clock.now();
            if pause_detector.paused(Instant::now(), now) {
                tracing::warn!("this process or its clock stood still: listening anew");
                self.coordinator.listen_again(now);
            }
            let bytes = self.io.bus.message_bytes_max();
            self.coordinator.message_bytes_max(bytes);
            known_link = self.link_changed(Some(known_link), *link.borrow_and_update());
            for effect in self.coordinator.next(now) {
                self.send(effect);
            }
            // Not after each heartbeat: counting all agents each time would be quadratic in their
            // number, and the next pulse comes soon enough.
            if std::mem::take(&mut is_status_stale) {
                self.io.status.set(self.coordinator.facts(now));
            }
            let wake = self.coordinator.wake_at();
            tokio::select! {
                step = steps.recv() => {
                    self.fold(step.ok_or(Fault::Disconnected)??);
                    // Queued records are folded before the next decision: deciding after each
                    // record would be quadratic in the size of a fleet.
                    for _ in 1..STEPS_MAX {
                        let Ok(step) = steps.try_recv() else { break };
                        self.fold(step?);
                    }
                    is_status_stale = true;
                }
                beat = beats.next() => self.on_heartbeat(&beat.ok_or(Fault::Disconnected)?),
                request = secrets.next() => self.send_secrets(request.ok_or(Fault::Disconnected)?),
                Some(completion) = self.effects.join_next() => {
                    // A panic in an effect is a bug: it ends the coordinator, and its successor
                    // starts from the log.
                    self.complete(completion.expect("effects do not panic and are not aborted"));
                }
                changed = link.changed() => changed.map_err(|_| Fault::Disconnected)?,
                () = sleep_until(wake, now), if wake.is_some() => {}
                _ = pulse.tick() => is_status_stale = true,
            }
        }
    }

    fn fold(&mut self, step: Step) {
        match step {
            Step::CaughtUp => {
                tracing::info!("the log is read: deciding from now on");
                self.coordinator.caught_up();
            }
            Step::Event(Stored {
                subject,
                seq,
                payload,
                ..
            }) => {
                if let Err(poison) = self.coordinator.record(&subject, seq, &payload) {
                    tracing::warn!(%poison, "skipped");
                }
            }
        }
    }

    /// The subject gives the identity of the sender; the payload only names the process. Agents
    /// serve all tenants, on subjects of their own tenant only.
    fn on_heartbeat(&mut self, message: &Message) {
        let received_at = self.io.clock.now();
        let subjects = &self.io.settings.subjects;
        let Some(tenant) = subjects.tenant_of(&message.subject) else {
            return;
        };
        let token = Subjects::last_token(&message.subject);
        match serde_json::from_slice::<Heartbeat>(&message.payload) {
            Ok(Heartbeat::Agent(_)) if tenant != *subjects.tenant_id() => {
                tracing::debug!(subject = %message.subject, "an agent of another tenant");
            }
            Ok(Heartbeat::Agent(beat)) => {
                let Ok(agent) = AgentId::parse(token) else {
                    return;
                };
                self.coordinator
                    .heard_agent(agent.clone(), &beat, received_at);
                let (Some(reply), Some((news, more))) =
                    (&message.reply, self.coordinator.news(&agent, &beat.seen))
                else {
                    return;
                };
                let clock = self.io.clock.sample(received_at);
                self.publisher
                    .publish(reply.clone(), &HeartbeatReply { clock, news, more });
            }
            Ok(Heartbeat::Owner { .. }) => {
                let Ok(owner) = OwnerId::parse(token) else {
                    return;
                };
                self.coordinator.heard_owner(tenant, owner, received_at);
            }
            Err(error) => tracing::debug!(subject = %message.subject, %error, "invalid heartbeat"),
        }
    }

    /// Sends secrets to an agent that holds shards of their run. Others get no reply: their
    /// assignment may not have been read yet, and they retry.
    fn send_secrets(&mut self, message: Message) {
        let Some((run, agent)) = Subjects::secret_of(&message.subject) else {
            return;
        };
        let subjects = &self.io.settings.subjects;
        let (Some(tenant), Some(reply)) = (subjects.tenant_of(&message.subject), message.reply)
        else {
            return;
        };
        if !self.coordinator.is_holder(&tenant, &run, &agent) {
            tracing::debug!(%run, %agent, "secrets requested by an agent without shards");
            return;
        }
        let (bus, subjects) = (self.io.bus.clone(), subjects.of_tenant(&tenant));
        self.effects.spawn(async move {
            answers::send_secrets(&bus, &subjects, &run, &reply).await;
            Completion::SecretsSent
        });
    }

    /// Publishes a decision for the watchers of its tenant and for the agents, which listen to
    /// their own tenant only.
    fn publish_live(&self, tenant: &TenantId, news: News) {
        let home = &self.io.settings.subjects;
        self.publisher
            .publish(home.of_tenant(tenant).live(&news.run), &news);
        if tenant != home.tenant_id() {
            let tenant = Some(tenant.clone());
            let subject = home.live(&news.run);
            self.publisher.publish(subject, &News { tenant, ..news });
        }
    }

    /// After any change of the link the silence of agents proves nothing, even if it is up again.
    fn link_changed(&mut self, before: Option<Link>, link: Link) -> Link {
        if before.is_some_and(|before| before != link) {
            self.coordinator.listen_again(self.io.clock.now());
        }
        self.coordinator.link(link.is_up());
        link
    }

    fn send(&mut self, effect: Effect) {
        let Io {
            bus,
            clock,
            settings,
            ..
        } = self.io.clone();
        self.effects.spawn(async move {
            match effect {
                Effect::Append(pending) => {
                    let v = version_of(&pending.decision);
                    let (outcome, event) = append(&bus, &clock, &pending, v).await;
                    let news = event.and_then(|event| pending.news(&outcome, event));
                    Completion::Appended(pending, outcome, news.map(Box::new))
                }
                Effect::ReadDataHead(run) => {
                    let head = bus.head(Stream::Data).await;
                    Completion::DataHead(run, head)
                }
                Effect::ReadCtlLast(tenant, run) => {
                    let subject = settings.subjects.of_tenant(&tenant).ctl(&run);
                    Completion::CtlLast(run, last_seq(&bus, &subject).await)
                }
                Effect::Admit(pending) => {
                    let (outcome, _) = append(&bus, &clock, &pending, EVENT_VERSION).await;
                    Completion::Admitted(pending, outcome)
                }
                Effect::ReadAdmissionLast => {
                    let subject = settings.subjects.admission();
                    Completion::AdmissionLast(last_seq(&bus, &subject).await)
                }
                Effect::Shred(tenant, run) => {
                    let subjects = settings.subjects.of_tenant(&tenant);
                    answers::shred(&bus, &subjects, &run).await;
                    Completion::Shredded
                }
            }
        });
    }

    /// Logs and counts the outcome of an append.
    fn note(&self, run: &RunId, what: &str, outcome: &Outcome) {
        match outcome {
            Outcome::Stored { .. } => tracing::info!(%run, what, %outcome, "decided"),
            Outcome::Lost | Outcome::NotStored => {
                tracing::debug!(%run, what, %outcome, "not decided");
            }
            Outcome::Full | Outcome::TooLarge { .. } | Outcome::Fault(_) => {
                tracing::warn!(%run, what, %outcome, "not decided");
            }
        }
        self.io.status.decided(outcome.name());
    }

    fn complete(&mut self, completion: Completion) {
        let now = self.io.clock.now();
        match completion {
            Completion::Appended(pending, outcome, news) => {
                self.note(&pending.run, name(&pending.decision), &outcome);
                self.coordinator.appended(&pending.run, &outcome, now);
                if let Some(news) = news.filter(|news| is_live(&news.event.event)) {
                    let news = self.coordinator.with_plan(*news);
                    self.publish_live(&pending.tenant, news);
                }
            }
            Completion::DataHead(run, head) => {
                let head = head.inspect_err(|fault| tracing::warn!(%run, %fault, "no data head"));
                self.coordinator.data_head(&run, head.ok(), now);
            }
            Completion::CtlLast(run, last) => {
                let last = last.inspect_err(|fault| tracing::debug!(%run, %fault, "no last event"));
                self.coordinator.ctl_last(&run, last.ok(), now);
            }
            Completion::Admitted(pending, outcome) => {
                self.note(&pending.run, pending.decision.name(), &outcome);
                self.coordinator.admission_appended(&outcome, now);
            }
            Completion::AdmissionLast(last) => {
                let last = last.inspect_err(|fault| tracing::debug!(%fault, "no last admission"));
                self.coordinator.admission_last(last.ok(), now);
            }
            Completion::Shredded | Completion::SecretsSent => {}
            Completion::Clock(Ok(measured)) if self.coordinator.is_idle() => {
                self.io.clock.set(&measured);
            }
            // A run was opened meanwhile, or the server is away: the next measurement is used
            // instead.
            Completion::Clock(_) => {}
        }
    }
}

/// Last sequence of a subject of the control stream; 0 if there is none.
async fn last_seq(bus: &Bus, subject: &str) -> Result<u64, Fault> {
    let last = bus.last(Stream::Ctl, subject).await;
    last.map(|last| last.map_or(0, |stored| stored.seq))
}

/// Whether a decision is published to all agents at once. A decision that names many holders
/// reaches each agent with the reply to its next heartbeat, reduced to the agent's own part:
/// published completely, its bytes would be quadratic in the number of agents.
fn is_live(decision: &Decision) -> bool {
    let named = match decision {
        Decision::ShardsAssigned(assigned) => assigned.holdings.len(),
        Decision::ShardsReassigned(next) => next.holdings.len() + next.losses.len(),
        Decision::CapacityReduced(reduced) => reduced.losses.len(),
        Decision::RateChanged(changed) => changed.holdings.len(),
        Decision::RunSealed(seal) => seal.finals.len() + seal.missing.len(),
        _ => 0,
    };
    named <= LIVE_HOLDERS_MAX
}

/// Follows the control stream from its first record, through any outage, until it is gone.
async fn follow(bus: Bus, subjects: Vec<String>, steps: mpsc::Sender<Result<Step, Fault>>) {
    let mut tail = None;
    loop {
        let step = match &mut tail {
            // The tail continues after its last record: nothing is skipped.
            Some(tail) => Tail::next(tail).await,
            None => match bus.tail(Stream::Ctl, subjects.clone(), 1).await {
                Ok(opened) => {
                    tail = Some(opened);
                    continue;
                }
                Err(fault) => Err(fault),
            },
        };
        match step {
            Err(fault) if !is_log_gone(&fault) => {
                tracing::warn!(%fault, "the log cannot be read for now");
                sleep(TAIL_RETRY_DELAY).await;
            }
            step => {
                if steps.send(step).await.is_err() {
                    return;
                }
            }
        }
    }
}

/// Whether everything that was folded is gone from the server: only a new process, which reads the
/// log from its first record, can decide again.
fn is_log_gone(fault: &Fault) -> bool {
    matches!(fault, Fault::Missing { .. } | Fault::Remade { .. })
}

async fn sleep_until(wake: Option<Timestamp>, now: Timestamp) {
    let us = wake.map_or(SLEEP_US_MAX, |wake| wake.since_us(now).min(SLEEP_US_MAX));
    sleep(Duration::from_micros(us)).await;
}

fn name(decision: &Decision) -> &'static str {
    match decision {
        Decision::RunQueued(_) => "RunQueued",
        Decision::RunCreated(_) => "RunCreated",
        Decision::RunRefused(_) => "RunRefused",
        Decision::ShardsAssigned(_) => "ShardsAssigned",
        Decision::StartScheduled(_) => "StartScheduled",
        Decision::StartCancelled(_) => "StartCancelled",
        Decision::ShardsReassigned(_) => "ShardsReassigned",
        Decision::CapacityReduced(_) => "CapacityReduced",
        Decision::RateChanged(_) => "RateChanged",
        Decision::Paused(_) => "Paused",
        Decision::Resumed(_) => "Resumed",
        Decision::SteeringRefused(_) => "SteeringRefused",
        Decision::StopScheduled(_) => "StopScheduled",
        Decision::RunSealed(_) => "RunSealed",
    }
}
