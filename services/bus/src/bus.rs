//! The interface for the other crates: a real server, a log in a file or, with the feature
//! `memory`, the server's twin in memory. It only selects the implementation and adds no behaviour.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::watch;
use tokio::time::timeout;

#[cfg(feature = "memory")]
use crate::Limits;
#[cfg(feature = "memory")]
use crate::memory::{Memory, MemorySubscription, MemoryTail};
use crate::nats::{NatsSubscription, NatsTail};
use crate::pattern::is_exact;
use crate::stored_file::{Records, StoredFile, StoredFileTail};
use crate::{
    AppendError, Appended, Fault, Link, Message, Nats, Options, RequestError, Step, Stored, Stream,
};

/// Timeout of a read of stored events for its next event.
const READ_TIMEOUT: Duration = Duration::from_secs(20);

/// One connection. Clones share it.
#[derive(Clone, Debug)]
pub enum Bus {
    /// A nats-server.
    Nats(Arc<Nats>),
    /// A log in a file: it can only be read.
    File(StoredFile),
    /// A server in this process, for tests only.
    #[cfg(feature = "memory")]
    Memory(Memory),
}

macro_rules! on_each {
    ($bus:expr, $inner:ident => $call:expr) => {
        match $bus {
            Bus::Nats($inner) => $call,
            Bus::File($inner) => $call,
            #[cfg(feature = "memory")]
            Bus::Memory($inner) => $call,
        }
    };
}

impl Bus {
    /// Connects once, without a retry. After a later loss the client reconnects, until the last
    /// clone is dropped.
    ///
    /// # Errors
    /// [`Fault::Address`], [`Fault::Unreachable`], [`Fault::Unauthorized`], [`Fault::Version`].
    pub async fn connect(options: &Options) -> Result<Bus, Fault> {
        Ok(Bus::Nats(Arc::new(Nats::connect(options).await?)))
    }

    /// A log in a file. Every write is refused with [`Fault::ReadOnly`].
    pub fn file(records: Arc<dyn Records>) -> Bus {
        Bus::File(StoredFile::new(records))
    }

    /// A connection to a new server in memory with the default names, prefix and limits.
    #[cfg(feature = "memory")]
    pub fn memory() -> Bus {
        Bus::memory_with(Limits::default())
    }

    /// The same with other limits. [`Memory::peer`] makes further connections to it.
    #[cfg(feature = "memory")]
    pub fn memory_with(limits: Limits) -> Bus {
        Bus::Memory(Memory::new(&Options {
            limits,
            ..Options::default()
        }))
    }

    /// Creates both streams if they are absent, otherwise compares them with the settings that the
    /// log needs. It changes and deletes nothing. A client cannot see whether the server syncs each
    /// write.
    ///
    /// # Errors
    /// [`Fault::Drift`] names asset, setting, found and wanted; [`Fault::NoJetStream`].
    pub async fn open_log(&self) -> Result<(), Fault> {
        on_each!(self, bus => bus.open_log().await)
    }

    /// Creates the bucket and the object store if they are absent, and stores when the streams were
    /// created. Coordinators call it: users that the server confines to one tenant cannot.
    ///
    /// # Errors
    /// As [`Bus::open_log`].
    pub async fn open_stores(&self) -> Result<(), Fault> {
        match self {
            Bus::Nats(bus) => bus.open_stores().await,
            Bus::File(_) => Err(Fault::ReadOnly),
            // Both always exist.
            #[cfg(feature = "memory")]
            Bus::Memory(_) => Ok(()),
        }
    }

    /// Maximum size of a message in bytes, as the server last stated it.
    pub fn message_bytes_max(&self) -> u64 {
        on_each!(self, bus => bus.message_bytes_max())
    }

    /// Stores an event at least once: a repeat with the same `msg_id` within the stream's window
    /// (10 min for control, 2 min for data) is recognised. Returns within 5 s.
    ///
    /// # Errors
    /// See [`AppendError`]; never `Conflict`.
    ///
    /// # Panics
    /// When `subject` is not an exact subject.
    pub async fn append(
        &self,
        stream: Stream,
        subject: &str,
        msg_id: &str,
        payload: Bytes,
    ) -> Result<Appended, AppendError> {
        assert!(is_exact(subject), "append to {subject:?}");
        on_each!(self, bus => bus.append(stream, subject, msg_id, payload).await)
    }

    /// Stores an event in the control stream if the last event of exactly this subject has the
    /// sequence `expected_last` (0: no such event). Of any number of racing writers one wins.
    /// Returns the sequence under which the event with this `msg_id` is stored. A repeat of an
    /// stored append is a conflict: the caller reads again and looks for the id.
    ///
    /// # Errors
    /// See [`AppendError`].
    ///
    /// # Panics
    /// When `subject` is not an exact subject.
    pub async fn append_at(
        &self,
        subject: &str,
        expected_last: u64,
        msg_id: &str,
        payload: Bytes,
    ) -> Result<u64, AppendError> {
        assert!(is_exact(subject), "append to {subject:?}");
        on_each!(self, bus => bus.append_at(subject, expected_last, msg_id, payload).await)
    }

    /// Follows the events of `subjects` from `from_seq` on, in order, each once, through reconnects
    /// and restarts. Subjects may contain wildcards, but must not overlap; an empty list selects
    /// all.
    ///
    /// # Errors
    /// [`Fault::Missing`], [`Fault::Disconnected`], or the server's refusal of the filters.
    pub async fn tail(
        &self,
        stream: Stream,
        subjects: Vec<String>,
        from_seq: u64,
    ) -> Result<Tail, Fault> {
        Ok(match self {
            Bus::Nats(bus) => Tail(Events::Nats(bus.tail(stream, subjects, from_seq).await?)),
            Bus::File(bus) => Tail(Events::File(bus.tail(stream, subjects, from_seq)?)),
            #[cfg(feature = "memory")]
            Bus::Memory(bus) => Tail(Events::Memory(bus.tail(stream, subjects, from_seq)?)),
        })
    }

    /// Reads all events that are stored now (up to `up_to_seq`, inclusive), in order. The whole
    /// result is held in memory; use [`Bus::tail`] for more than a run's control events.
    ///
    /// # Errors
    /// As [`Bus::tail`] and [`Tail::next_stored`].
    pub async fn read(
        &self,
        stream: Stream,
        subjects: Vec<String>,
        up_to_seq: Option<u64>,
    ) -> Result<Vec<Stored>, Fault> {
        let last = up_to_seq.unwrap_or(u64::MAX);
        let mut found = Vec::new();
        let mut tail = self.tail(stream, subjects, 1).await?;
        while let Some(stored) = tail.next_stored().await? {
            if stored.seq > last {
                break;
            }
            found.push(stored);
        }
        Ok(found)
    }

    /// Sequence of the stream's last event, 0 if no event was ever stored.
    ///
    /// # Errors
    /// [`Fault::Missing`], and any fault of the request.
    pub async fn head(&self, stream: Stream) -> Result<u64, Fault> {
        on_each!(self, bus => bus.head(stream).await)
    }

    /// The last event of exactly this subject.
    ///
    /// # Errors
    /// [`Fault::Missing`], and any fault of the request.
    pub async fn last(&self, stream: Stream, subject: &str) -> Result<Option<Stored>, Fault> {
        on_each!(self, bus => bus.last(stream, subject).await)
    }

    /// Time at which the stream was created, in microseconds since 1970. A checkpoint of a stream
    /// with another time is invalid.
    ///
    /// # Errors
    /// [`Fault::Missing`], and any fault of the request.
    pub async fn created(&self, stream: Stream) -> Result<u64, Fault> {
        on_each!(self, bus => bus.created(stream).await)
    }

    /// Number that distinguishes this log from every other one: results computed from this log are
    /// invalid for another.
    ///
    /// # Errors
    /// [`Fault::Missing`], and any fault of the request.
    pub async fn identity(&self) -> Result<u64, Fault> {
        match self {
            Self::File(file) => Ok(file.identity()),
            server => server.created(Stream::Data).await,
        }
    }

    /// Current time on the server that leads the stream, in microseconds since 1970.
    ///
    /// # Errors
    /// [`Fault::Missing`], and any fault of the request.
    pub async fn time_of(&self, stream: Stream) -> Result<u64, Fault> {
        on_each!(self, bus => bus.time_of(stream).await)
    }

    /// Removes every event under `subject_filter` and returns their number. Their sequences are
    /// never used again.
    ///
    /// # Errors
    /// [`Fault::Missing`], [`Fault::TimedOut`] (the events may be removed).
    pub async fn purge(&self, stream: Stream, subject_filter: &str) -> Result<u64, Fault> {
        on_each!(self, bus => bus.purge(stream, subject_filter).await)
    }

    /// Sends a core message, at most once, to all current listeners. While the connection is down
    /// the call is refused: the message would arrive out of date.
    ///
    /// # Errors
    /// [`Fault::Disconnected`], [`Fault::TooLarge`], and [`Fault::Subject`], since the sender of a
    /// request chooses the reply subject.
    pub async fn publish(&self, subject: &str, payload: Bytes) -> Result<(), Fault> {
        if !is_exact(subject) {
            return Err(Fault::Subject {
                subject: subject.to_owned(),
            });
        }
        on_each!(self, bus => bus.publish(subject, payload).await)
    }

    /// Subscribes to core messages under `subject` (wildcards allowed), through reconnects.
    ///
    /// # Errors
    /// When the client cannot send the subscription; a denial is only logged.
    pub async fn subscribe(&self, subject: &str) -> Result<Subscription, Fault> {
        let source = match self {
            Bus::Nats(bus) => Messages::Nats(bus.subscribe(subject).await?),
            Bus::File(_) => return Err(Fault::ReadOnly),
            #[cfg(feature = "memory")]
            Bus::Memory(bus) => Messages::Memory(bus.subscribe(subject)),
        };
        Ok(Subscription(source))
    }

    /// Sends a core message and waits for the first reply, which a listener publishes to
    /// [`Message::reply`].
    ///
    /// # Errors
    /// See [`RequestError`].
    ///
    /// # Panics
    /// When `subject` is not an exact subject.
    pub async fn request(
        &self,
        subject: &str,
        payload: Bytes,
        timeout: Duration,
    ) -> Result<Bytes, RequestError> {
        assert!(is_exact(subject), "request on {subject:?}");
        on_each!(self, bus => bus.request(subject, payload, timeout).await)
    }

    /// Stores a short-lived value and erases the one before it. It expires after `ttl`, rounded up
    /// to whole seconds. The bucket is created at the first use.
    ///
    /// # Errors
    /// Any fault of the request; after [`Fault::TimedOut`] the value may be stored.
    ///
    /// # Panics
    /// When `key` is not an exact subject.
    pub async fn kv_put(&self, key: &str, value: Bytes, ttl: Duration) -> Result<(), Fault> {
        assert!(is_exact(key), "key {key:?}");
        on_each!(self, bus => bus.kv_put(key, value, ttl).await)
    }

    /// The value of `key`; `None` if it was never put, has expired or was shredded.
    ///
    /// # Errors
    /// Any fault of the request.
    ///
    /// # Panics
    /// When `key` is not an exact subject.
    pub async fn kv_get(&self, key: &str) -> Result<Option<Bytes>, Fault> {
        assert!(is_exact(key), "key {key:?}");
        on_each!(self, bus => bus.kv_get(key).await)
    }

    /// Removes the value of `key` and has the server overwrite its bytes. An absent value is no
    /// error.
    ///
    /// # Errors
    /// Any fault of the request; the value may or may not be removed.
    ///
    /// # Panics
    /// When `key` is not an exact subject.
    pub async fn kv_shred(&self, key: &str) -> Result<(), Fault> {
        assert!(is_exact(key), "key {key:?}");
        on_each!(self, bus => bus.kv_shred(key).await)
    }

    /// Stores an object, which may be larger than a message. It replaces the object of that name;
    /// readers get one of the two completely. The store is created at the first use.
    ///
    /// # Errors
    /// [`Fault::Full`], and any fault of the request; after [`Fault::TimedOut`] the object may be
    /// stored.
    ///
    /// # Panics
    /// When `name` is not an exact subject.
    pub async fn object_put(&self, name: &str, content: Bytes) -> Result<(), Fault> {
        assert!(is_exact(name), "object {name:?}");
        on_each!(self, bus => bus.object_put(name, content).await)
    }

    /// Size of the object in bytes; `None` if it is absent.
    ///
    /// # Errors
    /// [`Fault::Broken`], and any fault of the request.
    ///
    /// # Panics
    /// When `name` is not an exact subject.
    pub async fn object_bytes(&self, name: &str) -> Result<Option<u64>, Fault> {
        assert!(is_exact(name), "object {name:?}");
        on_each!(self, bus => bus.object_bytes(name).await)
    }

    /// Resets the age of the object, so that a concurrent [`Bus::object_retain`] does not remove
    /// it. Returns its size in bytes; `None` if it is absent.
    ///
    /// # Errors
    /// As [`Bus::object_put`] and [`Bus::object_bytes`].
    ///
    /// # Panics
    /// When `name` is not an exact subject.
    pub async fn object_touch(&self, name: &str) -> Result<Option<u64>, Fault> {
        assert!(is_exact(name), "object {name:?}");
        on_each!(self, bus => bus.object_touch(name).await)
    }

    /// The object, in memory as a whole; `None` if it is absent.
    ///
    /// # Errors
    /// [`Fault::Broken`] when it is not complete or has more than `bytes_max` bytes, and any fault
    /// of the request.
    ///
    /// # Panics
    /// When `name` is not an exact subject.
    pub async fn object_get(&self, name: &str, bytes_max: u64) -> Result<Option<Bytes>, Fault> {
        assert!(is_exact(name), "object {name:?}");
        on_each!(self, bus => bus.object_get(name, bytes_max).await)
    }

    /// Removes every object whose name begins with `prefix` and is not in `keep`; returns their
    /// number. Objects younger than `leftovers_after` stay: the plan that names one may not be
    /// stored yet. Loose parts are left by a put that was cut off. They are removed from the same
    /// age on, which is longer than any put takes. A description that cannot be read stays, and
    /// with it all loose parts.
    ///
    /// # Errors
    /// Any fault of the request; some objects may be removed and others not.
    pub async fn object_retain(
        &self,
        prefix: &str,
        keep: &BTreeSet<String>,
        leftovers_after: Duration,
    ) -> Result<u64, Fault> {
        on_each!(self, bus => bus.object_retain(prefix, keep, leftovers_after).await)
    }

    /// State of the connection.
    pub fn link(&self) -> Link {
        on_each!(self, bus => bus.link())
    }

    /// Why the newest attempt to reconnect failed; `None` while connected, and before the first
    /// attempt.
    pub fn why_down(&self) -> Option<String> {
        on_each!(self, bus => bus.why_down())
    }

    /// State of the connection, to wait for a change.
    pub fn watch_link(&self) -> watch::Receiver<Link> {
        on_each!(self, bus => bus.watch_link())
    }

    /// Waits until the server has handled all earlier messages of this connection.
    ///
    /// # Errors
    /// [`Fault::Disconnected`], [`Fault::TimedOut`].
    pub async fn flush(&self) -> Result<(), Fault> {
        on_each!(self, bus => bus.flush().await)
    }
}

/// Stored events in order, from [`Bus::tail`]. Ends when dropped.
#[derive(Debug)]
pub struct Tail(Events);

#[derive(Debug)]
enum Events {
    Nats(NatsTail),
    File(StoredFileTail),
    #[cfg(feature = "memory")]
    Memory(MemoryTail),
}

impl Tail {
    /// Waits for the next step, through any outage. May be cancelled without losing a step.
    ///
    /// # Errors
    /// When the server is reachable but has refused to deliver for 10 s. The tail continues to
    /// retry, and the next call waits again; no step is skipped.
    pub async fn next(&mut self) -> Result<Step, Fault> {
        match &mut self.0 {
            Events::Nats(tail) => tail.next().await,
            Events::File(tail) => tail.next().await,
            #[cfg(feature = "memory")]
            Events::Memory(tail) => tail.next().await,
        }
    }

    /// The next event that is stored already; `None` after the last one.
    ///
    /// # Errors
    /// As [`Tail::next`], and [`Fault::TimedOut`] when the server delivers nothing for 20 s: it may
    /// have ended for good.
    pub async fn next_stored(&mut self) -> Result<Option<Stored>, Fault> {
        match timeout(READ_TIMEOUT, self.next()).await {
            Ok(Ok(Step::Event(stored))) => Ok(Some(stored)),
            Ok(Ok(Step::CaughtUp)) => Ok(None),
            Ok(Err(fault)) => Err(fault),
            Err(_) => Err(Fault::TimedOut {
                what: "read the log".to_owned(),
            }),
        }
    }
}

/// Core messages as they arrive, from [`Bus::subscribe`]. Ends when dropped.
#[derive(Debug)]
pub struct Subscription(Messages);

#[derive(Debug)]
enum Messages {
    Nats(NatsSubscription),
    #[cfg(feature = "memory")]
    Memory(MemorySubscription),
}

impl Subscription {
    /// Waits for the next message; `None` when the connection is closed for good.
    pub async fn next(&mut self) -> Option<Message> {
        match &mut self.0 {
            Messages::Nats(subscription) => subscription.next().await,
            #[cfg(feature = "memory")]
            Messages::Memory(subscription) => subscription.next().await,
        }
    }
}
