//! A coordinator controlled by the test: it stores and announces decisions, answers heartbeats and
//! clock requests, and reads the facts of agents.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use loadpilot_bus::{Bus, Message, Step, Stream, Subscription};
use loadpilot_events::log::ctl::Decision;
use loadpilot_events::log::delta::DeltaReported;
use loadpilot_events::log::envelope::EVENT_VERSION;
use loadpilot_events::log::evt::{Fact, What};
use loadpilot_events::wire::heartbeat::{AgentBeat, ClockSample, Heartbeat, HeartbeatReply, News};
use loadpilot_events::wire::subject::Subjects;
use loadpilot_events::{Envelope, EventId, RunId, Timestamp};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// Maximum wait for something that must happen; only a broken agent takes that long.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .expect("after 1970");
    Timestamp(u64::try_from(since.as_micros()).expect("this century"))
}

/// The handle by which a test controls the coordinator.
pub(crate) struct Script {
    pub(crate) bus: Bus,
    pub(crate) subjects: Subjects,
    pub(crate) run: RunId,
    /// Secret values to hand over.
    pub(crate) secrets: Option<BTreeMap<String, String>>,
    /// Whether decisions are announced when they are made; otherwise only replies contain them.
    pub(crate) tells: bool,
    news: Arc<Mutex<Vec<News>>>,
    beats: watch::Sender<Option<AgentBeat>>,
    servants: JoinSet<()>,
}

impl Script {
    /// A coordinator of one run, which is already listening.
    pub(crate) async fn start(bus: Bus) -> Self {
        bus.open_log().await.expect("a log in memory");
        let mut script = Self {
            bus,
            subjects: Subjects::new("lp", "local").expect("the default names"),
            run: RunId::parse("run-1").expect("a token"),
            secrets: None,
            tells: true,
            news: Arc::default(),
            beats: watch::Sender::new(None),
            servants: JoinSet::new(),
        };
        script.listen(true).await;
        script
    }

    /// Listens (again); with `answers` false it receives heartbeats and sends no reply.
    pub(crate) async fn listen(&mut self, answers: bool) {
        let beats = self.subscribe(self.subjects.heartbeat_all()).await;
        let clocks = self.subscribe(self.subjects.clock()).await;
        let secrets = self.subscribe(self.subjects.secret_all()).await;
        let (bus, news, heard) = (self.bus.clone(), self.news.clone(), self.beats.clone());
        self.servants
            .spawn(answer_beats(bus, beats, news, heard, answers));
        self.servants.spawn(answer_clocks(self.bus.clone(), clocks));
        if let Some(values) = &self.secrets {
            let payload = serde_json::to_vec(values).expect("texts");
            self.servants
                .spawn(answer_secrets(self.bus.clone(), secrets, payload));
        }
    }

    /// Ends as by kill -9: its knowledge is in the log only.
    pub(crate) async fn die(&mut self) {
        self.servants.shutdown().await;
    }

    async fn subscribe(&self, subject: String) -> Subscription {
        self.bus.subscribe(&subject).await.expect("the bus is up")
    }

    /// Stores a decision and announces it.
    pub(crate) async fn decide(&self, decision: Decision) {
        let event = Envelope {
            v: EVENT_VERSION,
            id: EventId::from_ulid(ulid::Ulid::generate()),
            at: now(),
            event: decision,
        };
        let payload = serde_json::to_vec(&event).expect("a decision has a JSON form");
        let subject = self.subjects.ctl(&self.run);
        let id = event.id.as_str();
        let stored = self
            .bus
            .append(Stream::Ctl, &subject, id, payload.into())
            .await;
        let seq = stored.expect("the log takes it").seq;
        let news = {
            let mut known = self.news.lock().expect("no panic under this lock");
            let previous_seq = known.last().map_or(0, |news| news.seq);
            let run = self.run.clone();
            known.push(News {
                tenant: None,
                run,
                seq,
                previous_seq,
                event,
            });
            serde_json::to_vec(&known[known.len() - 1]).expect("news have a JSON form")
        };
        if self.tells {
            let live = self.subjects.live(&self.run);
            self.bus
                .publish(&live, news.into())
                .await
                .expect("the bus is up");
        }
    }

    /// Waits for the first heartbeat for which `wanted` is true.
    pub(crate) async fn beat(&self, wanted: impl Fn(&AgentBeat) -> bool) -> AgentBeat {
        let mut beats = self.beats.subscribe();
        let found = beats.wait_for(|beat| beat.as_ref().is_some_and(&wanted));
        let found = tokio::time::timeout(PATIENCE, found)
            .await
            .expect("a heartbeat in time");
        found
            .expect("the script lives")
            .clone()
            .expect("just checked")
    }

    /// Waits for the first fact that `pick` accepts.
    pub(crate) async fn fact<T>(&self, pick: impl Fn(&What) -> Option<T>) -> T {
        let facts = vec![self.subjects.evt_all(&self.run)];
        let mut tail = self.bus.tail(Stream::Ctl, facts, 1).await.expect("a log");
        let find = async {
            loop {
                if let Step::Event(stored) = tail.next().await.expect("a log") {
                    let fact: Envelope<Fact> =
                        serde_json::from_slice(&stored.payload).expect("a fact");
                    if let Some(found) = pick(&fact.event.what) {
                        return found;
                    }
                }
            }
        };
        tokio::time::timeout(PATIENCE, find)
            .await
            .expect("the fact in time")
    }

    /// The names of all facts so far, in order.
    pub(crate) async fn facts(&self) -> Vec<String> {
        let facts = vec![self.subjects.evt_all(&self.run)];
        let stored = self
            .bus
            .read(Stream::Ctl, facts, None)
            .await
            .expect("a log");
        let name = |payload: &[u8]| {
            let json: serde_json::Value = serde_json::from_slice(payload).expect("JSON");
            json["event"]["what"]["type"]
                .as_str()
                .expect("a tagged fact")
                .to_owned()
        };
        stored.iter().map(|stored| name(&stored.payload)).collect()
    }

    /// Waits until at least `count` deltas are stored.
    pub(crate) async fn deltas_stored(&self, count: usize) {
        let deltas = vec![self.subjects.delta_all(&self.run)];
        let mut tail = self.bus.tail(Stream::Data, deltas, 1).await.expect("a log");
        let mut found = 0;
        while found < count {
            let step = tokio::time::timeout(PATIENCE, tail.next())
                .await
                .expect("deltas in time");
            found += usize::from(matches!(step.expect("a log"), Step::Event(_)));
        }
    }

    /// All deltas in the order in which they are stored.
    pub(crate) async fn deltas(&self) -> Vec<DeltaReported> {
        let deltas = vec![self.subjects.delta_all(&self.run)];
        let stored = self
            .bus
            .read(Stream::Data, deltas, None)
            .await
            .expect("a log");
        let parse = |payload: &[u8]| {
            let delta: Envelope<DeltaReported> = serde_json::from_slice(payload).expect("a delta");
            delta.event
        };
        stored.iter().map(|stored| parse(&stored.payload)).collect()
    }
}

async fn answer_beats(
    bus: Bus,
    mut beats: Subscription,
    news: Arc<Mutex<Vec<News>>>,
    heard: watch::Sender<Option<AgentBeat>>,
    answers: bool,
) {
    while let Some(message) = beats.next().await {
        let received_at = now();
        let beat: Heartbeat = serde_json::from_slice(&message.payload).expect("a heartbeat");
        let Heartbeat::Agent(beat) = beat else {
            continue;
        };
        let lacking = {
            let known = news.lock().expect("no panic under this lock");
            let seen = |news: &News| {
                let seen = beat.seen.iter().find(|seen| seen.run == news.run);
                seen.map_or(0, |seen| seen.ctl_seq)
            };
            known
                .iter()
                .filter(|news| news.seq > seen(news))
                .cloned()
                .collect()
        };
        heard.send_replace(Some(beat));
        if answers {
            let reply = HeartbeatReply {
                clock: ClockSample {
                    received_at,
                    replied_at: now(),
                    bound_us: 0,
                },
                news: lacking,
                more: false,
            };
            reply_to(&bus, &message, serde_json::to_vec(&reply).expect("JSON")).await;
        }
    }
}

async fn answer_clocks(bus: Bus, mut requests: Subscription) {
    while let Some(message) = requests.next().await {
        let sample = ClockSample {
            received_at: now(),
            replied_at: now(),
            bound_us: 0,
        };
        reply_to(&bus, &message, serde_json::to_vec(&sample).expect("JSON")).await;
    }
}

async fn answer_secrets(bus: Bus, mut requests: Subscription, payload: Vec<u8>) {
    while let Some(message) = requests.next().await {
        reply_to(&bus, &message, payload.clone()).await;
    }
}

async fn reply_to(bus: &Bus, message: &Message, payload: Vec<u8>) {
    let reply = message.reply.as_ref().expect("it was a request");
    // The connection of the requester may be cut by now.
    let _ = bus.publish(reply, payload.into()).await;
}
