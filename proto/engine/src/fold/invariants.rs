//! The invariants of a log, and the evidence of violations.
//!
//! The fold and the verification judge a log by the same rules: `contradictions` as far as a report
//! can, [`crate::verify`] all of them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Maximum number of pieces of evidence per invariant; further ones are counted.
pub const EVIDENCE_MAX: usize = 8;

/// Rule that every log keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Invariant {
    /// See [`Invariant::rule`], here and below.
    Created,
    /// Numbers of assignments, and their order in time.
    Generations,
    /// The map of shards.
    Holdings,
    /// Start and stop.
    Instants,
    /// Rates and pauses.
    Steering,
    /// Setup and teardown.
    Owed,
    /// The content of the seal.
    Seal,
    /// Events after the end.
    End,
    /// Whether events are readable.
    Readable,
    /// Whether deltas come from holders.
    Held,
    /// Whether a number identifies one delta.
    Identity,
    /// Whether all deltas are there.
    Sequence,
    /// Whether rows and totals agree.
    Totals,
    /// Whether histograms and counts agree.
    Histograms,
    /// Whether the report adds up.
    Books,
    /// Whether the report depends on the order of reading.
    Order,
    /// Whether the report is the one that was stored.
    Digest,
}

impl Invariant {
    /// All invariants, in reading order.
    pub const ALL: [Self; 17] = [
        Self::Created,
        Self::Generations,
        Self::Holdings,
        Self::Instants,
        Self::Steering,
        Self::Owed,
        Self::Seal,
        Self::End,
        Self::Readable,
        Self::Held,
        Self::Identity,
        Self::Sequence,
        Self::Totals,
        Self::Histograms,
        Self::Books,
        Self::Order,
        Self::Digest,
    ];

    /// The rule in a sentence.
    #[must_use]
    pub fn rule(self) -> &'static str {
        match self {
            Self::Created => "a run is created or refused once, before anything else is decided",
            Self::Generations => {
                "generations count 1, 2, 3 …, and none begins before the one it follows"
            }
            Self::Holdings => {
                "each assignment gives every shard to one holder; a holder that loses shards had \
                 some, and gets none again"
            }
            Self::Instants => {
                "a run starts at most once, with its lead, then stops at most once, and no \
                 decision changes the past"
            }
            Self::Steering => {
                "each request to steer is answered once, while the run goes on, and the answer \
                 changes the rate or the pause only"
            }
            Self::Owed => {
                "a setup is begun once, before its run is requested; its teardown has one owner \
                 at a time, follows the end, and is finished once"
            }
            Self::Seal => {
                "the seal names the decision before it and every process that ever held shards, \
                 with its final totals (last words) as the log has them, or as missing"
            }
            Self::End => "after the end the only decisions are to archive or to delete the run",
            Self::Readable => "every event can be read, and its figures are possible for this run",
            Self::Held => {
                "every row of a delta names a generation in which its process held shards"
            }
            Self::Identity => "a number of a process means one delta, however often it is stored",
            Self::Sequence => {
                "the deltas of a process count 1, 2, 3 … up to its final totals, or the log says \
                 that some are missing"
            }
            Self::Totals => {
                "the totals of a delta are those of the delta before it plus its rows, up to the \
                 final totals"
            }
            Self::Histograms => "a histogram holds as many values as its row counts calls",
            Self::Books => {
                "planned = started + dropped + lost, in the run, each task and each tick, and \
                 attempted = the sum of outcomes"
            }
            Self::Order => {
                "the report is the same whatever the order, the repetition or the pause in which \
                 the log is read"
            }
            Self::Digest => "the report has the same digest as earlier reports of this log",
        }
    }
}

/// One violation of a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// Subject of the event; that of the run's decisions when no single event is at fault.
    pub subject: String,
    /// Stream sequence of the event; 0 when no single event is at fault.
    pub seq: u64,
    /// What is wrong, in words.
    pub what: String,
}

/// One invariant, judged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The invariant.
    pub invariant: Invariant,
    /// Its rule.
    pub rule: String,
    /// Whether it holds.
    pub holds: bool,
    /// The first [`EVIDENCE_MAX`] violations.
    pub evidence: Vec<Evidence>,
    /// Number of further violations.
    pub more: u64,
}

/// The violations so far.
#[derive(Debug, Clone, Default)]
pub struct Breaches {
    found: BTreeMap<Invariant, (Vec<Evidence>, u64)>,
}

impl Breaches {
    /// Adds a violation at an event.
    pub(crate) fn note(
        &mut self,
        invariant: Invariant,
        subject: &str,
        seq: u64,
        what: impl Into<String>,
    ) {
        let (evidence, more) = self.found.entry(invariant).or_default();
        if evidence.len() == EVIDENCE_MAX {
            *more += 1;
            return;
        }
        evidence.push(Evidence {
            subject: subject.to_owned(),
            seq,
            what: what.into(),
        });
    }

    /// The violations, one line each.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let found = self.found.iter();
        let lines = found.flat_map(|(invariant, (evidence, _))| {
            evidence
                .iter()
                .map(move |one| format!("{invariant:?} at {}: {}", one.seq, one.what))
        });
        lines.collect()
    }

    /// The first violation of each rule, and the number of further ones.
    pub(crate) fn first(&self) -> impl Iterator<Item = (&Evidence, u64)> {
        let found = self.found.values();
        found.filter_map(|(evidence, more)| {
            let first = evidence.first()?;
            Some((first, evidence.len() as u64 - 1 + more))
        })
    }

    pub(crate) fn findings(mut self) -> Vec<Finding> {
        let finding = |invariant: Invariant| {
            let found = self.found.remove(&invariant);
            let (evidence, more) = found.unwrap_or_default();
            Finding {
                invariant,
                rule: invariant.rule().to_owned(),
                holds: evidence.is_empty(),
                evidence,
                more,
            }
        };
        Invariant::ALL.into_iter().map(finding).collect()
    }
}
