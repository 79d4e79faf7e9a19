//! Reads a run's log to its last record for `loadpilot verify`; the checks are the engine's.

use loadpilot_bus::Stream;
use loadpilot_engine::verify::{Verification, Verifier};
use loadpilot_events::RunId;
use serde_json::Value;

use super::delta_stream::DeltaStream;
use super::session::{Session, SessionError, control_of, retry_unreachable};

impl Session {
    /// Checks the invariants of a run's log. `known` is an earlier report to compare with, as JSON.
    ///
    /// # Errors
    /// When the log holds no such run; or a fault of the bus.
    pub async fn verify(
        &self,
        run: &RunId,
        known: Option<&Value>,
    ) -> Result<Verification, SessionError> {
        let (bus, subjects) = self.parts();
        let filters = control_of(&subjects, run);
        let mut verifier = Verifier::new(run.clone(), subjects.ctl(run));
        let mut tail = retry_unreachable(|| bus.tail(Stream::Ctl, filters.clone(), 1)).await?;
        while let Some(stored) = tail.next_stored().await? {
            if let Some(kind) = self.kind(&stored.subject) {
                verifier.add(&stored.subject, &kind, stored.seq, &stored.payload);
            }
        }
        let mut verifier = verifier.control_read()?;
        let mut deltas = DeltaStream::open(&bus, &subjects, run, 1).await?;
        while let Some(batch) = deltas.next().await? {
            batch
                .records
                .into_iter()
                .for_each(|record| verifier.add_parsed(record));
        }
        Ok(verifier.close(known)?)
    }
}
