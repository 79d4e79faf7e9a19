//! Notes about a run and its mark as a baseline: a fold of the request subject.
//!
//! Unlike the rest of the control side it counts records after the seal, so nothing that a report
//! or its digest contains may depend on it.

use loadpilot_events::answers::annotations::{Annotations, BaselineMark, Note};
use loadpilot_events::limits::NOTES_MAX;
use loadpilot_events::log::req::{Request, RunAnnotated};
use loadpilot_events::units::Timestamp;

/// Applies one more record of the request subject, which its author wrote at `at`. Notes beyond
/// [`NOTES_MAX`] are left out.
pub(crate) fn annotate(annotations: &mut Annotations, at: Timestamp, request: &Request) {
    let Request::RunAnnotated(RunAnnotated { by, text, baseline }) = request else {
        return;
    };
    let by = by.clone();
    if let Some(is_baseline) = *baseline {
        let by = by.clone();
        annotations.baseline = is_baseline.then_some(BaselineMark { at, by });
    }
    let has_room = annotations.notes.len() < NOTES_MAX;
    if let Some(text) = text.clone().filter(|_| has_room) {
        annotations.notes.push(Note { at, by, text });
    }
}
