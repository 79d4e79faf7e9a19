//! The log: two streams, append at an expected sequence, nothing ever changed.

use loadpilot_events::Envelope;
use loadpilot_events::ctl::Decision;
use loadpilot_events::heartbeat::News;
use loadpilot_events::id::{AgentId, EventId, RunId};
use loadpilot_events::subject::{Kind, Subjects};
use loadpilot_events::units::Timestamp;
use serde::Serialize;

use crate::rules::invariants::Stored;

/// One record of either stream.
#[derive(Debug, Clone)]
pub(crate) struct Record {
    pub(crate) kind: Kind,
    pub(crate) subject: String,
    pub(crate) payload: Vec<u8>,
}

/// The streams of one run.
#[derive(Debug)]
pub(crate) struct Log {
    pub(crate) run: RunId,
    subjects: Subjects,
    /// LP_CTL; a record's sequence is its place, from 1.
    pub(crate) ctl: Vec<Record>,
    /// LP_DATA, likewise.
    pub(crate) data: Vec<Record>,
    /// The decisions once more, as the invariants want them.
    pub(crate) decided: Vec<Stored>,
}

impl Log {
    pub(crate) fn new() -> Self {
        Self {
            run: RunId::parse("01run").expect("a token"),
            subjects: Subjects::new("lp", "local").expect("tokens"),
            ctl: Vec::new(),
            data: Vec::new(),
            decided: Vec::new(),
        }
    }

    /// The last sequence of the run's control subject; 0 when it is empty.
    pub(crate) fn ctl_last(&self) -> u64 {
        self.decided.last().map_or(0, |stored| stored.seq)
    }

    /// Whether the run is sealed or refused.
    pub(crate) fn is_over(&self) -> bool {
        let last = self.decided.last().map(|stored| &stored.decision);
        matches!(last, Some(Decision::RunSealed(_) | Decision::RunRefused(_)))
    }

    /// Appends to LP_CTL what needs no expected sequence.
    pub(crate) fn append<E: Serialize>(&mut self, kind: Kind, at: Timestamp, event: &E) {
        let subject = match &kind {
            Kind::Evt(agent) => self.subjects.evt(&self.run, agent),
            Kind::Req => self.subjects.req(&self.run),
            Kind::Ctl | Kind::Delta(_) => unreachable!("these have their own ways in"),
        };
        let payload = encode(at, event);
        self.ctl.push(Record {
            kind,
            subject,
            payload,
        });
    }

    /// Appends a decision if `expected` is still the last sequence of its subject; what agents are
    /// told of it, or nothing when somebody else was first.
    pub(crate) fn append_at(
        &mut self,
        expected: u64,
        at: Timestamp,
        decision: &Decision,
    ) -> Option<News> {
        if expected != self.ctl_last() {
            return None;
        }
        self.ctl.push(Record {
            kind: Kind::Ctl,
            subject: self.subjects.ctl(&self.run),
            payload: encode(at, decision),
        });
        let seq = self.ctl.len() as u64;
        let decision = decision.clone();
        self.decided.push(Stored { seq, at, decision });
        let event = serde_json::from_slice(&self.ctl.last()?.payload).ok()?;
        Some(News {
            run: self.run.clone(),
            seq,
            previous_seq: expected,
            event,
        })
    }

    /// Appends a delta.
    pub(crate) fn append_delta(&mut self, agent: &AgentId, payload: Vec<u8>) {
        self.data.push(Record {
            kind: Kind::Delta(agent.clone()),
            subject: self.subjects.delta(&self.run, agent),
            payload,
        });
    }
}

/// The JSON of an event in its envelope.
pub(crate) fn encode<E: Serialize>(at: Timestamp, event: &E) -> Vec<u8> {
    let id = EventId::parse("id").expect("a token");
    let v = loadpilot_events::envelope::EVENT_VERSION;
    serde_json::to_vec(&Envelope { v, id, at, event }).expect("an event has a JSON form")
}
