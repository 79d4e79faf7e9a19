//! The deltas of one process, each compared with the one before it.
//!
//! The fold and the verification judge a process by these same rules, so that the certificate knows
//! what [`crate::verify`] would reject. Deltas arrive in any order and are judged in the order of
//! their numbers; the result must never depend on the order of arrival. Of several deltas with one
//! number the first counts, and the number is named.

use std::collections::{BTreeMap, BTreeSet};

use loadpilot_events::id::Holder;
use loadpilot_events::log::delta::{DeltaReported, Totals};
use loadpilot_events::log::outcome::{DropReason, Outcome};
use loadpilot_events::rules::Rules;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::control::Control;
use crate::fold::invariants::Invariant;
use crate::tally::aggregates::add_counts;
use crate::tally::seq_set::SeqSet;

/// Number of bytes of the hash that distinguishes two deltas of one number.
const CONTENT_BYTES: usize = 8;

/// Hash that distinguishes two deltas of one number.
pub(crate) type Content = [u8; CONTENT_BYTES];

/// The deltas of one process, judged so far.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Chain {
    seqs: SeqSet,
    /// The hash of each number's first delta.
    contents: BTreeMap<u64, Content>,
    /// Numbers with more than one delta.
    doubled: BTreeSet<u64>,
    /// Numbers whose totals differ from the totals before plus the rows.
    broken: BTreeSet<u64>,
    /// The last number before the first gap.
    judged: u64,
    /// Its totals.
    totals: Counts,
    /// Deltas beyond a gap.
    waiting: BTreeMap<u64, DeltaTotals>,
}

/// The result of taking a delta.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// The number is new.
    New,
    /// The same delta was taken before.
    Again,
    /// Another delta has the same number.
    Another,
}

/// A rule that the deltas of a process violate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Broken {
    pub(crate) invariant: Invariant,
    /// The delta at fault; 0 when there is no single one.
    pub(crate) number: u64,
    /// What is wrong, in words.
    pub(crate) what: String,
}

/// [`Totals`] without entries of zero, in a form that a cache can hold.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Counts {
    started: u64,
    dropped: BTreeMap<DropReason, u64>,
    calls: BTreeMap<Outcome, u64>,
}

/// The sums of the rows of a delta, and its totals.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct DeltaTotals {
    rows: Counts,
    totals: Counts,
}

/// The final totals of a process.
#[derive(Debug, Clone, Copy)]
struct FinalTotals<'a> {
    final_seq: u64,
    totals: &'a Totals,
    /// The final number in its crash tail; 0 without a tail.
    of_tail: u64,
}

impl Chain {
    /// Takes a validated delta, whose [`content`] is given.
    pub(crate) fn take(&mut self, delta: &DeltaReported, content: Content) -> Taken {
        let known = *self.contents.entry(delta.seq).or_insert(content);
        if !self.seqs.insert(delta.seq) {
            if known == content {
                return Taken::Again;
            }
            self.doubled.insert(delta.seq);
            return Taken::Another;
        }
        let delta_totals = DeltaTotals {
            rows: Counts::of_rows(delta),
            totals: Counts::of(&delta.totals),
        };
        self.waiting.insert(delta.seq, delta_totals);
        while let Some(next) = self.waiting.remove(&(self.judged + 1)) {
            self.judged += 1;
            if self.totals.plus(&next.rows) != next.totals {
                self.broken.insert(self.judged);
            }
            self.totals = next.totals;
        }
        Taken::New
    }

    /// Sequence numbers of the deltas taken so far.
    #[must_use]
    pub fn seqs(&self) -> &SeqSet {
        &self.seqs
    }

    /// Numbers whose totals disagree, and the totals of the last delta. Beyond a gap totals may
    /// have grown by more than the rows, never by less.
    fn close(&self) -> (BTreeSet<u64>, &Counts) {
        let (mut broken, mut totals) = (self.broken.clone(), &self.totals);
        for (&number, next) in &self.waiting {
            if !next.totals.covers(&totals.plus(&next.rows)) {
                broken.insert(number);
            }
            totals = &next.totals;
        }
        (broken, totals)
    }

    /// Violations that the deltas alone show.
    fn disagreements(&self, holder: &Holder) -> Vec<Broken> {
        let doubled = self.doubled.iter().map(|&number| Broken {
            invariant: Invariant::Identity,
            number,
            what: format!("{holder}: another delta has number {number}"),
        });
        let totals = self.close().0.into_iter().map(|number| Broken {
            invariant: Invariant::Totals,
            number,
            what: format!(
                "{holder}: the totals of delta {number} are not those before it and its rows"
            ),
        });
        doubled.chain(totals).collect()
    }

    /// Violations that a comparison with the final totals of the process shows; `excused` is the
    /// number of deltas that are missing for a reason that is named elsewhere.
    fn against(&self, holder: &Holder, stated: FinalTotals<'_>, excused: u64) -> Vec<Broken> {
        let FinalTotals {
            final_seq, of_tail, ..
        } = stated;
        let (totals, claimed) = (self.close().1, Counts::of(stated.totals));
        let missing = self.seqs.missing_up_to(final_seq);
        let last = self.seqs.last();
        let broken = |invariant, what| Broken {
            invariant,
            number: 0,
            what,
        };
        let mut found = Vec::new();
        if missing > excused {
            let what = format!("{holder}: {missing} of {final_seq} deltas are missing");
            found.push(broken(Invariant::Sequence, what));
        }
        // A process may be killed before it knows that its final totals are stored. The deltas that
        // the next process reports for it then add nothing, and the final totals that it reports
        // may come too late.
        if last > final_seq.max(of_tail) && *totals != claimed {
            let what = format!("{holder}: delta {last} follows its last words at {final_seq}");
            found.push(broken(Invariant::Sequence, what));
        } else if (missing == 0 && *totals != claimed) || !claimed.covers(totals) {
            let what = format!("{holder}: its last words name other totals");
            found.push(broken(Invariant::Totals, what));
        }
        found
    }

    /// A process without final totals may lack deltas at the end, but none before its last one.
    fn hole(&self, holder: &Holder, excused: u64) -> Option<Broken> {
        let last = self.seqs.last();
        let missing = self.seqs.missing_up_to(last);
        (missing > excused).then(|| Broken {
            invariant: Invariant::Sequence,
            number: 0,
            what: format!("{holder}: {missing} deltas before number {last} are missing"),
        })
    }
}

/// Judges all processes of a run. While the run is not sealed, missing deltas may still come.
pub(crate) fn judge<'a>(
    control: &'a Control,
    chains: &BTreeMap<&'a Holder, &'a Chain>,
    excused: impl Fn(&Holder) -> u64,
) -> Vec<(&'a Holder, Broken)> {
    let nothing = Chain::default();
    let mut found = Vec::new();
    for (&holder, chain) in chains {
        let broken = chain.disagreements(holder);
        found.extend(broken.into_iter().map(|broken| (holder, broken)));
    }
    if control.sealed.is_none() {
        return found;
    }
    let final_totals = final_totals(control);
    for (&holder, &stated) in &final_totals {
        let chain = chains.get(holder).copied().unwrap_or(&nothing);
        let broken = chain.against(holder, stated, excused(holder));
        found.extend(broken.into_iter().map(|broken| (holder, broken)));
    }
    let state = &control.state;
    for (&holder, chain) in chains {
        let has_totals = state.tails.contains_key(holder) || state.finished.contains_key(holder);
        if !has_totals {
            let hole = chain.hole(holder, excused(holder));
            found.extend(hole.map(|broken| (holder, broken)));
        }
    }
    found
}

/// The final totals in a sealed run: those of the seal, and those of complete tails.
fn final_totals(control: &Control) -> BTreeMap<&Holder, FinalTotals<'_>> {
    let state = &control.state;
    let of_tail = |holder: &Holder| state.tails.get(holder).map_or(0, |tail| tail.final_seq);
    let whole = state.tails.iter().filter(|(holder, tail)| {
        let has_finished = state.finished.contains_key(*holder);
        tail.lost.is_none() && !has_finished && state.ever_held.contains(*holder)
    });
    let whole = whole.map(|(holder, tail)| (holder, (tail.final_seq, &tail.totals)));
    let all = control.finals().into_iter().chain(whole);
    let stated = |(holder, (final_seq, totals))| {
        let stated = FinalTotals {
            final_seq,
            totals,
            of_tail: of_tail(holder),
        };
        (holder, stated)
    };
    all.map(stated).collect()
}

/// The final number of a process that reported final totals, itself or by its tail.
pub(crate) fn last_number(control: &Control, holder: &Holder) -> Option<u64> {
    let finished = control.state.finished.get(holder).map(|end| end.final_seq);
    let tail = control.state.tails.get(holder).map(|tail| tail.final_seq);
    finished.max(tail)
}

/// Why a delta that adds something is quarantined: it follows the final totals of its process.
pub(crate) fn follows(control: &Control, holder: &Holder, delta: &DeltaReported) -> Option<String> {
    let last = last_number(control, holder)?;
    let number = delta.seq;
    let is_late = control.rules() >= Rules::V2 && number > last && adds(delta);
    is_late.then(|| format!("{holder}: delta {number} follows its last words at {last}"))
}

/// Whether a delta adds anything to the figures.
pub(crate) fn adds(delta: &DeltaReported) -> bool {
    let rows = delta.arrivals.is_empty() && delta.calls.is_empty() && delta.anatomy.is_empty();
    let more = delta.metrics.is_empty() && delta.raised.is_empty() && delta.exchanges.is_empty();
    !(rows && more && delta.failures.is_empty() && delta.samples.is_empty())
}

/// The hash of a delta.
pub(crate) fn content(delta: &DeltaReported) -> Content {
    // As JSON it would take a fifth of the time in which a log is read.
    let bytes = postcard::to_stdvec(delta).expect("memory takes every write");
    let mut content = [0; CONTENT_BYTES];
    content.copy_from_slice(&Sha256::digest(bytes)[..CONTENT_BYTES]);
    content
}

impl Counts {
    fn of(totals: &Totals) -> Self {
        let mut counts = Self {
            started: totals.started,
            dropped: totals.dropped.clone(),
            calls: totals.calls.clone(),
        };
        counts.dropped.retain(|_, count| *count > 0);
        counts.calls.retain(|_, count| *count > 0);
        counts
    }

    /// The sums of the rows of a delta.
    fn of_rows(delta: &DeltaReported) -> Self {
        let mut sums = Totals::default();
        for row in &delta.arrivals {
            sums.started = sums.started.saturating_add(row.started);
            add_counts(&mut sums.dropped, &row.dropped);
        }
        for row in &delta.calls {
            let count = sums.calls.entry(row.outcome).or_default();
            *count = count.saturating_add(row.count);
        }
        Self::of(&sums)
    }

    fn plus(&self, more: &Self) -> Self {
        let mut sums = self.clone();
        sums.started = sums.started.saturating_add(more.started);
        add_counts(&mut sums.dropped, &more.dropped);
        add_counts(&mut sums.calls, &more.calls);
        sums
    }

    /// Whether no figure is below that of `least`.
    fn covers(&self, least: &Self) -> bool {
        self.started >= least.started
            && all_cover(&self.dropped, &least.dropped)
            && all_cover(&self.calls, &least.calls)
    }
}

fn all_cover<K: Ord>(counts: &BTreeMap<K, u64>, least: &BTreeMap<K, u64>) -> bool {
    let mut least = least.iter();
    least.all(|(key, count)| counts.get(key).is_some_and(|there| there >= count))
}
