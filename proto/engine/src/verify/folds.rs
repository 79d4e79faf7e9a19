//! Rules about the fold itself: it balances, and the report does not depend on the order of
//! reading.
//!
//! The log is folded twice: in order, and in pieces that are reversed and repeated, over a control
//! side that was resumed half-way. Must never compare more than the digests of the folds: a report
//! has one form.

use loadpilot_events::answers::report::{ArrivalCounts, Report};
use serde_json::Value;

use crate::control::{Control, ControlLog};
use crate::fold::delta_record::DeltaRecord;
use crate::fold::invariants::{Breaches, Invariant};
use crate::fold::project::Projection;
use crate::report::{NoReport, digest, report};

/// Number of deltas in a reversed piece.
const PIECE: usize = 64;

/// Two folds of one log.
#[derive(Debug)]
pub(super) struct Folds {
    in_order: Projection,
    reversed: Projection,
    /// The control side, folded half-way, then caught up.
    resumed: Control,
    /// Records that wait until the piece is full.
    piece: Vec<DeltaRecord>,
}

impl Folds {
    /// Folds over the control side `log`, whose records have these sequences.
    pub(super) fn new(log: &ControlLog, seqs: impl ExactSizeIterator<Item = u64>) -> Self {
        let half = seqs.len() / 2;
        let last = seqs.take(half).last().unwrap_or(0);
        let mut resumed = log.up_to(last).close();
        log.catch_up(&mut resumed);
        Self {
            in_order: Projection::default(),
            reversed: Projection::default(),
            resumed,
            piece: Vec::new(),
        }
    }

    pub(super) fn take(&mut self, control: &Control, record: DeltaRecord) {
        self.in_order.add_parsed(control, &record, None);
        self.piece.push(record);
        if self.piece.len() == PIECE {
            self.fold_piece();
        }
    }

    fn fold_piece(&mut self) {
        for record in self.piece.iter().rev().chain(&self.piece) {
            self.reversed.add_parsed(&self.resumed, record, None);
        }
        self.piece.clear();
    }

    /// Judges both folds and returns the digest of the one in order.
    pub(super) fn close(
        mut self,
        control: &Control,
        ctl: &str,
        known: Option<&Value>,
        breaches: &mut Breaches,
    ) -> Result<String, NoReport> {
        self.fold_piece();
        // Reports and folds of long runs are large: one report at a time, and the second fold
        // is gone before the one that is kept.
        let reversed_digest = report(&self.resumed, &self.reversed)?.digest;
        drop(self.reversed);
        let closed_before = report(control, &self.in_order)?.digest;
        let found = report(control, &self.in_order)?;
        let mut note = |invariant, what: String| breaches.note(invariant, ctl, 0, what);
        if found.digest != reversed_digest {
            let what = format!(
                "digest {} in order, {reversed_digest} in another order",
                found.digest
            );
            note(Invariant::Order, what);
        }
        balance(&found, |what| note(Invariant::Books, what));
        if let Some(what) = known.and_then(|known| differs(&found, known)) {
            note(Invariant::Digest, what);
        }
        let stated = found.digest.clone();
        if closed_before != stated || digest(found) != stated {
            note(
                Invariant::Digest,
                "two reports of one log have different digests".to_owned(),
            );
        }
        Ok(stated)
    }
}

/// The first difference between a stored report and the one that was found: digests first, then
/// figures. The count of late deltas may have grown since.
fn differs(found: &Report, known: &Value) -> Option<String> {
    let written = known["digest"].as_str().unwrap_or("none");
    if written != found.digest {
        return Some(format!(
            "the stored report has digest {written}, this log gives {}",
            found.digest
        ));
    }
    // Through text, as the stored report was.
    let text = serde_json::to_string(found).ok()?;
    let mut found: Value = serde_json::from_str(&text).ok()?;
    found["gaps"]["late_deltas"] = known["gaps"]["late_deltas"].clone();
    let found = found.as_object_mut()?;
    // Reports of earlier versions have neither of these fields.
    for added in ["load_curve", "knee_point"] {
        if known.get(added).is_none() {
            found.remove(added);
        }
    }
    let changed = found
        .iter()
        .find(|(key, value)| known.get(key) != Some(value));
    changed.map(|(key, _)| format!("{key} differs from the stored report"))
}

/// Names sums of a report that do not balance.
fn balance(report: &Report, mut note: impl FnMut(String)) {
    let settled = |counts: &ArrivalCounts| {
        counts.started + counts.dropped_total() + counts.lost + counts.waiting
    };
    let tasks = report.tasks.iter();
    let tasks = tasks.map(|task| (format!("task {}", task.name), &task.arrivals));
    for (what, counts) in tasks.chain([("the run".to_owned(), &report.arrivals)]) {
        let (settled, planned) = (settled(counts), counts.planned);
        if settled != planned {
            note(format!("{what}: {planned} planned, {settled} settled"));
        }
    }
    for tick in &report.series {
        let (reported, planned) = (tick.started + tick.dropped, tick.planned);
        if reported > planned {
            note(format!(
                "tick {}: {planned} planned, {reported} reported",
                tick.tick
            ));
        }
    }
    if let Some(share) = report.gaps.surplus_pct {
        note(format!("{share:.2} % more is reported than can have been"));
    }
    let outcomes: u64 = report.calls.outcomes.values().sum();
    let attempted = report.calls.attempted;
    if attempted != outcomes {
        note(format!("{attempted} calls attempted, {outcomes} outcomes"));
    }
}
