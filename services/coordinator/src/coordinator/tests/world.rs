//! A log that is a list, and one coordinator that follows it. No I/O, no clock.

use std::collections::BTreeSet;

use loadpilot_engine::control::decide::Policy;
use loadpilot_events::log::ctl::{Decision, RunSealed};
use loadpilot_events::log::envelope::EVENT_VERSION;
use loadpilot_events::wire::heartbeat::{AgentBeat, News, Seen};
use loadpilot_events::wire::subject::Subjects;
use loadpilot_events::{AgentId, BootId, RunId, TenantId, Timestamp};
use serde_json::{Value, json};

use crate::append::{Outcome, PendingAppend};
use crate::config::Settings;
use crate::coordinator::{Coordinator, Poison};
use crate::run_state::Effect;

pub(super) const SECOND: u64 = 1_000_000;
pub(super) const T0: Timestamp = Timestamp(1_000 * SECOND);

pub(super) fn subjects() -> Subjects {
    Subjects::new("lp", "local").expect("tokens")
}

pub(super) fn settings(seal_unfinished: bool) -> Settings {
    Settings {
        subjects: subjects(),
        policy: Policy::default(),
        seal_asked_before: seal_unfinished.then_some(Timestamp(u64::MAX)),
        spared: None,
    }
}

/// The tenant of the coordinator and its agents.
pub(super) fn home() -> TenantId {
    subjects().tenant_id().clone()
}

pub(super) fn run(name: &str) -> RunId {
    RunId::parse(name).expect("a token")
}

pub(super) fn agent(name: &str) -> AgentId {
    AgentId::parse(name).expect("a token")
}

pub(super) fn beat(seen: &[(&str, u64)]) -> AgentBeat {
    let seen = seen.iter().map(|&(name, ctl_seq)| Seen {
        run: run(name),
        ctl_seq,
    });
    let boot_id = BootId::parse("b1").expect("a token");
    AgentBeat {
        unreached: Vec::new(),
        about: None,
        boot_id,
        predecessor_dead: false,
        recovering: Vec::new(),
        seen: seen.collect(),
        has: BTreeSet::new(),
        full: false,
    }
}

pub(super) fn request() -> Value {
    json!({"type": "RunRequested", "seed": 1, "lead_us": 0,
        "agents": {"want": 1, "min": 1, "wait_us": 5_000_000},
        "plan": {"schema": "loadpilot.plan/1", "scenario": "S", "target": "http://127.0.0.1:1",
            "profile": {"shape": "constant", "pieces": [
                {"duration_us": 1_000_000, "from": 10_000_000, "to": 10_000_000}]},
            "tasks": [{"name": "t", "weight": 1, "steps": [{"name": "GET /", "method": "GET",
                "path": "/", "headers": [
                    {"name": "Authorization", "value": {"secret": "s"}}]}]}],
            "warm_up_us": 0, "timeout_us": 1_000_000, "max_wait_us": 0,
            "max_lateness_us": 500_000, "tick_us": 1_000_000}})
}

pub(super) fn fact(what: Value) -> Value {
    json!({"boot_id": "b1", "what": what})
}

pub(super) fn offer(now: Timestamp) -> Value {
    fact(
        json!({"type": "CapacityOffered", "rate": 1_000_000_000u64, "cores": 1,
        "expires": now.plus_us(60 * SECOND), "version": "0"}),
    )
}

pub(super) fn ready() -> Value {
    fact(
        json!({"type": "ShardsReady", "generation": 1, "max_in_flight": 9,
        "clock": {"offset_us": 0, "bound_us": 1}}),
    )
}

/// The stream, and one coordinator that follows it.
pub(super) struct World {
    pub(super) coordinator: Coordinator,
    pub(super) log: Vec<(String, Vec<u8>)>,
    pub(super) now: Timestamp,
}

impl World {
    pub(super) fn new(seal_unfinished: bool) -> Self {
        let coordinator = Coordinator::new(settings(seal_unfinished), T0);
        Self {
            coordinator,
            log: Vec::new(),
            now: T0,
        }
    }

    pub(super) fn caught_up() -> Self {
        let mut world = Self::new(false);
        world.coordinator.caught_up();
        world
    }

    /// Stores a payload and folds it; returns its sequence.
    pub(super) fn store(&mut self, subject: &str, payload: &[u8]) -> Result<u64, Poison> {
        self.log.push((subject.to_owned(), payload.to_vec()));
        let seq = self.log.len() as u64;
        self.coordinator.record(subject, seq, payload).map(|()| seq)
    }

    pub(super) fn tell(&mut self, subject: &str, event: &Value) -> u64 {
        let id = format!("e{}", self.log.len());
        let envelope = json!({"v": EVENT_VERSION, "id": id, "at": self.now, "event": event});
        self.store(subject, envelope.to_string().as_bytes())
            .expect("it can be read")
    }

    pub(super) fn ask_for(&mut self, name: &str) -> u64 {
        self.tell(&subjects().req(&run(name)), &request())
    }

    pub(super) fn state(&mut self, name: &str, fact: &Value) -> u64 {
        self.tell(&subjects().evt(&run(name), &agent("a")), fact)
    }

    /// The news for agent a, which has seen `seen`.
    pub(super) fn news(&self, seen: &[Seen]) -> Option<(Vec<News>, bool)> {
        self.coordinator.news(&agent("a"), seen)
    }

    pub(super) fn hear(&mut self) {
        self.coordinator
            .heard_agent(agent("a"), &beat(&[]), self.now);
    }

    /// The one effect that is due.
    pub(super) fn effect(&mut self) -> Effect {
        let mut effects = self.coordinator.next(self.now);
        assert_eq!(effects.len(), 1, "{effects:?}");
        effects.remove(0)
    }

    pub(super) fn pending(&mut self) -> PendingAppend {
        match self.effect() {
            Effect::Append(pending) => *pending,
            other => panic!("{other:?} instead of an append"),
        }
    }

    pub(super) fn none(&mut self) {
        assert_eq!(self.coordinator.next(self.now), []);
    }

    /// Stores a decision as the bus would and reports it.
    pub(super) fn win(&mut self, pending: &PendingAppend) -> u64 {
        let last = self
            .log
            .iter()
            .rposition(|(subject, _)| *subject == pending.subject);
        assert_eq!(
            pending.expected,
            last.map_or(0, |place| place as u64 + 1),
            "a conflict"
        );
        let seq = self.tell(
            &pending.subject,
            &serde_json::to_value(&pending.decision).expect("JSON"),
        );
        self.coordinator
            .appended(&pending.run, &Outcome::Stored { seq }, self.now);
        seq
    }

    /// Takes a run up to its scheduled start.
    pub(super) fn schedule(&mut self, name: &str) {
        self.hear();
        self.ask_for(name);
        let created = self.pending();
        self.win(&created);
        self.none();
        self.state(name, &offer(self.now));
        let assigned = self.pending();
        self.win(&assigned);
        self.none();
        self.state(name, &ready());
        let scheduled = self.pending();
        assert!(matches!(scheduled.decision, Decision::StartScheduled(_)));
        self.win(&scheduled);
        self.none();
    }

    pub(super) fn finish(&mut self, name: &str) -> u64 {
        let totals = serde_json::to_value(loadpilot_events::log::delta::Totals::default());
        self.state(
            name,
            &fact(json!({"type": "ShardsFinished", "reason": "completed",
            "final_seq": 1, "totals": totals.expect("JSON")})),
        )
    }

    /// Answers the effect for the data stream's head, which must be the one that is due.
    pub(super) fn head(&mut self, head: u64) {
        let Effect::ReadDataHead(run) = self.effect() else {
            panic!("no head wanted")
        };
        self.coordinator.data_head(&run, Some(head), self.now);
    }

    pub(super) fn seal(&mut self) -> RunSealed {
        let pending = self.pending();
        let Decision::RunSealed(seal) = pending.decision.clone() else {
            panic!("{pending:?}")
        };
        self.win(&pending);
        seal
    }
}
