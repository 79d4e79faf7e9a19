//! Single calls as a table for spreadsheets and data frames: CSV as in RFC 4180.
//!
//! One row for each sampled call that counts in the report; superseded calls are left out. Text
//! from a scenario or a target never begins like a formula. Must never replace the report, whose
//! figures are folded from rows and not from samples.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use loadpilot_events::Timestamp;
use loadpilot_events::id::{AgentId, Holder};
use loadpilot_events::log::delta::DeltaReported;
use loadpilot_events::log::samples::{self, NotSamples, Sample};
use loadpilot_events::plan::Plan;

use crate::control::Control;
use crate::fold::project::counts;
use crate::schedule::workload::Workload;

/// The first line: the names of the columns.
pub const HEADER: &str = "due,arrival,task,call,status,outcome,response_us,service_us,\
                        first_byte_us,bytes_out,bytes_in,connection,agent,planned_rate\r\n";

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

/// The table of one run.
#[derive(Debug)]
pub struct SampleTable<'a> {
    control: &'a Control,
    start_at: Timestamp,
    workload: Workload,
    /// Task and name of each call, encoded as cells.
    names: Vec<(String, String)>,
    plan: &'a Plan,
}

impl<'a> SampleTable<'a> {
    /// The table of a run whose decisions are known.
    ///
    /// # Errors
    /// Why there is no table.
    pub fn new(control: &'a Control) -> Result<Self, NoSamples> {
        let created = control.state.created.as_ref();
        let created = created.ok_or(NoSamples::NeverStarted)?;
        let plan = &created.plan;
        plan.samples_ppm.ok_or(NoSamples::NotAsked)?;
        let start = control.state.start.as_ref();
        let names = plan.calls();
        let names = names.map(|(task, step)| (cell(&plan.tasks[task].name), cell(&step.name)));
        Ok(Self {
            control,
            start_at: start.ok_or(NoSamples::NeverStarted)?.start_at,
            workload: Workload::new(plan, created.seed).steered(&control.state.steering.rates),
            names: names.collect(),
            plan,
        })
    }

    /// The lines of a delta that the fold has taken, and their number.
    ///
    /// # Errors
    /// The samples are invalid.
    pub fn lines(
        &self,
        agent: &AgentId,
        delta: &DeltaReported,
        text: &mut String,
    ) -> Result<u64, NotSamples> {
        let holder = Holder {
            agent: agent.clone(),
            boot_id: delta.boot_id.clone(),
        };
        let agent = cell(agent.as_str());
        let named = delta.names.iter().map(|named| {
            let task = self.plan.tasks.get(usize::from(named.task));
            let task = cell(task.map_or("", |task| &task.name));
            (named.call, (task, cell(&named.name)))
        });
        let named: BTreeMap<u16, (String, String)> = named.collect();
        let mut lines = 0;
        for call in samples::decode(&delta.samples)? {
            if counts(self.control, &holder, call.tick, call.generation) {
                let names = named.get(&call.call);
                let names = names.or_else(|| self.names.get(usize::from(call.call)));
                self.line(&agent, &call, names, text);
                lines += 1;
            }
        }
        Ok(lines)
    }

    fn line(
        &self,
        agent: &str,
        call: &Sample,
        names: Option<&(String, String)>,
        text: &mut String,
    ) {
        let due = self.start_at.plus_us(call.due_us);
        let due_ns = u128::from(due.0) * 1_000;
        let (task, name) = match names {
            Some((task, name)) => (task.as_str(), name.as_str()),
            None => ("", ""),
        };
        let arrival = match call.user {
            None => call.number.to_string(),
            Some(user) => format!("{user}.{}.{}", call.generation, call.number),
        };
        let connection = match call.reused {
            None => "",
            Some(true) => "reused",
            Some(false) => "opened",
        };
        let status = call.status.map(u64::from);
        writeln_csv(
            text,
            format_args!(
                "{due_ns},{arrival},{task},{name},{},{},{},{},{},{},{},{connection},{agent},{}",
                maybe(status),
                call.outcome.name(),
                call.response_us,
                call.service_us,
                maybe(call.first_byte_us),
                call.sent_bytes,
                call.received_bytes,
                self.planned_rate(call.due_us),
            ),
        );
    }

    /// Arrivals per second; empty in a closed loop, which plans none.
    fn planned_rate(&self, due_us: u64) -> String {
        if self.workload.users().is_some() {
            return String::new();
        }
        let micro = self.workload.pace().rate_at(due_us);
        let text = format!("{}.{:06}", micro / 1_000_000, micro % 1_000_000);
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    }
}

fn writeln_csv(text: &mut String, line: std::fmt::Arguments<'_>) {
    write!(text, "{line}\r\n").expect("a String takes what is written");
}

fn maybe(number: Option<u64>) -> String {
    number.map_or_else(String::new, |number| number.to_string())
}

/// Text as a cell: quoted where necessary, and never like the beginning of a formula, which is = +
/// - @ or a character that spreadsheets skip before them (OWASP, "CSV injection").
fn cell(text: &str) -> String {
    let mut cell = text.replace('"', "\"\"");
    if text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠']) {
        cell.insert(0, '\'');
    }
    match cell.contains([',', '"', '\r', '\n', '\'']) {
        true => format!("\"{cell}\""),
        false => cell,
    }
}
