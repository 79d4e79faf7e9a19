//! A stream in memory: events in order, a window of message ids, a limit. Only its clock is impure.

use std::collections::{HashMap, VecDeque};
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use tokio::time::Instant;

use crate::pattern::matches;
use crate::{AppendError, Appended, Stored, Stream};

/// Size in bytes of a stored message in addition to subject and payload, roughly as on a real
/// server.
const OVERHEAD_BYTES: u64 = 64;

#[derive(Debug)]
pub(super) struct Log {
    stream: Stream,
    subjects: Vec<String>,
    max_bytes: u64,
    pub(super) created_us: u64,
    /// In order of `seq`; purging leaves gaps.
    events: Vec<Stored>,
    bytes: u64,
    head: u64,
    ids: HashMap<String, u64>,
    ids_by_age: VecDeque<(Instant, String)>,
}

impl Log {
    pub(super) fn new(subjects: Vec<String>, max_bytes: u64, stream: Stream) -> Log {
        Log {
            stream,
            subjects,
            max_bytes,
            created_us: now_us(),
            events: Vec::new(),
            bytes: 0,
            head: 0,
            ids: HashMap::new(),
            ids_by_age: VecDeque::new(),
        }
    }

    pub(super) fn collects(&self, subject: &str) -> bool {
        self.subjects.iter().any(|bound| matches(bound, subject))
    }

    pub(super) fn head(&self) -> u64 {
        self.head
    }

    pub(super) fn last(&self, subject: &str) -> Option<&Stored> {
        self.events
            .iter()
            .rev()
            .find(|stored| stored.subject == subject)
    }

    /// The first event from `from_seq` on under one of `subjects`; an empty list selects all.
    pub(super) fn next(&self, subjects: &[String], from_seq: u64) -> Option<&Stored> {
        let start = self.events.partition_point(|stored| stored.seq < from_seq);
        let wanted = |stored: &&Stored| {
            subjects.is_empty() || subjects.iter().any(|bound| matches(bound, &stored.subject))
        };
        self.events[start..].iter().find(wanted)
    }

    /// Checks the expected sequence, then the message id, then the limit: the order of the server.
    pub(super) fn append(
        &mut self,
        subject: &str,
        expected_last: Option<u64>,
        msg_id: Option<&str>,
        payload: Bytes,
    ) -> Result<Appended, AppendError> {
        let last = self.last(subject).map_or(0, |stored| stored.seq);
        if expected_last.is_some_and(|expected| expected != last) {
            return Err(AppendError::Conflict);
        }
        self.forget_old_ids();
        if let Some(&seq) = msg_id.and_then(|id| self.ids.get(id)) {
            return Ok(Appended {
                seq,
                duplicate: true,
            });
        }
        let size = size(subject, &payload);
        if self.bytes + size > self.max_bytes {
            return Err(AppendError::Full {
                stream: self.stream,
            });
        }
        self.head += 1;
        self.bytes += size;
        self.events.push(Stored {
            subject: subject.to_owned(),
            seq: self.head,
            stored_at_us: now_us(),
            payload,
        });
        if let Some(id) = msg_id {
            self.ids.insert(id.to_owned(), self.head);
            self.ids_by_age.push_back((Instant::now(), id.to_owned()));
        }
        Ok(Appended {
            seq: self.head,
            duplicate: false,
        })
    }

    pub(super) fn purge(&mut self, filter: &str) -> u64 {
        let before = self.events.len();
        self.events
            .retain(|stored| !matches(filter, &stored.subject));
        self.bytes = self
            .events
            .iter()
            .map(|stored| size(&stored.subject, &stored.payload))
            .sum();
        (before - self.events.len()) as u64
    }

    fn forget_old_ids(&mut self) {
        let window = self.stream.dedup_window();
        while let Some((at, _)) = self.ids_by_age.front()
            && at.elapsed() >= window
        {
            if let Some((_, id)) = self.ids_by_age.pop_front() {
                self.ids.remove(&id);
            }
        }
    }
}

fn size(subject: &str, payload: &Bytes) -> u64 {
    (subject.len() + payload.len()) as u64 + OVERHEAD_BYTES
}

pub(super) fn now_us() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}
