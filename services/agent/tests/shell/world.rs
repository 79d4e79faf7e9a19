//! One agent with everything around it, and the operations that tests need.

use std::collections::BTreeSet;
use std::time::Duration;

use loadpilot_agent::fire::{RING_BYTES_DEFAULT, RingContents, RingSettings, read_ring};
use loadpilot_agent::fleet::agent::{self, Exit};
use loadpilot_agent::process::nats_servers::NatsServers;
use loadpilot_agent::process::shell::Shell;
use loadpilot_agent::process::signals::Shutdown;
use loadpilot_agent::process::timeouts::Timeouts;
use loadpilot_bus::{Bus, Limits, Memory};
use loadpilot_engine::check::target_policy::TargetPolicy;
use loadpilot_engine::tally::crash_recovery::Watermark;
use loadpilot_events::log::assign::{AgentsWanted, Holding, Loss};
use loadpilot_events::log::ctl::{
    Decision, Ending, RunCreated, RunSealed, ShardsAssigned, ShardsReassigned, StartScheduled,
};
use loadpilot_events::log::delta::{DeltaReported, Totals};
use loadpilot_events::log::evt::{ShardsFinished, What};
use loadpilot_events::rules::Rules;
use loadpilot_events::{AgentId, BootId, Holder, Plan, Rate};
use tempfile::TempDir;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::script::{Script, now};
use crate::target::Target;

pub(crate) const SHARDS: u32 = 16;

/// A running agent, and everything around it.
pub(crate) struct World {
    pub(crate) script: Script,
    pub(crate) target: Target,
    /// The agent's own connection.
    pub(crate) link: Memory,
    pub(crate) shell: Shell,
    pub(crate) wish: watch::Sender<Shutdown>,
    pub(crate) life: JoinHandle<Exit>,
    /// The agent's state directory.
    pub(crate) state: TempDir,
}

pub(crate) fn holder(agent: &str) -> Holder {
    Holder {
        agent: AgentId::parse(agent).expect("a token"),
        boot_id: BootId::from_ulid(ulid::Ulid::generate()),
    }
}

/// Short waits, so that a failure shows soon; none of them measures speed.
pub(crate) fn timeouts() -> Timeouts {
    Timeouts {
        heartbeat: Duration::from_millis(50),
        seek: Duration::from_millis(20),
        heartbeat_reply: Duration::from_millis(500),
        retry: Duration::from_millis(20),
        retry_slow: Duration::from_millis(50),
        secrets: Duration::from_millis(300),
        bodies: Duration::from_millis(300),
        ..Timeouts::default()
    }
}

impl World {
    pub(crate) async fn start(limits: Limits, timeouts: Timeouts, delay: Duration) -> Self {
        Self::start_with(limits, timeouts, delay, TargetPolicy::local()).await
    }

    pub(crate) async fn start_with(
        limits: Limits,
        timeouts: Timeouts,
        delay: Duration,
        targets: TargetPolicy,
    ) -> Self {
        let Bus::Memory(server) = Bus::memory_with(limits) else {
            panic!("asked for memory");
        };
        let link = server.peer();
        let script = Script::start(Bus::Memory(server)).await;
        let state = TempDir::new().expect("a folder");
        let shell = Shell {
            bus: Bus::Memory(link.clone()),
            home: script.subjects.clone(),
            subjects: script.subjects.clone(),
            me: holder("agent-1"),
            predecessor_dead: false,
            labels: BTreeSet::new(),
            capacity: Rate::per_second(50_000),
            cores: 2,
            max_in_flight: 100,
            fds: 1_000,
            targets,
            nats_servers: NatsServers::default(),
            rings: Some(RingSettings {
                folder: state.path().to_owned(),
                bytes_max: RING_BYTES_DEFAULT,
            }),
            feeds: Vec::new(),
            scripting: None,
            liveness_file: None,
            timeouts,
        };
        let (wish, wishes) = watch::channel(Shutdown::No);
        let agent = shell.clone();
        let life = async move { agent::run(agent, wishes).await.expect("the bus stays open") };
        Self {
            script,
            target: Target::start(delay),
            link,
            shell,
            wish,
            life: tokio::spawn(life),
            state,
        }
    }

    /// 100 arrivals per second, two tasks 3:1, ticks of 200 ms.
    pub(crate) fn plan(&self, seconds: u64) -> Plan {
        let step = |path: &str| serde_json::json!([{"name": path, "method": "GET", "path": path}]);
        let rate = Rate::per_second(100).0;
        let plan = serde_json::json!({
            "schema": "loadpilot.plan/1", "scenario": "S",
            "target": format!("http://{}", self.target.address),
            "profile": {"shape": "constant", "pieces": [
                {"duration_us": seconds * 1_000_000, "from": rate, "to": rate}
            ]},
            "tasks": [
                {"name": "a", "weight": 3, "steps": step("/a")},
                {"name": "b", "weight": 1, "steps": step("/b")},
            ],
            "warm_up_us": 0, "timeout_us": 5_000_000, "max_wait_us": 5_000_000,
            "max_lateness_us": 5_000_000, "tick_us": 200_000,
        });
        serde_json::from_value(plan).expect("a plan")
    }

    pub(crate) async fn create(&self, plan: Plan) {
        let created = RunCreated {
            plan_hash: plan.hash(),
            plan: Some(plan),
            request: None,
            seed: 7,
            agents: AgentsWanted {
                want: 1,
                min: 1,
                wait_us: 60_000_000,
            },
            owner: None,
            lead_us: 50_000,
            shards: SHARDS,
            gather_by: now().plus_us(60_000_000),
            needs: Vec::new(),
            targets: None,
            proof: None,
            rules: Rules::CURRENT,
        };
        self.script
            .decide(Decision::RunCreated(Box::new(created)))
            .await;
    }

    pub(crate) async fn assign(&self) {
        self.assign_to(vec![self.all_shards(self.shell.me.clone())])
            .await;
    }

    pub(crate) async fn assign_to(&self, holdings: Vec<Holding>) {
        let assigned = ShardsAssigned {
            generation: 1,
            holdings,
            ready_by: now().plus_us(60_000_000),
        };
        self.script.decide(Decision::ShardsAssigned(assigned)).await;
    }

    pub(crate) fn all_shards(&self, holder: Holder) -> Holding {
        Holding {
            holder,
            shards: (0..SHARDS).collect(),
        }
    }

    /// Time from the request to the decision about the start.
    pub(crate) async fn begin(&self, plan: Plan) {
        self.create(plan).await;
        self.script
            .fact(|what| matches!(what, What::CapacityOffered(_)).then_some(()))
            .await;
        self.assign().await;
        let ready = self.script.fact(|what| match what {
            What::ShardsReady(ready) => Some(ready.clone()),
            _ => None,
        });
        assert_eq!((ready.await).generation, 1);
        let start_at = now().plus_us(50_000);
        self.script
            .decide(Decision::StartScheduled(StartScheduled { start_at }))
            .await;
    }

    pub(crate) async fn last_words(&self) -> ShardsFinished {
        let finished = self.script.fact(|what| match what {
            What::ShardsFinished(finished) => Some(finished.clone()),
            _ => None,
        });
        finished.await
    }

    pub(crate) async fn failure(&self) -> String {
        let failed = self.script.fact(|what| match what {
            What::ShardsFailed(failed) => Some(failed.reason.clone()),
            _ => None,
        });
        failed.await
    }

    /// The rings that a kill would leave now.
    pub(crate) fn rings(&self) -> Vec<RingContents> {
        let files = std::fs::read_dir(self.state.path()).expect("a folder");
        let files = files.map(|file| file.expect("a file").path());
        let rings = files.filter(|path| path.extension().is_some_and(|kind| kind == "ring"));
        let rings = rings.map(|path| {
            let bytes = std::fs::read(path).expect("a file of ours");
            read_ring(&bytes, Watermark::default()).expect("a whole ring")
        });
        rings.collect()
    }

    pub(crate) async fn seal(&self) {
        let sealed = RunSealed {
            ending: Ending::Completed,
            ctl_seq: 0,
            evt_seq: 0,
            data_seq: 0,
            finals: Vec::new(),
            missing: Vec::new(),
            unnamed: None,
        };
        self.script.decide(Decision::RunSealed(sealed)).await;
    }

    /// Checks that deltas are complete and in order, agree with the last words, and that the target
    /// saw every call that was sent.
    pub(crate) async fn adds_up(&self, words: &ShardsFinished) {
        let deltas = self.script.deltas().await;
        let seqs: Vec<u64> = deltas.iter().map(|delta| delta.seq).collect();
        assert_eq!(seqs, (1..=words.final_seq).collect::<Vec<_>>());
        assert_eq!(sum(&deltas), words.totals);
        let spans = deltas
            .windows(2)
            .all(|pair| pair[0].to_us == pair[1].from_us);
        assert!(spans, "the deltas leave no gap in time");
        assert_eq!(words.totals.calls_total(), self.target.total());
    }
}

/// The rows of all deltas, added up by the test itself.
pub(crate) fn sum(deltas: &[DeltaReported]) -> Totals {
    let mut totals = Totals::default();
    for delta in deltas {
        for row in &delta.arrivals {
            totals.started += row.started;
            for (reason, count) in &row.dropped {
                *totals.dropped.entry(*reason).or_default() += count;
            }
        }
        for row in &delta.calls {
            *totals.calls.entry(row.outcome).or_default() += row.count;
        }
    }
    totals
}

/// A second assignment.
pub(crate) fn reassigned(
    takeover_tick: u32,
    holdings: Vec<Holding>,
    losses: Vec<Loss>,
) -> Decision {
    Decision::ShardsReassigned(ShardsReassigned {
        generation: 2,
        holdings,
        takeover_tick,
        losses,
    })
}

/// The number of requests once no more of them arrive for 3 s, longer than any fence that a test
/// sets. The wait has several parts: a machine that stalls for 3 s ends one of them, not all.
pub(crate) async fn silence(target: &Target) -> u64 {
    let (mut before, mut parts) = (target.total(), 0);
    while parts < 30 {
        let more = target.seen(before + 1);
        if tokio::time::timeout(Duration::from_millis(100), more)
            .await
            .is_err()
        {
            parts += 1;
        } else {
            (before, parts) = (target.total(), 0);
        }
    }
    before
}
