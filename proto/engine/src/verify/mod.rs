//! Verification of a run: its log is read again and judged by every invariant.
//!
//! Each [`Invariant`] is judged separately, with evidence that locates the damage. The log is
//! judged as stored, not the report: a report quarantines records that it cannot use, and the
//! verification names them as violations. Must never repair anything, read a clock, or apply a rule
//! that depends on the configuration of a fleet.
//!
//! - `teardown`: rules about setup and teardown
//! - `deltas`: rules about the deltas of each process
//! - `folds`: rules about the fold itself

use std::collections::BTreeMap;

use loadpilot_events::answers::report::RunState;
use loadpilot_events::id::{AgentId, RunId};
use loadpilot_events::wire::subject::Kind;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::control::{Control, ControlLog, Parsed};
use crate::fold::decision_rules::is_end;
use crate::fold::delta_record::DeltaRecord;
use crate::fold::seal_rules;
use crate::report::{NoReport, run_state};

mod deltas;
mod folds;
mod teardown;

use deltas::Deltas;
use folds::Folds;
use teardown::TeardownRecord;

pub use crate::fold::decision_rules::{Decided, decisions};
pub use crate::fold::invariants::{Breaches, EVIDENCE_MAX, Evidence, Finding, Invariant};

/// The result of a verification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verification {
    /// `loadpilot.verification/1`.
    pub schema: String,
    /// The run.
    pub run: RunId,
    /// The state of the run; of a run that goes on, only the stored events are judged.
    pub state: RunState,
    /// Whether every invariant holds.
    pub holds: bool,
    /// Number of requests, decisions and facts that were read.
    pub events: u64,
    /// Number of deltas that were read, including repetitions.
    pub deltas: u64,
    /// Number of deltas stored after the seal: they do not count and are not judged.
    pub late_deltas: u64,
    /// The digest of the report of this log.
    pub digest: String,
    /// All invariants, in the order of [`Invariant::ALL`].
    pub invariants: Vec<Finding>,
}

/// Verification of a log, while its control side is read.
#[derive(Debug)]
pub struct Verifier {
    run: RunId,
    log: ControlLog,
    /// Every record, in the order of the log, including those after a seal.
    records: BTreeMap<u64, (String, Result<Parsed, String>)>,
    /// Subject of the decisions, for evidence without an event.
    subject: String,
}

/// Verification of a log, while its data side is read.
#[derive(Debug)]
pub struct DataVerifier {
    verifier: Verifier,
    control: Control,
    deltas: Deltas,
    folds: Folds,
    breaches: Breaches,
    read: u64,
    late: u64,
}

impl Verifier {
    /// An empty verification; `subject` is that of the run's decisions.
    #[must_use]
    pub fn new(run: RunId, subject: String) -> Self {
        Self {
            log: ControlLog::new(run.clone()),
            run,
            records: BTreeMap::new(),
            subject,
        }
    }

    /// Adds one record of LP_CTL.
    pub fn add(&mut self, subject: &str, kind: &Kind, seq: u64, payload: &[u8]) {
        self.log.add(subject, kind, seq, payload);
        let parsed = Parsed::from_payload(kind, payload);
        let parsed = parsed.map_err(|why| match (kind, later_decision(payload)) {
            (Kind::Ctl, Some(name)) => name,
            _ => why,
        });
        self.records.insert(seq, (subject.to_owned(), parsed));
    }

    /// Ends the reading of LP_CTL; records of LP_DATA follow.
    ///
    /// # Errors
    /// The log has no request for the run.
    pub fn control_read(self) -> Result<DataVerifier, NoReport> {
        let control = self.log.close();
        let state = &control.state;
        if state.requested.is_none() && state.created.is_none() {
            return Err(NoReport::Unknown(self.run.to_string()));
        }
        let records = self.records.iter();
        let decided = records.filter_map(|(&seq, (subject, parsed))| match parsed {
            Ok(Parsed::Decision(envelope)) => Some(Decided {
                subject,
                seq,
                at: envelope.at,
                decision: &envelope.event,
            }),
            _ => None,
        });
        let mut breaches = decisions(state.requested_plan(), decided);
        self.owed(&mut breaches);
        self.unreadable(&mut breaches);
        seal_rules::seal(&control, &self.subject, &mut breaches);
        Ok(DataVerifier {
            deltas: Deltas::default(),
            folds: Folds::new(&self.log, self.records.keys().copied()),
            verifier: self,
            control,
            breaches,
            read: 0,
            late: 0,
        })
    }

    fn owed(&self, breaches: &mut Breaches) {
        let records = self.records.iter();
        let record = records.filter_map(|(&seq, (subject, parsed))| {
            let record = match parsed.as_ref().ok()? {
                Parsed::Request(envelope) => TeardownRecord::Request(&envelope.event),
                Parsed::Decision(envelope) if is_end(&envelope.event) => TeardownRecord::End,
                Parsed::Decision(_) | Parsed::Fact(..) => return None,
            };
            Some((subject.as_str(), seq, record))
        });
        teardown::owed(record, breaches);
    }

    fn unreadable(&self, breaches: &mut Breaches) {
        let mut over = false;
        for (&seq, (subject, parsed)) in &self.records {
            match parsed {
                Ok(Parsed::Decision(envelope)) => over |= is_end(&envelope.event),
                Ok(_) => {}
                // Decisions of later versions are known by name only, and allowed only after the
                // end.
                Err(why) if LATER.contains(&why.as_str()) && over => {}
                Err(why) => breaches.note(Invariant::Readable, subject, seq, why),
            }
        }
    }
}

impl DataVerifier {
    /// Adds one record of LP_DATA, in the order of the log: `agent` is the last token of its
    /// subject.
    pub fn add(&mut self, agent: &AgentId, subject: &str, seq: u64, payload: &[u8]) {
        let subject = subject.to_owned();
        self.add_parsed(DeltaRecord::parse(agent.clone(), subject, seq, payload));
    }

    /// The same for a parsed record.
    pub fn add_parsed(&mut self, record: DeltaRecord) {
        self.read += 1;
        let sealed = self.control.sealed.as_ref();
        if sealed.is_some_and(|sealed| record.seq > sealed.data_seq) {
            self.late += 1;
        } else {
            let breaches = &mut self.breaches;
            self.deltas.take(&self.control, &record, breaches);
        }
        self.folds.take(&self.control, record);
    }

    /// Ends the reading. `known` is an earlier report of this log, as it was stored: after a round
    /// trip through Rust types its floats may differ.
    ///
    /// # Errors
    /// Never: the run is known.
    pub fn close(mut self, known: Option<&Value>) -> Result<Verification, NoReport> {
        let subject = &self.verifier.subject;
        self.deltas
            .close(&self.control, subject, &mut self.breaches);
        let digest = self
            .folds
            .close(&self.control, subject, known, &mut self.breaches)?;
        let invariants = self.breaches.findings();
        Ok(Verification {
            schema: "loadpilot.verification/1".to_owned(),
            state: run_state(&self.control),
            holds: invariants.iter().all(|finding| finding.holds),
            events: self.verifier.records.len() as u64,
            deltas: self.read,
            late_deltas: self.late,
            digest,
            invariants,
            run: self.verifier.run,
        })
    }
}

/// Decisions of later versions that may follow the end of a run.
const LATER: [&str; 2] = ["RunArchived", "RunDeleted"];

/// The name of such a decision.
fn later_decision(payload: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Event {
        event: Named,
    }
    #[derive(Deserialize)]
    struct Named {
        #[serde(rename = "type")]
        name: String,
    }
    let event: Event = serde_json::from_slice(payload).ok()?;
    LATER
        .contains(&event.event.name.as_str())
        .then_some(event.event.name)
}
