//! Notes about a run that is over, and its mark as a baseline.

use loadpilot_events::RunId;
use loadpilot_events::answers::annotations::Annotations;
use loadpilot_events::limits::{NOTE_CHARS_MAX, NOTES_MAX};
use loadpilot_events::log::req::{Request, RunAnnotated};
use loadpilot_events::refusal::{Problem, Refusal};

use super::{Session, SessionError};

/// Rule about the id of a run.
const UNKNOWN: &str = "must be a run of this log";

impl Session {
    /// The notes of a run, and its mark as a baseline.
    ///
    /// # Errors
    /// When the log holds no such run; or a fault of the bus.
    pub async fn annotations(&self, run: &RunId) -> Result<Annotations, SessionError> {
        let control = self.control(run).await?;
        match control.state.requested {
            Some(_) => Ok(control.annotations),
            None => Err(Problem::new("run", UNKNOWN, run).into()),
        }
    }

    /// Adds a note, marks the run as a baseline, or removes that mark; returns the resulting
    /// annotations.
    ///
    /// # Errors
    /// When the log holds no such run, when the run is not over, or when the note is too long or
    /// exceeds the maximum number; or a fault of the bus.
    pub async fn annotate(
        &self,
        run: &RunId,
        annotated: RunAnnotated,
    ) -> Result<Annotations, SessionError> {
        let control = self.control(run).await?;
        let mut problems = Vec::new();
        if control.state.requested.is_none() {
            problems.push(Problem::new("run", UNKNOWN, run));
        } else if !control.state.over {
            problems.push(Problem::new(
                "run",
                "must be over before it gets notes",
                run,
            ));
        }
        if let Some(text) = &annotated.text {
            let (chars, notes) = (text.chars().count(), control.annotations.notes.len());
            if text.trim().is_empty() || chars > NOTE_CHARS_MAX {
                let rule = format!("must have 1 to {NOTE_CHARS_MAX} characters");
                problems.push(Problem::new("text", rule, format!("{chars} characters")));
            }
            if notes >= NOTES_MAX {
                let rule = format!("must be one of at most {NOTES_MAX} notes of a run");
                problems.push(Problem::new("text", rule, format!("{notes} notes")));
            }
        }
        if !problems.is_empty() {
            return Err(Refusal { problems }.into());
        }
        self.store(run, Request::RunAnnotated(annotated)).await?;
        self.annotations(run).await
    }
}
