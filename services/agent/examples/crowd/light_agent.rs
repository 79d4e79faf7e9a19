//! One light agent: heartbeats, offer, ready, one delta per tick, last words. Its counts are made
//! up; everything else is as in a real agent.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use loadpilot_agent::fire::MonoTime;
use loadpilot_agent::process::timeouts::Timeouts;
use loadpilot_agent::runs::clock::measure;
use loadpilot_agent::runs::phase_us;
use loadpilot_agent::wall_clock;
use loadpilot_bus::{Bus, Stream};
use loadpilot_engine::control::agent_view::{AgentView, Stage};
use loadpilot_engine::schedule::workload::Workload;
use loadpilot_events::log::envelope::EVENT_VERSION;
use loadpilot_events::log::evt::{
    CapacityOffered, Fact, FinishReason, ShardsFinished, ShardsReady, ShardsStarted, What,
};
use loadpilot_events::wire::heartbeat::{AgentBeat, Heartbeat, HeartbeatReply, News, Seen};
use loadpilot_events::wire::subject::Subjects;
use loadpilot_events::{AgentId, BootId, Envelope, EventId, Holder, Rate, RunId, Timestamp};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep};

use crate::rows::{Books, Rows};
use crate::spread::Spread;
use crate::{Trouble, connect, say, subjects};

/// Number of agents that connect at the same time.
const CONNECTING: u32 = 50;

/// The measurements of all agents.
#[derive(Debug, Default)]
struct Found {
    /// Time from publishing a delta to its acknowledgement.
    acks: Spread,
    /// Time from closing a delta to its acknowledgement, which includes the wait for the deltas
    /// before it.
    behind: Spread,
    /// Time from the begin of a heartbeat to its reply.
    beats: Spread,
    /// The rows that deltas consist of.
    rows: Rows,
    /// Bytes of deltas.
    bytes: u64,
    /// Deltas or facts that had to be sent again.
    again: u64,
}

type Shared = Arc<Mutex<Found>>;

fn with<T>(found: &Shared, change: impl FnOnce(&mut Found) -> T) -> T {
    change(&mut found.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Lets `count` agents take part in one run.
pub(crate) async fn crowd(count: u32) -> Result<Value, Trouble> {
    let found = Shared::default();
    let mut members = JoinSet::new();
    for number in 0..count {
        let member = Member::new(number, found.clone()).await?;
        members.spawn(member.play());
        if number % CONNECTING == 0 {
            tokio::task::yield_now().await;
        }
    }
    say(&json!({"connected": count}));
    while let Some(ended) = members.join_next().await {
        ended??;
    }
    Ok(with(&found, |found| {
        json!({"acks": found.acks.summary(), "behind": found.behind.summary(),
            "beats": found.beats.summary(),
            "delta_bytes": found.bytes, "again": found.again})
    }))
}

struct Member {
    bus: Bus,
    subjects: Subjects,
    me: Holder,
    found: Shared,
    letters: mpsc::UnboundedSender<Letter>,
    run: Option<RunId>,
    view: AgentView,
    part: Option<Part>,
    offered: bool,
    ready_for: u32,
}

/// The agent's part in a run that starts or has started.
struct Part {
    workload: Workload,
    shards: u32,
    start_at: Timestamp,
    phase_us: u64,
    tick: u32,
    closed_us: u64,
    books: Books,
}

/// An event on its way into the log. They are published one at a time, so that none overtakes
/// another.
struct Letter {
    stream: Stream,
    subject: String,
    event: (EventId, Bytes),
    /// When it was closed, if it is a delta.
    closed: Option<Instant>,
}

/// Stores the events in order; ends with its agent.
async fn deliver(bus: Bus, mut letters: mpsc::UnboundedReceiver<Letter>, found: Shared) {
    while let Some(letter) = letters.recv().await {
        let began = Instant::now();
        store(&bus, letter.stream, &letter.subject, letter.event, &found).await;
        if let Some(closed) = letter.closed {
            with(&found, |found| {
                found.acks.add(us(began.elapsed()));
                found.behind.add(us(closed.elapsed()));
            });
        }
    }
}

impl Member {
    async fn new(number: u32, found: Shared) -> Result<Self, Trouble> {
        let me = Holder {
            agent: AgentId::parse(&format!("agent-{number:05}"))?,
            boot_id: BootId::from_ulid(ulid::Ulid::generate()),
        };
        let bus = connect(me.agent.as_str()).await?;
        let (letters, waiting) = mpsc::unbounded_channel();
        tokio::spawn(deliver(bus.clone(), waiting, found.clone()));
        Ok(Self {
            bus,
            letters,
            subjects: subjects()?,
            view: AgentView::new(me.clone()),
            me,
            found,
            run: None,
            part: None,
            offered: false,
            ready_for: 0,
        })
    }

    async fn play(mut self) -> Result<(), Trouble> {
        let mut live = self.bus.subscribe(&self.subjects.live_all()).await?;
        let (tell, mut replies) = mpsc::unbounded_channel();
        let timeouts = Timeouts::default();
        let phase = Duration::from_micros(phase_us(&self.me.agent, 1_000_000));
        let mut beat = interval_at(Instant::now() + phase, timeouts.heartbeat);
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while self.view.stage() != Stage::Over {
            tokio::select! {
                message = live.next() => {
                    let message = message.ok_or("the connection is gone")?;
                    self.hear(&serde_json::from_slice(&message.payload)?);
                }
                Some(reply) = replies.recv() => {
                    let reply: HeartbeatReply = reply;
                    reply.news.iter().for_each(|news| self.hear(news));
                }
                _ = beat.tick() => self.beat(tell.clone(), timeouts.heartbeat_reply)?,
                () = sleep(self.until_close()), if self.part.is_some() => self.close().await?,
            }
            self.act(&timeouts).await?;
        }
        Ok(())
    }

    fn beat(
        &self,
        tell: mpsc::UnboundedSender<HeartbeatReply>,
        patience: Duration,
    ) -> Result<(), Trouble> {
        let seen = self.run.iter().map(|run| Seen {
            run: run.clone(),
            ctl_seq: self.view.ctl_seq(),
        });
        let beat = Heartbeat::Agent(AgentBeat {
            boot_id: self.me.boot_id.clone(),
            predecessor_dead: false,
            seen: seen.collect(),
            has: BTreeSet::new(),
            recovering: Vec::new(),
            full: false,
            unreached: Vec::new(),
            about: None,
        });
        let payload = Bytes::from(serde_json::to_vec(&beat)?);
        let subject = self.subjects.heartbeat(&self.me.agent);
        let (bus, found) = (self.bus.clone(), self.found.clone());
        tokio::spawn(async move {
            let began = Instant::now();
            // Without a reply the agent sends the next heartbeat in a second.
            let Ok(reply) = bus.request(&subject, payload, patience).await else {
                return;
            };
            with(&found, |found| found.beats.add(us(began.elapsed())));
            if let Ok(reply) = serde_json::from_slice(&reply) {
                // Once the run is over there is no receiver.
                let _ = tell.send(reply);
            }
        });
        Ok(())
    }

    fn hear(&mut self, news: &News) {
        if self.run.get_or_insert_with(|| news.run.clone()) == &news.run {
            self.view.apply(news);
        }
    }

    /// Reacts to the decisions received so far.
    async fn act(&mut self, timeouts: &Timeouts) -> Result<(), Trouble> {
        if self.view.created().is_some() && !self.offered {
            self.offered = true;
            let offer = CapacityOffered {
                rate: Rate::per_second(1_000),
                cores: 1,
                expires: wall_clock::now().plus_us(600_000_000),
                version: "crowd".to_owned(),
            };
            self.state(What::CapacityOffered(offer))?;
        }
        let generation = self.view.generation();
        if generation > self.ready_for && !self.view.holds().is_empty() {
            self.ready_for = generation;
            let aligned = measure(&self.bus, &self.subjects.clock(), timeouts).await;
            let ready = ShardsReady {
                generation,
                clock: aligned.estimate(wall_clock::now(), MonoTime::now()),
                max_in_flight: 1_000,
            };
            self.state(What::ShardsReady(ready))?;
        }
        if let (Stage::Scheduled { start_at }, None) = (self.view.stage(), &self.part) {
            self.begin(start_at);
        }
        Ok(())
    }

    fn begin(&mut self, start_at: Timestamp) {
        let holds = !self.view.holds().is_empty();
        let Some(created) = self.view.created().filter(|_| holds) else {
            return;
        };
        let tick_us = created.plan.tick_us;
        self.part = Some(Part {
            workload: Workload::new(&created.plan, created.seed),
            shards: created.shards,
            start_at,
            phase_us: phase_us(&self.me.agent, tick_us),
            tick: 0,
            closed_us: 0,
            books: Books::new(self.me.boot_id.clone()),
        });
    }

    /// Time until its next tick is closed.
    fn until_close(&self) -> Duration {
        let us = self.part.as_ref().map_or(0, |part| {
            part.start_at
                .plus_us(part.closes_us())
                .since_us(wall_clock::now())
        });
        Duration::from_micros(us)
    }

    /// Closes a tick into deltas and sends them; after the last one it publishes its last words.
    async fn close(&mut self) -> Result<(), Trouble> {
        let Some(run) = self.run.clone() else {
            return Ok(());
        };
        let holds = self.view.holds();
        let Some(part) = self.part.as_mut().filter(|part| !part.is_over()) else {
            // Until it learns that the run is over.
            sleep(Duration::from_millis(50)).await;
            return Ok(());
        };
        let in_force = holds.iter().find(|hold| {
            part.tick >= hold.from_tick && hold.until_tick.is_none_or(|until| part.tick < until)
        });
        let held = in_force.map_or((0, &[][..]), |hold| (hold.generation, &hold.shards[..]));
        let (of, window_us) = (
            (&part.workload, part.shards),
            (part.closed_us, part.closes_us()),
        );
        let delta = with(&self.found, |found| {
            found
                .rows
                .delta(&mut part.books, of, part.tick, held, window_us)
        });
        (part.closed_us, part.tick) = (window_us.1, part.tick + 1);
        let event = envelope(delta)?;
        with(&self.found, |found| found.bytes += event.1.len() as u64);
        self.letters.send(Letter {
            stream: Stream::Data,
            subject: self.subjects.delta(&run, &self.me.agent),
            event,
            closed: Some(Instant::now()),
        })?;
        if part.is_over() {
            let finished = ShardsFinished {
                reason: FinishReason::Completed,
                final_seq: part.books.seq,
                totals: part.books.totals.clone(),
                on_stop_failed: None,
            };
            return self.state(What::ShardsFinished(finished));
        }
        if part.tick == 1 {
            let generation = self.ready_for;
            return self.state(What::ShardsStarted(ShardsStarted { generation }));
        }
        Ok(())
    }

    fn state(&self, what: What) -> Result<(), Trouble> {
        let Some(run) = &self.run else {
            return Ok(());
        };
        let boot_id = self.me.boot_id.clone();
        let event = envelope(Fact { boot_id, what })?;
        let subject = self.subjects.evt(run, &self.me.agent);
        self.letters.send(Letter {
            stream: Stream::Ctl,
            subject,
            event,
            closed: None,
        })?;
        Ok(())
    }
}

impl Part {
    fn is_over(&self) -> bool {
        self.tick >= self.workload.ticks()
    }

    /// When its open tick is closed, in µs after the start.
    fn closes_us(&self) -> u64 {
        u64::from(self.tick + 1) * self.workload.tick_us() + self.phase_us
    }
}

fn envelope<E: Serialize>(event: E) -> Result<(EventId, Bytes), Trouble> {
    let id = EventId::from_ulid(ulid::Ulid::generate());
    let event = Envelope {
        v: EVENT_VERSION,
        id: id.clone(),
        at: wall_clock::now(),
        event,
    };
    Ok((id, Bytes::from(serde_json::to_vec(&event)?)))
}

/// Stores an event, with as many attempts as necessary.
async fn store(
    bus: &Bus,
    stream: Stream,
    subject: &str,
    (id, payload): (EventId, Bytes),
    found: &Shared,
) {
    while bus
        .append(stream, subject, id.as_str(), payload.clone())
        .await
        .is_err()
    {
        with(found, |found| found.again += 1);
        sleep(Timeouts::default().retry).await;
    }
}

fn us(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}
