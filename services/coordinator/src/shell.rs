//! The one loop of a coordinator: what is heard goes into the bookkeeping, the effects that come
//! out of it run as tasks, and their ends go back in. It must never wait for an effect: heartbeats
//! are answered while an append is under way.

use std::time::Duration;

use loadpilot_bus::{Bus, Fault, Link, Message, Step, Stored, Stream, Subscription};
use loadpilot_events::log::ctl::Decision;
use loadpilot_events::wire::heartbeat::{Heartbeat, HeartbeatReply, News};
use loadpilot_events::wire::subject::Subjects;
use loadpilot_events::{AgentId, OwnerId, RunId, Timestamp};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep};

use crate::answers;
use crate::append::{Outcome, append};
use crate::clock::{self, Clock, ClockMeasurement};
use crate::config::Settings;
use crate::coordinator::Coordinator;
use crate::core_publisher::CorePublisher;
use crate::http::Status;
use crate::pause_detector::{PULSE, PauseDetector};
use crate::run_state::{Effect, PendingAppend};

/// Most records that wait to be folded; the tail then waits too.
const STEPS_MAX: usize = 256;

/// Most holders in a decision that is told to all agents at once.
const LIVE_HOLDERS_MAX: usize = 64;

/// Pause before a tail that failed is asked again.
const TAIL_PAUSE: Duration = Duration::from_secs(1);

/// How often the log's server is asked for the time while no run is under way.
const CLOCK_EVERY: Duration = Duration::from_secs(10);

/// The longest sleep: a loop that sleeps longer is woken by its pulse anyway.
const SLEEP_US_MAX: u64 = 3_600_000_000;

/// What a coordinator needs of the world.
#[derive(Debug, Clone)]
pub struct Io {
    /// The connection.
    pub bus: Bus,
    /// The clock that the whole run is counted on.
    pub clock: Clock,
    /// Whose runs it decides, and by which times.
    pub settings: Settings,
    /// Where it says how it fares.
    pub status: Status,
}

/// Coordinates until `shutdown`; then ends at once, since nothing it holds is lost.
///
/// # Errors
/// When the log cannot be opened, or the connection is closed for good.
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
    clock.set(&measured(bus).await);
    let subjects = &settings.subjects;
    let mut beats = bus.subscribe(&subjects.heartbeat_all()).await?;
    let clock_requests = bus.subscribe(&subjects.clock()).await?;
    let mut secrets = bus.subscribe(&subjects.secret_all()).await?;
    let (publisher, speak) = CorePublisher::new(bus.clone());
    // Dropped, and with it every task, when this function ends.
    let mut tasks = JoinSet::new();
    tasks.spawn(speak);
    tasks.spawn(answers::clock_samples(
        bus.clone(),
        clock_requests,
        clock.clone(),
    ));
    let (tell, mut steps) = mpsc::channel(STEPS_MAX);
    tasks.spawn(follow(bus.clone(), subjects.control_of_all_runs(), tell));
    let mut shell = Shell {
        coordinator: Coordinator::new(settings.clone(), clock.now()),
        effects: JoinSet::new(),
        publisher,
        io: io.clone(),
    };
    shell.serve(&mut beats, &mut secrets, &mut steps).await
}

/// Waits for the log's time: without it nobody may be told one.
async fn measured(bus: &Bus) -> ClockMeasurement {
    loop {
        match clock::measure(bus).await {
            Ok(measured) => return measured,
            Err(fault) => {
                tracing::warn!(%fault, "the time of the log cannot be read for now");
                sleep(TAIL_PAUSE).await;
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

/// The end of an effect.
enum Completion {
    Appended(Box<PendingAppend>, Outcome, Option<Box<News>>),
    DataHead(RunId, Result<u64, Fault>),
    CtlLast(RunId, Result<u64, Fault>),
    Shredded,
    HandedOver,
    Clock(Result<ClockMeasurement, Fault>),
}

impl Shell {
    async fn serve(
        &mut self,
        beats: &mut Subscription,
        secrets: &mut Subscription,
        steps: &mut mpsc::Receiver<Step>,
    ) -> Result<(), Fault> {
        let mut link = self.io.bus.watch_link();
        let mut known_link = self.link_changed(None, *link.borrow_and_update());
        let mut pauses = PauseDetector::new(Instant::now(), self.io.clock.now());
        let mut told = true;
        let mut asked_at = Instant::now();
        let mut pulse = interval(PULSE);
        pulse.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            if self.coordinator.is_idle() && asked_at.elapsed() >= CLOCK_EVERY {
                asked_at = Instant::now();
                let bus = self.io.bus.clone();
                let measured = async move { Completion::Clock(clock::measure(&bus).await) };
                self.effects.spawn(measured);
            }
            let now = self.io.clock.now();
            if pauses.found(Instant::now(), now) {
                tracing::warn!("this process or its clock stood still: listening anew");
                self.coordinator.listen_again(now);
            }
            let bytes = self.io.bus.message_bytes_max();
            self.coordinator.message_bytes_max(bytes);
            known_link = self.link_changed(Some(known_link), *link.borrow_and_update());
            for effect in self.coordinator.next(now) {
                self.send(effect);
            }
            // A heartbeat changes no figure that cannot wait for the next pulse, and counting all
            // agents at each would cost their square.
            if std::mem::take(&mut told) {
                self.io.status.set(self.coordinator.facts(now));
            }
            let wake = self.coordinator.wake_at();
            tokio::select! {
                step = steps.recv() => {
                    self.fold(step.ok_or(Fault::Disconnected)?);
                    // What came with it is folded first: deciding after each record of a large
                    // fleet would cost the square of it.
                    for _ in 1..STEPS_MAX {
                        let Ok(step) = steps.try_recv() else { break };
                        self.fold(step);
                    }
                    told = true;
                }
                beat = beats.next() => self.heard(&beat.ok_or(Fault::Disconnected)?),
                asked = secrets.next() => self.hand_over(asked.ok_or(Fault::Disconnected)?),
                Some(completion) = self.effects.join_next() => {
                    // A panic in an effect is a bug: it ends the coordinator, and another one
                    // starts from the log.
                    self.complete(completion.expect("effects do not panic and are not aborted"));
                }
                changed = link.changed() => changed.map_err(|_| Fault::Disconnected)?,
                () = sleep_until(wake, now), if wake.is_some() => {}
                _ = pulse.tick() => told = true,
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

    /// The identity of whoever lives is its subject's; the payload only says which process.
    fn heard(&mut self, message: &Message) {
        let received_at = self.io.clock.now();
        let token = Subjects::last_token(&message.subject);
        match serde_json::from_slice::<Heartbeat>(&message.payload) {
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
                    .say(reply.clone(), &HeartbeatReply { clock, news, more });
            }
            Ok(Heartbeat::Owner { .. }) => {
                let Ok(owner) = OwnerId::parse(token) else {
                    return;
                };
                self.coordinator.heard_owner(owner, received_at);
            }
            Err(error) => tracing::debug!(subject = %message.subject, %error, "no heartbeat"),
        }
    }

    /// Hands secrets over to an agent that holds shards of their run. Others get no answer: this
    /// coordinator may not have read yet that they do, and they ask again.
    fn hand_over(&mut self, message: Message) {
        let Some((run, agent)) = Subjects::secret_of(&message.subject) else {
            return;
        };
        let Some(reply) = message.reply else { return };
        if !self.coordinator.is_holder(&run, &agent) {
            tracing::debug!(%run, %agent, "secrets were asked for without shards");
            return;
        }
        let (bus, subjects) = (self.io.bus.clone(), self.io.settings.subjects.clone());
        self.effects.spawn(async move {
            answers::hand_over(&bus, &subjects, &run, &reply).await;
            Completion::HandedOver
        });
    }

    /// Silence while the link was down proves nothing, even if it is up again already.
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
                    let (outcome, news) = append(&bus, &clock, &pending).await;
                    Completion::Appended(pending, outcome, news.map(Box::new))
                }
                Effect::ReadDataHead(run) => {
                    let head = bus.head(Stream::Data).await;
                    Completion::DataHead(run, head)
                }
                Effect::ReadCtlLast(run) => {
                    let last = bus.last(Stream::Ctl, &settings.subjects.ctl(&run)).await;
                    Completion::CtlLast(run, last.map(|last| last.map_or(0, |stored| stored.seq)))
                }
                Effect::Shred(run) => {
                    answers::shred(&bus, &settings.subjects, &run).await;
                    Completion::Shredded
                }
            }
        });
    }

    fn complete(&mut self, done: Completion) {
        let now = self.io.clock.now();
        match done {
            Completion::Appended(pending, outcome, news) => {
                let (run, what) = (&pending.run, name(&pending.decision));
                match &outcome {
                    Outcome::Stored { .. } => tracing::info!(%run, what, %outcome, "decided"),
                    Outcome::Lost | Outcome::NotStored => {
                        tracing::debug!(%run, what, %outcome, "not decided");
                    }
                    Outcome::Full | Outcome::TooLarge { .. } | Outcome::Fault(_) => {
                        tracing::warn!(%run, what, %outcome, "not decided");
                    }
                }
                self.io.status.decided(outcome.name());
                self.coordinator.appended(run, &outcome, now);
                if let Some(news) = news.filter(|news| is_for_all(&news.event.event)) {
                    self.publisher
                        .say(self.io.settings.subjects.live(run), news.as_ref());
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
            Completion::Shredded | Completion::HandedOver => {}
            Completion::Clock(Ok(measured)) if self.coordinator.is_idle() => {
                self.io.clock.set(&measured);
            }
            // A run has begun meanwhile, or the server is away: it is measured again.
            Completion::Clock(_) => {}
        }
    }
}

/// Whether a decision is told to all agents at once. One that names many holders reaches each with
/// its next heartbeat, cut down to its own part: whole, the bytes would grow with their square.
fn is_for_all(decision: &Decision) -> bool {
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

/// Follows the control stream from its begin, through any outage.
async fn follow(bus: Bus, subjects: Vec<String>, tell: mpsc::Sender<Step>) {
    loop {
        match bus.tail(Stream::Ctl, subjects.clone(), 1).await {
            Ok(mut tail) => loop {
                match tail.next().await {
                    Ok(step) => {
                        if tell.send(step).await.is_err() {
                            return;
                        }
                    }
                    // Nothing is skipped: the tail goes on where it was.
                    Err(fault) => {
                        tracing::warn!(%fault, "the log cannot be read for now");
                        sleep(TAIL_PAUSE).await;
                    }
                }
            },
            Err(fault) => {
                tracing::warn!(%fault, "the log cannot be read for now");
                sleep(TAIL_PAUSE).await;
            }
        }
    }
}

async fn sleep_until(wake: Option<Timestamp>, now: Timestamp) {
    let us = wake.map_or(SLEEP_US_MAX, |wake| wake.since_us(now).min(SLEEP_US_MAX));
    sleep(Duration::from_micros(us)).await;
}

fn name(decision: &Decision) -> &'static str {
    match decision {
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
