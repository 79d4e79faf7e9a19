//! A log that was written to a file: it can only be read. All other operations are refused.
//!
//! The caller defines the format of the file: this module sees events and objects only.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::pattern::matches;
use crate::{AppendError, Appended, Fault, Link, RequestError, Step, Stored, Stream};

/// Stored events in order, or the fault that ends them.
pub type Events = Box<dyn Iterator<Item = Result<Stored, Fault>> + Send>;

/// Content of a file.
pub trait Records: fmt::Debug + Send + Sync {
    /// The events of a stream from a sequence on, in order. Reading them may block on the disk.
    ///
    /// # Errors
    /// When the file cannot be opened.
    fn events(&self, stream: Stream, from_seq: u64) -> Result<Events, Fault>;

    /// Sequence of the last event of a stream; 0 without events.
    fn head(&self, stream: Stream) -> u64;

    /// Creation time of the stream that the events were read from, in microseconds since 1970.
    fn created_us(&self, stream: Stream) -> u64;

    /// Number that distinguishes its content from that of every other file.
    fn identity(&self) -> u64;

    /// An object by its name; `None` if it is absent.
    ///
    /// # Errors
    /// When the file cannot be read.
    fn object(&self, name: &str) -> Result<Option<Bytes>, Fault>;
}

/// A connection to a file. Clones share it.
#[derive(Clone, Debug)]
pub struct StoredFile {
    records: Arc<dyn Records>,
    link: watch::Sender<Link>,
}

impl StoredFile {
    pub(crate) fn new(records: Arc<dyn Records>) -> Self {
        let since = Instant::now();
        Self {
            records,
            link: watch::Sender::new(Link::Up { since }),
        }
    }

    pub(crate) fn identity(&self) -> u64 {
        self.records.identity()
    }

    pub(crate) fn message_bytes_max(&self) -> u64 {
        u64::MAX
    }

    pub(crate) async fn open_log(&self) -> Result<(), Fault> {
        Ok(())
    }

    pub(crate) async fn append(
        &self,
        _stream: Stream,
        _subject: &str,
        _msg_id: &str,
        _payload: Bytes,
    ) -> Result<Appended, AppendError> {
        Err(AppendError::Fault(Fault::ReadOnly))
    }

    pub(crate) async fn append_at(
        &self,
        _subject: &str,
        _expected_last: u64,
        _msg_id: &str,
        _payload: Bytes,
    ) -> Result<u64, AppendError> {
        Err(AppendError::Fault(Fault::ReadOnly))
    }

    pub(crate) fn tail(
        &self,
        stream: Stream,
        subjects: Vec<String>,
        from_seq: u64,
    ) -> Result<StoredFileTail, Fault> {
        Ok(StoredFileTail {
            events: Some(self.records.events(stream, from_seq)?),
            subjects,
        })
    }

    pub(crate) async fn head(&self, stream: Stream) -> Result<u64, Fault> {
        Ok(self.records.head(stream))
    }

    pub(crate) async fn last(
        &self,
        stream: Stream,
        subject: &str,
    ) -> Result<Option<Stored>, Fault> {
        let mut last = None;
        for stored in self.records.events(stream, 1)? {
            let stored = stored?;
            if stored.subject == subject {
                last = Some(stored);
            }
        }
        Ok(last)
    }

    pub(crate) async fn created(&self, stream: Stream) -> Result<u64, Fault> {
        Ok(self.records.created_us(stream))
    }

    pub(crate) async fn time_of(&self, _stream: Stream) -> Result<u64, Fault> {
        Err(Fault::ReadOnly)
    }

    pub(crate) async fn purge(&self, _stream: Stream, _filter: &str) -> Result<u64, Fault> {
        Err(Fault::ReadOnly)
    }

    pub(crate) async fn publish(&self, _subject: &str, _payload: Bytes) -> Result<(), Fault> {
        Err(Fault::ReadOnly)
    }

    pub(crate) async fn request(
        &self,
        subject: &str,
        _payload: Bytes,
        _timeout: Duration,
    ) -> Result<Bytes, RequestError> {
        Err(RequestError::NoResponders {
            subject: subject.to_owned(),
        })
    }

    pub(crate) async fn kv_put(
        &self,
        _key: &str,
        _value: Bytes,
        _ttl: Duration,
    ) -> Result<(), Fault> {
        Err(Fault::ReadOnly)
    }

    /// Secrets are never written to a file.
    pub(crate) async fn kv_get(&self, _key: &str) -> Result<Option<Bytes>, Fault> {
        Ok(None)
    }

    pub(crate) async fn kv_shred(&self, _key: &str) -> Result<(), Fault> {
        Err(Fault::ReadOnly)
    }

    pub(crate) async fn object_put(&self, _name: &str, _content: Bytes) -> Result<(), Fault> {
        Err(Fault::ReadOnly)
    }

    pub(crate) async fn object_bytes(&self, name: &str) -> Result<Option<u64>, Fault> {
        let content = self.records.object(name)?;
        Ok(content.map(|content| content.len() as u64))
    }

    pub(crate) async fn object_touch(&self, _name: &str) -> Result<Option<u64>, Fault> {
        Err(Fault::ReadOnly)
    }

    pub(crate) async fn object_get(
        &self,
        name: &str,
        bytes_max: u64,
    ) -> Result<Option<Bytes>, Fault> {
        let content = self.records.object(name)?;
        match content {
            Some(content) if content.len() as u64 > bytes_max => Err(Fault::Broken {
                name: name.to_owned(),
                why: format!("it has more than {bytes_max} bytes"),
            }),
            content => Ok(content),
        }
    }

    pub(crate) async fn object_retain(
        &self,
        _prefix: &str,
        _keep: &std::collections::BTreeSet<String>,
        _leftovers_after: Duration,
    ) -> Result<u64, Fault> {
        Err(Fault::ReadOnly)
    }

    pub(crate) fn link(&self) -> Link {
        *self.link.borrow()
    }

    pub(crate) fn why_down(&self) -> Option<String> {
        None
    }

    pub(crate) fn watch_link(&self) -> watch::Receiver<Link> {
        self.link.subscribe()
    }

    pub(crate) async fn flush(&self) -> Result<(), Fault> {
        Ok(())
    }
}

/// The events of a file that a reader requested.
pub(crate) struct StoredFileTail {
    /// `None` after the last one.
    events: Option<Events>,
    subjects: Vec<String>,
}

impl fmt::Debug for StoredFileTail {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let subjects = &self.subjects;
        write!(out, "StoredFileTail({subjects:?})")
    }
}

impl StoredFileTail {
    /// The next step; after [`Step::CaughtUp`] it waits for ever, since a file gets no more events.
    pub(crate) async fn next(&mut self) -> Result<Step, Fault> {
        let Some(events) = &mut self.events else {
            return std::future::pending().await;
        };
        let subjects = &self.subjects;
        let wanted = |subject: &str| {
            subjects.is_empty() || subjects.iter().any(|pattern| matches(pattern, subject))
        };
        for stored in events {
            let stored = stored?;
            if wanted(&stored.subject) {
                return Ok(Step::Event(stored));
            }
        }
        self.events = None;
        Ok(Step::CaughtUp)
    }
}
