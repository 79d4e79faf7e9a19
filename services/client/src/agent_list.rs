//! The agents of a fleet: their heartbeats show which are alive, the log shows what they hold.
//!
//! An agent that only the log names is listed with `heard: false`.

use std::collections::BTreeMap;
use std::time::Duration;

use loadpilot_engine::control::Control;
use loadpilot_engine::control::assign::share;
use loadpilot_engine::schedule::workload::Workload;
use loadpilot_events::id::Holder;
use loadpilot_events::log::start::ClockEstimate;
use loadpilot_events::units::Rate;
use loadpilot_events::wire::heartbeat::{AgentBeat, Heartbeat};
use loadpilot_events::wire::subject::Subjects;
use loadpilot_events::{AgentId, Capability, RunId, Timestamp};
use serde::Serialize;
use tokio::time::{Instant, timeout_at};

use super::session::{Session, SessionError, now};

/// One process of an agent.
#[derive(Debug, Clone, Serialize)]
pub struct ListedAgent {
    /// Agent id and boot id.
    pub holder: Holder,
    /// Host name; null when its heartbeat does not name it.
    pub host: Option<String>,
    /// Version of its build.
    pub version: Option<String>,
    /// Number of load-generating threads per run.
    pub cores: Option<u32>,
    /// Its capabilities.
    pub has: Vec<Capability>,
    /// CPU use between its first and its last heartbeat, in thousandths of one core.
    pub cpu_millicores: Option<u64>,
    /// Its clock minus this machine's, in µs, minus the heartbeat's time on the network: a lower
    /// bound.
    pub ahead_us: Option<i64>,
    /// Its clock against the coordinator's, as measured for its newest run; null before any run.
    pub clock: Option<ClockEstimate>,
    /// Whether a heartbeat was received; otherwise only the log names it as a holder.
    pub heard: bool,
    /// Shards that it holds now, by run.
    pub holds: Vec<HeldShards>,
}

/// Shards of one run.
#[derive(Debug, Clone, Serialize)]
pub struct HeldShards {
    /// The run.
    pub run: RunId,
    /// Number of shards held.
    pub shards: usize,
    /// Number of shards of the whole run.
    pub of: u32,
    /// Arrivals per second planned for these shards now; null in a closed loop.
    pub rps: Option<f64>,
    /// Whether the run is paused.
    pub paused: bool,
}

/// The first and the last heartbeat of one process, each with its arrival.
struct Beats {
    first: (Instant, AgentBeat),
    last: (Instant, AgentBeat),
    ahead_us: Option<i64>,
}

impl Session {
    /// Listens for heartbeats for `listen_for` and lists the agents by name.
    ///
    /// # Errors
    /// A fault of the bus.
    pub async fn agents(&self, listen_for: Duration) -> Result<Vec<ListedAgent>, SessionError> {
        let beats = self.beats(listen_for).await?;
        let mut agents: BTreeMap<Holder, ListedAgent> = beats
            .into_iter()
            .map(|(holder, beats)| (holder.clone(), listed(holder, &beats)))
            .collect();
        for control in self.control_of_all().await? {
            for (holder, ready) in &control.state.ready {
                if let Some(known) = agents.get_mut(holder) {
                    known.clock = Some(ready.clock);
                }
            }
            let holdings = control.state.holdings.iter();
            for holding in holdings.filter(|_| !control.state.over) {
                let known = agents.entry(holding.holder.clone());
                let known = known.or_insert_with(|| unheard(holding.holder.clone()));
                known
                    .holds
                    .push(held_shards(&control, holding.shards.len()));
            }
        }
        Ok(agents.into_values().collect())
    }

    async fn beats(&self, listen_for: Duration) -> Result<BTreeMap<Holder, Beats>, SessionError> {
        let (bus, subjects) = self.parts();
        let mut messages = bus.subscribe(&subjects.heartbeat_all()).await?;
        let mut beats: BTreeMap<Holder, Beats> = BTreeMap::new();
        let until = Instant::now() + listen_for;
        while let Ok(Some(message)) = timeout_at(until, messages.next()).await {
            let at = (Instant::now(), now());
            let agent = AgentId::parse(Subjects::last_token(&message.subject));
            let beat = serde_json::from_slice(&message.payload);
            let (Ok(agent), Ok(Heartbeat::Agent(beat))) = (agent, beat) else {
                continue;
            };
            let boot_id = beat.boot_id.clone();
            add_beat(&mut beats, Holder { agent, boot_id }, beat, at);
        }
        Ok(beats)
    }
}

fn add_beat(
    beats: &mut BTreeMap<Holder, Beats>,
    holder: Holder,
    beat: AgentBeat,
    (at, wall): (Instant, Timestamp),
) {
    let micros = |at: Timestamp| i64::try_from(at.0).unwrap_or(i64::MAX);
    let about = beat.about.as_ref();
    let ahead_us = about.map(|about| micros(about.at).saturating_sub(micros(wall)));
    match beats.get_mut(&holder) {
        None => {
            let (first, last) = ((at, beat.clone()), (at, beat));
            beats.insert(
                holder,
                Beats {
                    first,
                    last,
                    ahead_us,
                },
            );
        }
        Some(beats) => {
            beats.last = (at, beat);
            // Network delay makes a clock look behind, so the largest difference is the best
            // estimate.
            beats.ahead_us = beats.ahead_us.max(ahead_us);
        }
    }
}

fn listed(holder: Holder, beats: &Beats) -> ListedAgent {
    let (begin, end) = (&beats.first, &beats.last);
    let about = end.1.about.as_ref();
    let used_us = begin.1.about.as_ref().zip(about);
    let used_us = used_us.map(|(first, last)| last.cpu_us.saturating_sub(first.cpu_us));
    let window_us = u64::try_from((end.0 - begin.0).as_micros()).unwrap_or(u64::MAX);
    ListedAgent {
        host: about.map(|about| about.host.clone()),
        version: about.map(|about| about.version.clone()),
        cores: about.map(|about| about.cores),
        has: end.1.has.iter().cloned().collect(),
        cpu_millicores: used_us.and_then(|us| (us * 1_000).checked_div(window_us)),
        ahead_us: beats.ahead_us,
        heard: true,
        ..unheard(holder)
    }
}

fn unheard(holder: Holder) -> ListedAgent {
    ListedAgent {
        holder,
        host: None,
        version: None,
        cores: None,
        has: Vec::new(),
        cpu_millicores: None,
        ahead_us: None,
        clock: None,
        heard: false,
        holds: Vec::new(),
    }
}

fn held_shards(control: &Control, shards: usize) -> HeldShards {
    let state = &control.state;
    let created = state.created.as_deref();
    let of = created.map_or(0, |created| created.shards);
    let start = state.start.as_ref().map(|start| start.start_at);
    let rate = created
        .filter(|created| created.plan.users.is_none())
        .map(|created| {
            let workload =
                Workload::new(&created.plan, created.seed).steered(&state.steering.rates);
            let passed_us = start
                .filter(|start| now() >= *start)
                .map(|start| now().since_us(start));
            passed_us.map_or(0, |us| workload.rate_at(us))
        });
    HeldShards {
        run: control.run.clone(),
        shards,
        of,
        rps: rate.map(|rate| share(Rate(rate), shards, of).as_rps()),
        paused: state.steering.paused_at.is_some(),
    }
}
