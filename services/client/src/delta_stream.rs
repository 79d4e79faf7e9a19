//! The deltas of a run in the order of the log. Other threads parse them while earlier ones are
//! folded.
//!
//! Must never judge a delta.

use std::collections::VecDeque;

use bytes::Bytes;
use loadpilot_bus::{Bus, Fault, Stream, Tail};
use loadpilot_engine::fold::delta_record::DeltaRecord;
use loadpilot_events::RunId;
use loadpilot_events::id::AgentId;
use loadpilot_events::wire::subject::{Kind, Subjects};
use tokio::task::JoinHandle;

// Circle: a session folds deltas, and these are read with the session's retry while its server is
// away.
use super::session::{SessionError, retry_unreachable};

/// Number of records, and their size in bytes, at which a batch is closed.
const BATCH_RECORDS: usize = 64;
const BATCH_BYTES: usize = 512 << 10;
/// Number of batches that are parsed ahead.
const BATCHES_AHEAD: usize = 3;

/// Consecutive records.
#[derive(Debug)]
pub(crate) struct Batch {
    pub(crate) records: Vec<DeltaRecord>,
    /// Stream sequence of the last one.
    pub(crate) last_seq: u64,
}

/// The deltas of a run that are in the log now.
#[derive(Debug)]
pub(crate) struct DeltaStream {
    tail: Tail,
    subjects: Subjects,
    ahead: VecDeque<JoinHandle<Batch>>,
    is_at_end: bool,
}

impl DeltaStream {
    /// Reads the deltas from a stream sequence on.
    ///
    /// # Errors
    /// A fault of the bus.
    pub(crate) async fn open(
        bus: &Bus,
        subjects: &Subjects,
        run: &RunId,
        from_seq: u64,
    ) -> Result<Self, SessionError> {
        let deltas = vec![subjects.delta_all(run)];
        let open = || bus.tail(Stream::Data, deltas.clone(), from_seq);
        Ok(Self {
            tail: retry_unreachable(open).await?,
            subjects: subjects.clone(),
            ahead: VecDeque::new(),
            is_at_end: false,
        })
    }

    /// The next batch; `None` after the last delta.
    ///
    /// # Errors
    /// A fault of the bus.
    pub(crate) async fn next(&mut self) -> Result<Option<Batch>, SessionError> {
        while !self.is_at_end && self.ahead.len() < BATCHES_AHEAD {
            self.read_batch().await?;
        }
        let Some(parsing) = self.ahead.pop_front() else {
            return Ok(None);
        };
        let batch = parsing.await.map_err(|error| Fault::Server {
            what: "parse deltas".to_owned(),
            why: error.to_string(),
        })?;
        Ok(Some(batch))
    }

    /// Reads a batch and begins to parse it.
    async fn read_batch(&mut self) -> Result<(), Fault> {
        let mut unparsed = Vec::with_capacity(BATCH_RECORDS);
        let (mut bytes, mut last_seq) = (0, 0);
        while unparsed.len() < BATCH_RECORDS && bytes < BATCH_BYTES {
            let Some(stored) = self.tail.next_stored().await? else {
                self.is_at_end = true;
                break;
            };
            last_seq = stored.seq;
            let subject = self.subjects.parse(&stored.subject);
            if let Some(Kind::Delta(agent)) = subject.map(|subject| subject.kind) {
                bytes += stored.payload.len();
                unparsed.push((agent, stored.subject, stored.seq, stored.payload));
            }
        }
        if last_seq > 0 {
            let parsing = tokio::task::spawn_blocking(move || Batch {
                records: parse(unparsed),
                last_seq,
            });
            self.ahead.push_back(parsing);
        }
        Ok(())
    }
}

type Unparsed = (AgentId, String, u64, Bytes);

fn parse(unparsed: Vec<Unparsed>) -> Vec<DeltaRecord> {
    let unparsed = unparsed.into_iter();
    let parse = |(agent, subject, seq, payload): Unparsed| {
        DeltaRecord::parse(agent, subject, seq, &payload)
    };
    unparsed.map(parse).collect()
}
