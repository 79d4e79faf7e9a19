//! A nats-server and its connections inside one process, for tests and simulations.
//!
//! It must behave as a real server in everything that the contract suite checks, and must never be
//! more lenient: a stream that was not opened is missing, a full one refuses, a cut connection
//! receives nothing. It checks no permissions and stores nothing on disk.

mod core;
mod listeners;
mod log;
mod objects;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::{AppendError, Appended, Fault, Link, Options, Step, Stored, Stream};
use listeners::Listeners;
pub(crate) use listeners::MemorySubscription;
use log::Log;

/// Maximum payload in bytes: the default of nats-server.
const PAYLOAD_MAX: usize = 1 << 20;

/// A connection to a server in memory. Clones share it; [`Memory::peer`] makes another one.
#[derive(Clone, Debug)]
pub struct Memory {
    server: Arc<Server>,
    connection: Arc<Connection>,
}

#[derive(Debug)]
struct Server {
    options: Options,
    state: Mutex<State>,
    /// Number of writes; a change wakes the tails.
    written: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct State {
    logs: HashMap<Stream, Log>,
    listeners: Listeners,
    values: HashMap<String, (Bytes, Instant)>,
    /// Content, and when it was put or touched.
    objects: BTreeMap<String, (Bytes, Instant)>,
}

#[derive(Debug)]
struct Connection {
    link: watch::Sender<Link>,
}

impl Connection {
    fn new() -> Arc<Connection> {
        Arc::new(Connection {
            link: watch::Sender::new(Link::Up {
                since: Instant::now(),
            }),
        })
    }

    fn must_be_up(&self) -> Result<(), Fault> {
        if self.link.borrow().is_up() {
            Ok(())
        } else {
            Err(Fault::Disconnected)
        }
    }
}

impl Memory {
    /// A new server and a first connection to it. Of the options it uses prefix, names and limits.
    pub fn new(options: &Options) -> Memory {
        let server = Server {
            options: options.clone(),
            state: Mutex::default(),
            written: watch::Sender::new(0),
        };
        Memory {
            server: Arc::new(server),
            connection: Connection::new(),
        }
    }

    pub(crate) fn message_bytes_max(&self) -> u64 {
        PAYLOAD_MAX as u64
    }

    /// Another connection to the same server, with a link of its own.
    pub fn peer(&self) -> Memory {
        Memory {
            server: self.server.clone(),
            connection: Connection::new(),
        }
    }

    /// The keys of the bucket, in order.
    pub fn keys(&self) -> Vec<String> {
        let mut keys: Vec<String> = self.state().values.keys().cloned().collect();
        keys.sort();
        keys
    }

    /// Cuts this connection: calls are refused, core messages are lost, tails pause.
    pub fn cut(&self) {
        self.connection.link.send_replace(Link::Down {
            since: Instant::now(),
        });
    }

    /// Ends a cut; tails deliver the events that were stored meanwhile.
    pub fn heal(&self) {
        self.connection.link.send_replace(Link::Up {
            since: Instant::now(),
        });
    }

    pub(crate) async fn open_log(&self) -> Result<(), Fault> {
        self.connection.must_be_up()?;
        let options = &self.server.options;
        let mut state = self.state();
        for stream in Stream::ALL {
            state.logs.entry(stream).or_insert_with(|| {
                Log::new(
                    options.bound_subjects(stream),
                    options.limits.of(stream),
                    stream,
                )
            });
        }
        Ok(())
    }

    pub(crate) async fn append(
        &self,
        stream: Stream,
        subject: &str,
        msg_id: &str,
        payload: Bytes,
    ) -> Result<Appended, AppendError> {
        self.write(stream, subject, None, msg_id, payload)
    }

    pub(crate) async fn append_at(
        &self,
        subject: &str,
        expected_last: u64,
        msg_id: &str,
        payload: Bytes,
    ) -> Result<u64, AppendError> {
        let written = self.write(Stream::Ctl, subject, Some(expected_last), msg_id, payload)?;
        Ok(written.seq)
    }

    fn write(
        &self,
        stream: Stream,
        subject: &str,
        expected_last: Option<u64>,
        msg_id: &str,
        payload: Bytes,
    ) -> Result<Appended, AppendError> {
        self.connection.must_be_up()?;
        if payload.len() > PAYLOAD_MAX {
            return Err(AppendError::TooLarge {
                limit: PAYLOAD_MAX as u64,
            });
        }
        let mut state = self.state();
        let log = state
            .logs
            .get_mut(&stream)
            .ok_or_else(|| self.missing(stream))?;
        if !log.collects(subject) {
            let what = format!("append to {}", self.server.options.names.of(stream));
            let why = format!("it does not collect {subject}");
            return Err(Fault::Server { what, why }.into());
        }
        let appended = log.append(subject, expected_last, Some(msg_id), payload.clone())?;
        if !appended.duplicate {
            self.server.written.send_modify(|writes| *writes += 1);
        }
        // As on a real server, core listeners receive appends too.
        state.listeners.deliver(subject, None, &payload);
        Ok(appended)
    }

    pub(crate) async fn head(&self, stream: Stream) -> Result<u64, Fault> {
        self.with_log(stream, |log| log.head())
    }

    pub(crate) async fn created(&self, stream: Stream) -> Result<u64, Fault> {
        self.with_log(stream, |log| log.created_us)
    }

    pub(crate) async fn time_of(&self, stream: Stream) -> Result<u64, Fault> {
        self.with_log(stream, |_| log::now_us())
    }

    pub(crate) async fn last(
        &self,
        stream: Stream,
        subject: &str,
    ) -> Result<Option<Stored>, Fault> {
        self.with_log(stream, |log| log.last(subject).cloned())
    }

    pub(crate) async fn purge(&self, stream: Stream, filter: &str) -> Result<u64, Fault> {
        let purged = self.with_log(stream, |log| log.purge(filter))?;
        self.server.written.send_modify(|writes| *writes += 1);
        Ok(purged)
    }

    pub(crate) fn tail(
        &self,
        stream: Stream,
        subjects: Vec<String>,
        from_seq: u64,
    ) -> Result<MemoryTail, Fault> {
        let head = self.with_log(stream, |log| log.head())?;
        Ok(MemoryTail {
            bus: self.clone(),
            written: self.server.written.subscribe(),
            link: self.connection.link.subscribe(),
            stream,
            subjects,
            from_seq,
            catch_up_to: Some(head),
        })
    }

    pub(crate) async fn kv_put(&self, key: &str, value: Bytes, ttl: Duration) -> Result<(), Fault> {
        self.connection.must_be_up()?;
        let whole_seconds = Duration::from_secs(ttl.as_secs_f64().ceil().max(1.0) as u64);
        self.state()
            .values
            .insert(key.to_owned(), (value, Instant::now() + whole_seconds));
        Ok(())
    }

    pub(crate) async fn kv_get(&self, key: &str) -> Result<Option<Bytes>, Fault> {
        self.connection.must_be_up()?;
        let mut state = self.state();
        state
            .values
            .retain(|_, (_, ends_at)| *ends_at > Instant::now());
        Ok(state.values.get(key).map(|(value, _)| value.clone()))
    }

    pub(crate) async fn kv_shred(&self, key: &str) -> Result<(), Fault> {
        self.connection.must_be_up()?;
        self.state().values.remove(key);
        Ok(())
    }

    pub(crate) fn link(&self) -> Link {
        *self.connection.link.borrow()
    }

    pub(crate) fn why_down(&self) -> Option<String> {
        None
    }

    pub(crate) fn watch_link(&self) -> watch::Receiver<Link> {
        self.connection.link.subscribe()
    }

    pub(crate) async fn flush(&self) -> Result<(), Fault> {
        self.connection.must_be_up()
    }

    fn with_log<T>(&self, stream: Stream, query: impl FnOnce(&mut Log) -> T) -> Result<T, Fault> {
        self.connection.must_be_up()?;
        let mut state = self.state();
        state
            .logs
            .get_mut(&stream)
            .map(query)
            .ok_or_else(|| self.missing(stream))
    }

    fn missing(&self, stream: Stream) -> Fault {
        Fault::Missing {
            stream: self.server.options.names.of(stream).to_owned(),
        }
    }

    /// A panic under the lock leaves complete values behind: every change is one assignment.
    fn state(&self) -> MutexGuard<'_, State> {
        self.server
            .state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Follows a log in memory.
#[derive(Debug)]
pub(crate) struct MemoryTail {
    bus: Memory,
    written: watch::Receiver<u64>,
    link: watch::Receiver<Link>,
    stream: Stream,
    subjects: Vec<String>,
    from_seq: u64,
    /// Head at the start, until all events up to it have been delivered.
    catch_up_to: Option<u64>,
}

impl MemoryTail {
    pub(crate) async fn next(&mut self) -> Result<Step, Fault> {
        loop {
            // The bus of this tail keeps both senders alive.
            self.link
                .wait_for(Link::is_up)
                .await
                .map_err(|_| Fault::Disconnected)?;
            self.written.borrow_and_update();
            let next = self.bus.with_log(self.stream, |log| {
                log.next(&self.subjects, self.from_seq).cloned()
            });
            let next = match next {
                Err(Fault::Disconnected) => continue,
                next => next?,
            };
            match (next, self.catch_up_to) {
                (Some(stored), None) => return Ok(self.step(stored)),
                (Some(stored), Some(head)) if stored.seq <= head => return Ok(self.step(stored)),
                (_, Some(_head)) => {
                    self.catch_up_to = None;
                    return Ok(Step::CaughtUp);
                }
                (None, None) => {
                    self.written
                        .changed()
                        .await
                        .map_err(|_| Fault::Disconnected)?;
                }
            }
        }
    }

    fn step(&mut self, stored: Stored) -> Step {
        self.from_seq = stored.seq + 1;
        Step::Event(stored)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bus, Subscription, Tail};

    const SUBJECT: &str = "lp.local.run.R.ctl";

    async fn next(tail: &mut Tail) -> Step {
        tail.next().await.expect("the tail continues")
    }

    async fn next_message(messages: &mut Subscription) -> Bytes {
        messages.next().await.expect("the server lives").payload
    }

    /// Broken if a cut is incomplete: calls fail, messages are lost, the tail catches up later.
    #[tokio::test]
    async fn a_cut_connection_receives_nothing_until_it_heals() {
        let near = Memory::new(&Options::default());
        let (bus, far) = (Bus::Memory(near.clone()), Bus::Memory(near.peer()));
        bus.open_log().await.expect("opens");
        let mut tail = bus.tail(Stream::Ctl, vec![], 1).await.expect("a tail");
        let mut messages = bus
            .subscribe("lp.local.hb.*")
            .await
            .expect("a subscription");
        assert_eq!(next(&mut tail).await, Step::CaughtUp);

        near.cut();
        assert!(!bus.link().is_up() && far.link().is_up());
        let refused = bus.append(Stream::Ctl, SUBJECT, "a", Bytes::new()).await;
        assert_eq!(refused, Err(Fault::Disconnected.into()));
        assert_eq!(
            bus.publish("lp.local.hb.a", Bytes::new()).await,
            Err(Fault::Disconnected)
        );
        far.append(Stream::Ctl, SUBJECT, "b", Bytes::from("b"))
            .await
            .expect("the other appends");
        far.publish("lp.local.hb.a", Bytes::from("lost"))
            .await
            .expect("the other publishes");
        tokio::select! {
            biased;
            step = tail.next() => panic!("{step:?} over a connection that is cut"),
            () = std::future::ready(()) => {}
        }

        near.heal();
        match next(&mut tail).await {
            Step::Event(stored) => assert_eq!(stored.payload, "b"),
            Step::CaughtUp => panic!("caught up twice"),
        }
        far.publish("lp.local.hb.a", Bytes::from("found"))
            .await
            .expect("the other publishes");
        assert_eq!(next_message(&mut messages).await, "found");
    }
}
