//! Parts of the suites: a bus of either kind, coordinators that can be killed, and a scripted agent
//! that offers capacity, gets ready and finishes.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bytes::Bytes;
use loadpilot_bus::testserver::TestServer;
use loadpilot_bus::{Bus, Fault, Limits, Step, Stream};
use loadpilot_coordinator::{Clock, Io, Settings, Status, run};
use loadpilot_engine::control::agent_view::{AgentView, Stage};
use loadpilot_engine::control::decide::Policy;
use loadpilot_events::log::ctl::Decision;
use loadpilot_events::log::envelope::EVENT_VERSION;
use loadpilot_events::wire::heartbeat::{AgentBeat, Heartbeat, HeartbeatReply, News, Seen};
use loadpilot_events::wire::subject::Subjects;
use loadpilot_events::{AgentId, BootId, Envelope, Holder, RunId};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval, timeout};

/// Timeout of one step of a test: a hang fails instead of blocking.
pub(crate) const STEP_TIMEOUT: Duration = Duration::from_secs(60);

/// Interval of the heartbeats of a scripted agent.
const HEARTBEAT_INTERVAL: Duration = Duration::from_millis(50);

/// Length of every run, in µs.
const PROFILE_US: u64 = 300_000;

/// The decisions of a run without any failure.
pub(crate) const UNDISTURBED: [&str; 4] = [
    "RunCreated",
    "ShardsAssigned",
    "StartScheduled",
    "RunSealed",
];

/// A server of one kind, new for each test.
pub(crate) enum Rig {
    /// The memory twin.
    Memory(Bus),
    /// A nats-server.
    Real(TestServer),
}

impl Rig {
    /// A server in memory.
    pub(crate) fn memory() -> Self {
        Self::Memory(Bus::memory_with(Limits::default()))
    }

    /// A connection of its own.
    pub(crate) async fn connect(&self) -> Bus {
        match self {
            Self::Memory(Bus::Memory(memory)) => Bus::Memory(memory.peer()),
            Self::Memory(_) => unreachable!("a memory rig holds a memory bus"),
            Self::Real(server) => Bus::connect(&server.options()).await.expect("it accepts"),
        }
    }

    /// A connection with the log opened.
    pub(crate) async fn open(&self) -> Bus {
        let bus = self.connect().await;
        bus.open_log().await.expect("the log opens");
        bus
    }

    /// Starts a coordinator on a connection of its own.
    pub(crate) async fn coordinator(&self, seal_unfinished: bool) -> RunningCoordinator {
        let settings = Settings {
            subjects: subjects(),
            policy: Policy::default(),
            seal_asked_before: seal_unfinished.then(|| Clock::system().now()),
            spared: None,
        };
        let io = Io {
            bus: self.connect().await,
            clock: Clock::system(),
            settings,
            status: Status::default(),
        };
        RunningCoordinator(tokio::spawn(run(io, std::future::pending())))
    }

    /// Starts an agent; a deaf one receives only the replies to its heartbeats.
    pub(crate) async fn agent(&self, name: &str, deaf: bool) -> RunningAgent {
        let bus = self.open().await;
        let me = Holder {
            agent: AgentId::parse(name).expect("a token"),
            boot_id: BootId::from_ulid(ulid::Ulid::generate()),
        };
        let agent = Agent {
            bus,
            me,
            runs: BTreeMap::new(),
        };
        RunningAgent(tokio::spawn(agent.play(deaf)))
    }
}

/// A running coordinator; dropping it kills it.
pub(crate) struct RunningCoordinator(JoinHandle<Result<(), Fault>>);

impl Drop for RunningCoordinator {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A running agent; dropping it kills it.
pub(crate) struct RunningAgent(JoinHandle<()>);

impl Drop for RunningAgent {
    fn drop(&mut self) {
        self.0.abort();
    }
}

struct Agent {
    bus: Bus,
    me: Holder,
    runs: BTreeMap<RunId, Part>,
}

struct Part {
    view: AgentView,
    offered: bool,
    ready: u32,
    finished: bool,
}

impl Agent {
    async fn play(mut self, deaf: bool) {
        let subject = if deaf {
            "nowhere".to_owned()
        } else {
            subjects().live_all()
        };
        let mut live = self.bus.subscribe(&subject).await.expect("it may listen");
        let mut beat = interval(HEARTBEAT_INTERVAL);
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                message = live.next() => {
                    let message = message.expect("the connection lives");
                    self.hear(&serde_json::from_slice(&message.payload).expect("news"));
                }
                _ = beat.tick() => self.beat().await,
            }
            self.act().await;
        }
    }

    async fn beat(&mut self) {
        let seen = self.runs.iter().map(|(run, part)| {
            let (run, ctl_seq) = (run.clone(), part.view.ctl_seq());
            Seen { run, ctl_seq }
        });
        let beat = Heartbeat::Agent(AgentBeat {
            unreached: Vec::new(),
            about: None,
            boot_id: self.me.boot_id.clone(),
            predecessor_dead: false,
            recovering: Vec::new(),
            seen: seen.collect(),
            has: BTreeSet::new(),
            full: false,
        });
        let subject = subjects().heartbeat(&self.me.agent);
        let payload = Bytes::from(serde_json::to_vec(&beat).expect("JSON"));
        // Without a coordinator there is no reply; the next heartbeat may get one.
        let Ok(reply) = self
            .bus
            .request(&subject, payload, Duration::from_secs(1))
            .await
        else {
            return;
        };
        let reply: HeartbeatReply = serde_json::from_slice(&reply).expect("a reply");
        assert!(reply.clock.received_at <= reply.clock.replied_at);
        reply.news.iter().for_each(|news| self.hear(news));
    }

    fn hear(&mut self, news: &News) {
        let part = self.runs.entry(news.run.clone()).or_insert_with(|| Part {
            view: AgentView::new(self.me.clone()),
            offered: false,
            ready: 0,
            finished: false,
        });
        part.view.apply(news);
    }

    async fn act(&mut self) {
        let now = Clock::system().now();
        let mut facts = Vec::new();
        for (run, part) in &mut self.runs {
            let generation = part.view.generation();
            match part.view.stage() {
                Stage::Gathering if part.view.created().is_some() && !part.offered => {
                    part.offered = true;
                    facts.push((
                        run.clone(),
                        json!({"type": "CapacityOffered", "rate": 1,
                        "cores": 1, "expires": now.plus_us(60_000_000), "version": "0"}),
                    ));
                }
                Stage::Assigned if !part.view.holds().is_empty() && part.ready < generation => {
                    part.ready = generation;
                    facts.push((
                        run.clone(),
                        json!({"type": "ShardsReady",
                        "generation": generation, "max_in_flight": 9,
                        "clock": {"offset_us": 0, "bound_us": 1}}),
                    ));
                }
                Stage::Scheduled { start_at }
                    if !part.finished && now >= start_at.plus_us(PROFILE_US) =>
                {
                    part.finished = true;
                    let totals = loadpilot_events::log::delta::Totals::default();
                    facts.push((
                        run.clone(),
                        json!({"type": "ShardsFinished",
                        "reason": "completed", "final_seq": 1, "totals": totals}),
                    ));
                }
                _ => {}
            }
        }
        self.runs.retain(|_, part| part.view.stage() != Stage::Over);
        for (run, what) in facts {
            self.state(&run, &what).await;
        }
    }

    /// Stores a fact; before the final one it stores a delta, as an agent does.
    async fn state(&self, run: &RunId, what: &Value) {
        let agent = &self.me.agent;
        if what["type"] == "ShardsFinished" {
            let subject = subjects().delta(run, agent);
            store(&self.bus, Stream::Data, &subject, &json!({"a": "delta"})).await;
        }
        let fact = json!({"boot_id": self.me.boot_id, "what": what});
        store(&self.bus, Stream::Ctl, &subjects().evt(run, agent), &fact).await;
    }
}

/// The subjects of the tests' tenant.
pub(crate) fn subjects() -> Subjects {
    Subjects::new("lp", "local").expect("tokens")
}

/// Stores `event` in an envelope; retries with the same id while the server is away.
pub(crate) async fn store(bus: &Bus, stream: Stream, subject: &str, event: &Value) -> u64 {
    let id = ulid::Ulid::generate().to_string().to_ascii_lowercase();
    let envelope = json!({"v": EVENT_VERSION, "id": id, "at": Clock::system().now(),
        "event": event});
    let payload = Bytes::from(envelope.to_string());
    let stored = async {
        loop {
            match bus.append(stream, subject, &id, payload.clone()).await {
                Ok(stored) => return stored.seq,
                Err(_) => tokio::time::sleep(HEARTBEAT_INTERVAL).await,
            }
        }
    };
    timeout(STEP_TIMEOUT, stored)
        .await
        .expect("the log takes it in time")
}

/// Requests a run of one agent and returns its id.
pub(crate) async fn request_run(bus: &Bus) -> RunId {
    request_run_with(bus, Vec::new()).await
}

/// Requests a run of one agent with further steps and returns its id.
pub(crate) async fn request_run_with(bus: &Bus, further: Vec<Value>) -> RunId {
    let run = RunId::from_ulid(ulid::Ulid::generate());
    let mut steps = vec![
        json!({"name": "GET /", "method": "GET", "path": "/", "headers": [
        {"name": "Authorization", "value": {"secret": "s"}}]}),
    ];
    steps.extend(further);
    let request = json!({"type": "RunRequested", "seed": 1, "lead_us": 10_000,
        "agents": {"want": 1, "min": 1, "wait_us": 30_000_000},
        "plan": {"schema": "loadpilot.plan/1", "scenario": "S", "target": "http://127.0.0.1:1",
            "profile": {"shape": "constant", "pieces": [
                {"duration_us": PROFILE_US, "from": 10_000_000, "to": 10_000_000}]},
            "tasks": [{"name": "t", "weight": 1, "steps": steps}],
            "warm_up_us": 0, "timeout_us": 1_000_000, "max_wait_us": 0,
            "max_lateness_us": 500_000, "tick_us": 100_000}});
    store(bus, Stream::Ctl, &subjects().req(&run), &request).await;
    run
}

/// Follows the decisions of `run` until there are `count` of them, and returns the newest.
pub(crate) async fn decisions(bus: &Bus, run: &RunId, count: usize) -> Decision {
    let subject = vec![subjects().ctl(run)];
    let mut tail = bus
        .tail(Stream::Ctl, subject, 1)
        .await
        .expect("the log is there");
    let mut found = 0;
    loop {
        let step = timeout(STEP_TIMEOUT, tail.next()).await;
        let step = step.unwrap_or_else(|_| panic!("{found} of {count} decisions in time"));
        let Step::Event(stored) = step.expect("the tail goes on") else {
            continue;
        };
        let parsed = serde_json::from_slice::<Envelope<Decision>>(&stored.payload);
        let Ok(event) = parsed else { continue };
        found += 1;
        let last = matches!(
            event.event,
            Decision::RunSealed(_) | Decision::RunRefused(_)
        );
        if found == count || last {
            return event.event;
        }
    }
}

/// Waits until `run` is over and returns its last decision.
pub(crate) async fn end(bus: &Bus, run: &RunId) -> Decision {
    decisions(bus, run, usize::MAX).await
}

/// The names of all decisions about `run`, in order.
pub(crate) async fn decision_names(bus: &Bus, run: &RunId) -> Vec<String> {
    let stored = bus.read(Stream::Ctl, vec![subjects().ctl(run)], None).await;
    let name = |payload: &Bytes| -> Option<String> {
        let event: Value = serde_json::from_slice(payload).ok()?;
        event["event"]["type"].as_str().map(str::to_owned)
    };
    let stored = stored.expect("the log can be read");
    stored
        .iter()
        .filter_map(|stored| name(&stored.payload))
        .collect()
}
