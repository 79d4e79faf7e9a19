//! Single calls: one row for each sampled call that counts in the report.
//!
//! Superseded calls are left out. Must never replace the report, whose figures are folded from rows
//! and not from samples.
//!
//! - `sample_text`: rows as lines, in one of three forms
//! - `vegeta`: the line of a row in the columns of vegeta
//! - `cell`: text as a cell of a spreadsheet
//! - `sample_columns`: rows as columns of numbers

mod cell;
mod sample_columns;
mod sample_text;
mod vegeta;

use std::collections::BTreeMap;

use loadpilot_events::Timestamp;
use loadpilot_events::answers::slice::Slice;
use loadpilot_events::id::{AgentId, Holder};
use loadpilot_events::log::delta::DeltaReported;
use loadpilot_events::log::samples::{self, NotSamples, Sample};
use loadpilot_events::plan::target::{full_path, split, turn};
use loadpilot_events::plan::{Plan, Profile, Shape, Step};
use loadpilot_events::refusal::Refusal;

use crate::control::Control;
use crate::fold::index::Index;
use crate::fold::project::{Projection, counts};
use crate::report::slice::{Indexed, Query};
use crate::schedule::trace_context::trace_id;
use crate::schedule::workload::Workload;

pub use sample_columns::{ColumnBatch, SampleColumns};
pub use sample_text::SampleText;
pub use vegeta::DueOrder;

/// Why there is no table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoSamples {
    /// The plan requests no samples.
    #[error("must be a run with samples (run with --samples FILE)")]
    NotAsked,
    /// The run never started.
    #[error("must be a run that was started")]
    NeverStarted,
}

/// A call of a plan or of a delta.
#[derive(Debug, Clone, PartialEq, Eq)]
struct NamedCall {
    /// Position of its task in the plan.
    task: u16,
    name: String,
    /// Method; empty for a call of a scenario in Python: the log has its name only.
    method: &'static str,
    /// URL by target that arrivals of its task take in turn; empty as the method.
    urls: Vec<String>,
}

impl NamedCall {
    /// The URL of a sample, at the target whose turn it was.
    fn url(&self, sample: &Sample) -> &str {
        match self.urls.len() {
            0 => "",
            count => &self.urls[turn(sample.user, sample.number, count)],
        }
    }
}

/// One row.
#[derive(Debug, Clone, Copy)]
pub struct SampleRow<'a> {
    /// The call.
    pub sample: &'a Sample,
    /// When it was due.
    pub due: Timestamp,
    /// Planned rate of its level in millionths of an arrival per second, if the plan is a stair of
    /// several levels.
    pub level_urps: Option<u64>,
    /// Name of its task.
    pub task: &'a str,
    /// Its name.
    pub call: &'a str,
    /// Its method; empty if the plan does not name it.
    pub method: &'static str,
    /// Its URL; empty if the plan does not name it.
    pub url: &'a str,
    /// The agent that made it.
    pub agent: &'a AgentId,
}

/// The sampled calls of one run.
#[derive(Debug)]
pub struct SampleTable {
    control: Control,
    plan: Plan,
    start_at: Timestamp,
    workload: Workload,
    calls: Vec<NamedCall>,
    /// Whether the rate of the plan is a stair of several levels.
    has_levels: bool,
    query: Query,
}

impl SampleTable {
    /// The table of a run whose decisions are known.
    ///
    /// # Errors
    /// Why there is no table.
    pub fn new(control: Control) -> Result<Self, NoSamples> {
        let created = control.state.created.as_deref();
        let created = created.ok_or(NoSamples::NeverStarted)?;
        let plan = created.plan.clone();
        plan.samples_ppm.ok_or(NoSamples::NotAsked)?;
        let start = control.state.start.as_ref();
        let start_at = start.ok_or(NoSamples::NeverStarted)?.start_at;
        let workload = Workload::new(&plan, created.seed).steered(&control.state.steering.rates);
        let url = |target: &str, step: &Step| {
            let (origin, base) = split(target);
            format!("{origin}{}", full_path(base, &step.path))
        };
        let urls = |task: u16, step: &Step| match plan.requests {
            Some(_) => {
                let target = plan.targets().nth(step.target.into());
                target.map(|target| url(target, step)).into_iter().collect()
            }
            None => {
                let targets = plan.targets_of_task(task);
                targets.map(|target| url(target, step)).collect()
            }
        };
        let calls = plan.calls().map(|(task, step)| {
            let task = u16::try_from(task).unwrap_or(u16::MAX);
            NamedCall {
                task,
                name: step.name.clone(),
                method: step.method.name(),
                urls: urls(task, step),
            }
        });
        let calls = calls.collect();
        let has_levels = has_levels(&plan.profile);
        let query = query(&control, &Slice::default()).map_err(|_| NoSamples::NeverStarted)?;
        Ok(Self {
            control,
            plan,
            start_at,
            workload,
            calls,
            has_levels,
            query,
        })
    }

    /// Restricts the table to the times and tasks of a slice.
    ///
    /// # Errors
    /// All problems of the slice.
    pub fn within(self, slice: &Slice) -> Result<Self, Refusal> {
        let query = query(&self.control, slice)?;
        Ok(Self { query, ..self })
    }

    /// The control side of the run.
    #[must_use]
    pub fn control(&self) -> &Control {
        &self.control
    }

    /// Passes each row of a delta that the fold has taken to `each`; returns their number.
    ///
    /// # Errors
    /// The samples are invalid.
    pub fn rows(
        &self,
        agent: &AgentId,
        delta: &DeltaReported,
        mut each: impl FnMut(&SampleRow<'_>),
    ) -> Result<u64, NotSamples> {
        let holder = Holder {
            agent: agent.clone(),
            boot_id: delta.boot_id.clone(),
        };
        let named = delta.names.iter().map(|named| {
            let call = NamedCall {
                task: named.task,
                name: named.name.to_string(),
                method: "",
                urls: Vec::new(),
            };
            (named.call, call)
        });
        let named: BTreeMap<u16, NamedCall> = named.collect();
        let mut rows = 0;
        for sample in &samples::decode(&delta.samples)? {
            let call = named.get(&sample.call);
            let call = call.or_else(|| self.calls.get(usize::from(sample.call)));
            if !counts(&self.control, &holder, sample.tick, sample.generation)
                || !self.is_wanted(sample, call)
            {
                continue;
            }
            let task = call.and_then(|call| self.plan.tasks.get(usize::from(call.task)));
            each(&SampleRow {
                sample,
                due: self.start_at.plus_us(sample.due_us),
                level_urps: self
                    .has_levels
                    .then(|| self.workload.pace().rate_at(sample.due_us)),
                task: task.map_or("", |task| &task.name),
                call: call.map_or("", |call| &call.name),
                method: call.map_or("", |call| call.method),
                url: call.map_or("", |call| call.url(sample)),
                agent,
            });
            rows += 1;
        }
        Ok(rows)
    }

    fn is_wanted(&self, sample: &Sample, call: Option<&NamedCall>) -> bool {
        let tasks = self.query.tasks.as_ref();
        let of_task = tasks.is_none_or(|tasks| call.is_some_and(|call| tasks.contains(&call.task)));
        of_task && self.query.ticks.contains(&sample.tick)
    }

    /// Arrivals per second planned at a due time; `None` in a closed loop, which plans none.
    fn planned_rate(&self, due_us: u64) -> Option<String> {
        if self.workload.users().is_some() {
            return None;
        }
        Some(rate_text(self.workload.pace().rate_at(due_us)))
    }

    /// The id of the trace that the call is part of, if the run sends it to its target.
    fn trace_id(&self, sample: &Sample) -> Option<String> {
        let run = &self.control.run;
        let id = || trace_id(&format!("{run}/{}", arrival(sample)));
        self.plan.has_trace_context().then(id)
    }
}

/// A rate in millionths of an arrival per second as a number of arrivals per second.
fn rate_text(urps: u64) -> String {
    let text = format!("{}.{:06}", urps / 1_000_000, urps % 1_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Whether a profile is a stair: constant pieces, of more than one rate. A recorded load has a
/// piece for each second; such a piece is not a level.
fn has_levels(profile: &Profile) -> bool {
    let pieces = &profile.pieces;
    let is_stair = matches!(profile.shape, Shape::Step | Shape::Stages);
    let are_constant = pieces.iter().all(|piece| piece.from == piece.to);
    let first = pieces.first().map(|piece| piece.from);
    is_stair && are_constant && pieces.iter().any(|piece| Some(piece.from) != first)
}

/// A slice, checked against a run of which no delta was read.
fn query(control: &Control, slice: &Slice) -> Result<Query, Refusal> {
    let (data, index) = (&Projection::default(), &Index::default());
    Query::of(
        Indexed {
            control,
            data,
            index,
        },
        slice,
    )
}

/// Number of an arrival; in a closed loop user, generation and iteration.
fn arrival(sample: &Sample) -> String {
    match sample.user {
        None => sample.number.to_string(),
        Some(user) => format!("{user}.{}.{}", sample.generation, sample.number),
    }
}
