//! The runs of a log: their list, and their removal.
//!
//! A run that is not over or owes its teardown is not removed.

use std::collections::BTreeMap;

use loadpilot_bus::Stream;
use loadpilot_engine::control::{Control, ControlLog};
use loadpilot_engine::report::cumulative::gauges::ended_at;
use loadpilot_engine::report::run_state;
use loadpilot_events::plan::{Object, Plan};
use loadpilot_events::refusal::{Problem, Refusal};
use loadpilot_events::{RunId, Timestamp};
use serde::Serialize;

use super::bodies;
use super::session::{Session, SessionError, plans, retry_unreachable};

/// One run in a list.
#[derive(Debug, Clone, Serialize)]
pub struct ListedRun {
    /// Its id.
    pub run: RunId,
    /// Its scenario.
    pub scenario: String,
    /// Its state.
    pub state: loadpilot_events::answers::report::RunState,
    /// How it ended; null before its seal.
    pub ending: Option<loadpilot_events::log::ctl::Ending>,
    /// When it was created; for a refused run, when it was requested.
    pub created_at: Timestamp,
    /// When it was sealed or refused; null before.
    pub ended_at: Option<Timestamp>,
    /// Its target's URL.
    pub target: String,
    /// The length of its profile in µs.
    pub profile_us: u64,
    /// Its tags.
    pub tags: BTreeMap<String, String>,
    /// Whether it was requested; false while its setup is played.
    pub asked: bool,
    /// Number of notes about it.
    pub notes: usize,
    /// Whether it is marked as a baseline.
    pub is_baseline: bool,
    /// State of its teardown; null when it has none.
    pub teardown: Option<Teardown>,
}

/// State of the teardown of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Teardown {
    /// Not played yet: the command that holds it plays it, or the next command that can.
    Owed,
    /// Played.
    Played,
}

impl Session {
    /// Every run of the log, oldest first.
    ///
    /// # Errors
    /// A fault of the bus.
    pub async fn runs(&self) -> Result<Vec<ListedRun>, SessionError> {
        let logs = self.control_of_all().await?;
        Ok(logs.iter().filter_map(listed).collect())
    }

    /// The control events of every run of the tenant, folded, oldest first.
    pub(crate) async fn control_of_all(&self) -> Result<Vec<Control>, SessionError> {
        let (bus, subjects) = self.parts();
        let mut logs: BTreeMap<RunId, ControlLog> = BTreeMap::new();
        let filters = subjects.control_of_all_runs();
        let mut tail = retry_unreachable(|| bus.tail(Stream::Ctl, filters.clone(), 1)).await?;
        while let Some(stored) = tail.next_stored().await? {
            let Some(subject) = subjects.parse(&stored.subject) else {
                continue;
            };
            let log = logs
                .entry(subject.run.clone())
                .or_insert_with(|| ControlLog::new(subject.run.clone()));
            log.add(&stored.subject, &subject.kind, stored.seq, &stored.payload);
        }
        Ok(logs.values().map(ControlLog::close).collect())
    }

    /// Removes runs from the log, and old bodies that no other run names; returns the number of
    /// runs. With `forget_teardowns`, also runs whose teardown is still owed.
    ///
    /// # Errors
    /// When one of them is unknown, not over or owes its teardown (then nothing is removed); or a
    /// fault of the bus.
    pub async fn prune(
        &self,
        runs: &[RunId],
        forget_teardowns: bool,
    ) -> Result<usize, SessionError> {
        let (bus, subjects) = self.parts();
        let (mut problems, mut debts) = (Vec::new(), Vec::new());
        for run in runs {
            let Control {
                state,
                teardown: debt,
                ..
            } = self.control(run).await?;
            let was_requested = state.requested.is_some() || state.created.is_some();
            let rule = if !was_requested && debt.setup.is_none() {
                Some("must be a run of this log")
            } else if was_requested && !state.over {
                Some("must be over before it is removed")
            } else if debt.is_owed() && !forget_teardowns {
                Some("must have had its teardown before it is removed")
            } else {
                None
            };
            problems.extend(rule.map(|rule| Problem::new("run", rule, run)));
            debts.push(debt);
        }
        if !problems.is_empty() {
            return Err(Refusal { problems }.into());
        }
        for (run, debt) in runs.iter().zip(&debts) {
            self.shred_teardown_inputs(run, debt).await?;
            let everything = subjects.everything_of(run);
            bus.purge(Stream::Data, &everything).await?;
            bus.purge(Stream::Ctl, &everything).await?;
            bus.kv_shred(&subjects.secret_key(run)).await?;
        }
        let remaining = self.control_of_all().await?;
        let remaining = remaining.iter().flat_map(objects);
        bodies::prune(&bus, &subjects, remaining, bodies::LEFTOVERS_AFTER).await?;
        Ok(runs.len())
    }
}

/// The objects that a run needs: bodies of its plans, and files of a teardown that is owed.
fn objects(control: &Control) -> impl Iterator<Item = &Object> {
    let debt = Some(&control.teardown).filter(|debt| debt.is_owed());
    let setup = debt.and_then(|debt| debt.setup.as_deref());
    let ours = setup.map(|setup| &setup.bundle).into_iter();
    let saved_states = debt.into_iter().flat_map(|debt| &debt.saved_states);
    plans(control)
        .flat_map(Plan::objects)
        .chain(ours)
        .chain(saved_states)
}

fn listed(control: &Control) -> Option<ListedRun> {
    let state = &control.state;
    let plan = plans(control).last()?;
    let debt = &control.teardown;
    Some(ListedRun {
        asked: state.created.is_some() || state.requested.is_some(),
        teardown: match (&debt.setup, debt.is_owed()) {
            (None, _) => None,
            (Some(_), true) => Some(Teardown::Owed),
            (Some(_), false) => Some(Teardown::Played),
        },
        run: control.run.clone(),
        scenario: plan.scenario.clone(),
        state: run_state(control),
        ending: control.sealed.as_ref().map(|sealed| sealed.ending),
        created_at: control
            .records
            .first()
            .map_or(control.created_at, |(_, r)| r.record().0),
        ended_at: ended_at(control),
        target: plan.target.clone(),
        profile_us: plan.profile.duration_us(),
        tags: plan.tags.clone(),
        notes: control.annotations.notes.len(),
        is_baseline: control.annotations.baseline.is_some(),
    })
}
