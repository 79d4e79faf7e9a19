//! The data side of a run's log, folded: rows of deltas, each counted once.
//!
//! Deltas may come in any order, twice, or not at all. Delivery is at least once; exactly once is
//! this fold's work: it keeps the set of sequence numbers it has seen of each process. Must never
//! read a clock, and never average.

use std::collections::BTreeMap;

use loadpilot_events::assign::Generation;
use loadpilot_events::delta::{AnatomyRow, ArrivalRow, CallRow, DeltaReported, Gauges, Phase};
use loadpilot_events::envelope::Envelope;
use loadpilot_events::hist::{self, EncodedHistogram, Hist};
use loadpilot_events::id::{AgentId, Holder};
use loadpilot_events::outcome::{DropReason, Outcome};
use loadpilot_events::plan::Plan;
use loadpilot_events::report::Quarantined;

use crate::control::{Control, envelope};
use crate::plausible::plausible;
use crate::tally::add_counts;

/// Sequence numbers that were seen, as ranges.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SeqSet {
    /// First to last, inclusive, disjoint and not adjacent.
    ranges: BTreeMap<u64, u64>,
}

impl SeqSet {
    /// Adds a number; whether it is new.
    pub fn insert(&mut self, seq: u64) -> bool {
        let before = self
            .ranges
            .range(..=seq)
            .next_back()
            .map(|(&first, &last)| (first, last));
        if before.is_some_and(|(_, last)| seq <= last) {
            return false;
        }
        let joins_before = before.filter(|&(_, last)| last + 1 == seq);
        let first = joins_before.map_or(seq, |(first, _)| first);
        let joins_after = seq
            .checked_add(1)
            .and_then(|next| self.ranges.remove(&next));
        let last = joins_after.unwrap_or(seq);
        self.ranges.insert(first, last);
        true
    }

    /// The greatest number seen; 0 when none was.
    #[must_use]
    pub fn last(&self) -> u64 {
        self.ranges.last_key_value().map_or(0, |(_, &last)| last)
    }

    /// How many of 1..=`to` are missing.
    #[must_use]
    pub fn missing_up_to(&self, to: u64) -> u64 {
        let inside = self.ranges.iter().map(|(&first, &last)| {
            let (first, last) = (first.max(1), last.min(to));
            last.saturating_add(1).saturating_sub(first)
        });
        to - inside.sum::<u64>().min(to)
    }

    /// How many numbers were seen.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.ranges
            .iter()
            .map(|(first, last)| (last - first).saturating_add(1))
            .fold(0, u64::saturating_add)
    }
}

/// Arrivals that were reported.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ArrivalSums {
    /// Started.
    pub started: u64,
    /// Dropped, by reason.
    pub dropped: BTreeMap<DropReason, u64>,
    /// Started, with a call that was not ok.
    pub task_errors: u64,
}

impl ArrivalSums {
    /// Started or dropped.
    #[must_use]
    pub fn reported(&self) -> u64 {
        self.started + self.dropped.values().sum::<u64>()
    }

    /// Adds `more` to these.
    pub fn add(&mut self, more: &Self) {
        self.started += more.started;
        self.task_errors += more.task_errors;
        add_counts(&mut self.dropped, &more.dropped);
    }
}

/// Calls of one kind, merged.
#[derive(Debug, Clone)]
pub struct CallSums {
    /// How many.
    pub count: u64,
    /// End − due.
    pub response: Hist,
    /// End − dispatch.
    pub service: Hist,
    /// By status code.
    pub status: BTreeMap<u16, u64>,
    /// Bytes written.
    pub sent_bytes: u64,
    /// Bytes read.
    pub received_bytes: u64,
}

impl Default for CallSums {
    fn default() -> Self {
        Self {
            count: 0,
            response: hist::latency(),
            service: hist::latency(),
            status: BTreeMap::new(),
            sent_bytes: 0,
            received_bytes: 0,
        }
    }
}

/// Where the time of the calls of one kind went, merged.
#[derive(Debug, Clone, Default)]
pub struct AnatomySums {
    /// One histogram per phase.
    pub phases: BTreeMap<Phase, Hist>,
    /// Connections opened.
    pub opened: u64,
    /// Calls on an open connection.
    pub reused: u64,
}

/// Calls due in one tick.
#[derive(Debug, Clone, Default)]
pub struct TickCalls {
    /// Finished.
    pub finished: u64,
    /// Finished and not ok.
    pub errors: u64,
    /// Their response times, as reported: merged only when asked for, to stay small.
    pub responses: Vec<EncodedHistogram>,
}

/// What one process reported.
#[derive(Debug, Clone, Default)]
pub struct HolderSums {
    /// Which deltas.
    pub seqs: SeqSet,
    /// Arrivals started, and calls ended, in all rows, excess included: the checksum.
    pub started: u64,
    /// Calls ended in all rows.
    pub calls: u64,
    /// The cumulative counters of its newest delta: `(seq, started, calls)`.
    pub claimed: (u64, u64, u64),
    /// Arrivals reported, by due tick; excess left out.
    pub reported: BTreeMap<u32, u64>,
}

/// The first due tick that is measured: rows know their tick only, so that a warm-up which ends
/// inside a tick leaves out that tick as a whole.
#[must_use]
pub fn first_measured_tick(plan: &Plan) -> u32 {
    u32::try_from(plan.warm_up_us.div_ceil(plan.tick_us)).unwrap_or(u32::MAX)
}

/// Whether a row lies in the warm-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Window {
    /// Due before the end of the warm-up.
    WarmUp,
    /// Due after it.
    Measured,
}

/// The data side of a run, folded so far.
#[derive(Debug, Clone, Default)]
pub struct Projection {
    /// By window, call and outcome.
    pub calls: BTreeMap<(Window, u16, Outcome), CallSums>,
    /// By window and call.
    pub anatomy: BTreeMap<(Window, u16), AnatomySums>,
    /// By due tick and task.
    pub arrivals: BTreeMap<(u32, u16), ArrivalSums>,
    /// By due tick.
    pub ticks: BTreeMap<u32, TickCalls>,
    /// By process.
    pub holders: BTreeMap<Holder, HolderSums>,
    /// Arrivals offered by superseded holders.
    pub excess_arrivals: u64,
    /// Their calls.
    pub excess_calls: u64,
    /// Deltas stored after the seal.
    pub late_deltas: u64,
    /// What was set aside, by stream sequence.
    pub quarantined: BTreeMap<u64, Quarantined>,
    /// The generator's own figures, over all deltas.
    pub fitness: Fitness,
}

/// How the generator fared over all deltas.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Fitness {
    /// Deltas seen.
    pub deltas: u64,
    /// Deltas in which a firing thread used more than 90 % of its core.
    pub busy_deltas: u64,
    /// The busiest firing thread, in thousandths of its core.
    pub busiest_core_permille: u64,
    /// The longest stall in µs.
    pub stall_us: u64,
}

/// Above this use of its core, in thousandths, a firing thread counts as busy.
const BUSY_PERMILLE: u64 = 900;

impl Fitness {
    fn add(&mut self, gauges: &Gauges) {
        self.deltas += 1;
        self.busy_deltas += u64::from(gauges.busiest_core_permille > BUSY_PERMILLE);
        self.busiest_core_permille = self.busiest_core_permille.max(gauges.busiest_core_permille);
        self.stall_us = self.stall_us.max(gauges.stall_us);
    }
}

/// Where a row belongs.
enum Standing {
    Counts,
    Excess,
    Contradicts(String),
}

impl Projection {
    /// Takes one record of LP_DATA: `agent` is the last token of its subject.
    pub fn add(
        &mut self,
        control: &Control,
        agent: &AgentId,
        subject: &str,
        seq: u64,
        payload: &[u8],
    ) {
        if control
            .sealed
            .as_ref()
            .is_some_and(|sealed| seq > sealed.data_seq)
        {
            self.late_deltas += 1;
            return;
        }
        let result =
            envelope::<DeltaReported>(payload).and_then(|envelope: Envelope<DeltaReported>| {
                self.fold(control, agent, envelope.event)
            });
        if let Err(reason) = result {
            let subject = subject.to_owned();
            self.quarantined.insert(
                seq,
                Quarantined {
                    subject,
                    seq,
                    reason,
                },
            );
        }
    }

    fn fold(
        &mut self,
        control: &Control,
        agent: &AgentId,
        delta: DeltaReported,
    ) -> Result<(), String> {
        let holder = Holder {
            agent: agent.clone(),
            boot_id: delta.boot_id.clone(),
        };
        if !control.state.ever_held.contains(&holder) {
            return Err(format!("{holder} never held shards"));
        }
        plausible(control, &delta)?;
        let prepared = Prepared::new(control, &holder, &delta)?;
        let sums = self.holders.entry(holder.clone()).or_default();
        if !sums.seqs.insert(delta.seq) {
            return Ok(());
        }
        let totals = &delta.totals;
        let claim = (delta.seq, totals.started, totals.calls_total());
        sums.claimed = sums.claimed.max(claim);
        self.fitness.add(&delta.gauges);
        for (row, excess) in prepared.arrivals {
            self.arrival(&holder, row, excess);
        }
        for (row, response, service, excess) in prepared.calls {
            self.call(control, &holder, row, &response, &service, excess);
        }
        for (row, phases) in prepared.anatomy {
            self.anatomy(control, row, &phases);
        }
        Ok(())
    }

    fn arrival(&mut self, holder: &Holder, row: &ArrivalRow, excess: bool) {
        let more = ArrivalSums {
            started: row.started,
            dropped: row.dropped.clone(),
            task_errors: row.task_errors,
        };
        let sums = self.holders.entry(holder.clone()).or_default();
        sums.started += row.started;
        if excess {
            self.excess_arrivals += row.started;
            return;
        }
        *sums.reported.entry(row.tick).or_default() += more.reported();
        self.arrivals
            .entry((row.tick, row.task))
            .or_default()
            .add(&more);
    }

    fn call(
        &mut self,
        control: &Control,
        holder: &Holder,
        row: &CallRow,
        response: &Hist,
        service: &Hist,
        excess: bool,
    ) {
        self.holders.entry(holder.clone()).or_default().calls += row.count;
        if excess {
            self.excess_calls += row.count;
            return;
        }
        let key = (window(control, row.tick), row.call, row.outcome);
        let sums = self.calls.entry(key).or_default();
        sums.count += row.count;
        merge(&mut sums.response, response);
        merge(&mut sums.service, service);
        add_counts(&mut sums.status, &row.status);
        sums.sent_bytes = sums.sent_bytes.saturating_add(row.sent_bytes);
        sums.received_bytes = sums.received_bytes.saturating_add(row.received_bytes);
        if row.outcome.is_finished() {
            let tick = self.ticks.entry(row.tick).or_default();
            tick.finished += row.count;
            tick.errors += if row.outcome.is_error() { row.count } else { 0 };
            tick.responses.push(row.response.clone());
        }
    }

    fn anatomy(&mut self, control: &Control, row: &AnatomyRow, phases: &[(Phase, Hist)]) {
        let key = (window(control, row.tick), row.call);
        let sums = self.anatomy.entry(key).or_default();
        for (phase, hist) in phases {
            merge(
                sums.phases.entry(*phase).or_insert_with(hist::anatomy),
                hist,
            );
        }
        sums.opened += row.connections_opened;
        sums.reused += row.connections_reused;
    }
}

/// A delta whose every row was read and judged, so that it is folded whole or not at all.
struct Prepared<'a> {
    arrivals: Vec<(&'a ArrivalRow, bool)>,
    calls: Vec<(&'a CallRow, Hist, Hist, bool)>,
    anatomy: Vec<(&'a AnatomyRow, Vec<(Phase, Hist)>)>,
}

impl<'a> Prepared<'a> {
    fn new(control: &Control, holder: &Holder, delta: &'a DeltaReported) -> Result<Self, String> {
        let excess = |tick, generation| match standing(control, holder, tick, generation) {
            Standing::Counts => Ok(false),
            Standing::Excess => Ok(true),
            Standing::Contradicts(reason) => Err(reason),
        };
        let decode = |encoded: &EncodedHistogram| hist::decode(encoded).map_err(|e| e.to_string());
        let mut prepared = Self {
            arrivals: Vec::new(),
            calls: Vec::new(),
            anatomy: Vec::new(),
        };
        for row in &delta.arrivals {
            prepared
                .arrivals
                .push((row, excess(row.tick, row.generation)?));
        }
        for row in &delta.calls {
            let (response, service) = (decode(&row.response)?, decode(&row.service)?);
            if response.len() != row.count || service.len() != row.count {
                return Err(format!(
                    "call {} of tick {}: {} calls, histograms of {} and {}",
                    row.call,
                    row.tick,
                    row.count,
                    response.len(),
                    service.len(),
                ));
            }
            let excess = excess(row.tick, row.generation)?;
            prepared.calls.push((row, response, service, excess));
        }
        for row in &delta.anatomy {
            if !excess(row.tick, row.generation)? {
                let phases = row.phases.iter();
                let decoded: Result<Vec<_>, String> = phases
                    .map(|(&phase, hist)| decode(hist).map(|hist| (phase, hist)))
                    .collect();
                prepared.anatomy.push((row, decoded?));
            }
        }
        Ok(prepared)
    }
}

fn standing(control: &Control, holder: &Holder, tick: u32, generation: Generation) -> Standing {
    if !control.holds(holder, generation) {
        return Standing::Contradicts(format!(
            "{holder} held no shards in generation {generation}"
        ));
    }
    let in_force = control
        .in_force(tick)
        .map_or(0, |assignment| assignment.generation);
    match generation.cmp(&in_force) {
        std::cmp::Ordering::Equal => Standing::Counts,
        std::cmp::Ordering::Less => Standing::Excess,
        std::cmp::Ordering::Greater => Standing::Contradicts(format!(
            "generation {generation} named for tick {tick}, where {in_force} was in force"
        )),
    }
}

fn window(control: &Control, tick: u32) -> Window {
    let created = control.state.created.as_ref();
    if created.is_none_or(|created| tick >= first_measured_tick(&created.plan)) {
        Window::Measured
    } else {
        Window::WarmUp
    }
}

/// Adds `more` to `sum`.
///
/// # Panics
/// Never: histograms grow on demand.
pub fn merge(sum: &mut Hist, more: &Hist) {
    sum.add(more)
        .expect("an auto-resizing histogram takes any other");
}
