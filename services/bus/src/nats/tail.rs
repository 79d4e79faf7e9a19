//! A tail on a real server: a task that replaces its consumer whenever one is lost.
//!
//! The client library's own ordered consumer takes 15 to 19 s to detect a restarted server; here a
//! reconnect or 2 s of silence is enough. The task stores the last sequence that it delivered, and
//! the next consumer starts directly after it: no event is lost or repeated.

use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};

use super::Nats;
use super::cursor::{Cursor, Delivery, Spec};
use crate::pattern::matches;
use crate::{Fault, Step, Stored, Stream};

/// Maximum number of events that wait here for a slow reader; more wait on the server.
const WAITING_MAX: usize = 64;
/// Delay after a consumer could not be created; doubles up to [`RETRY_DELAY_MAX`].
const RETRY_DELAY_MIN: Duration = Duration::from_millis(50);
const RETRY_DELAY_MAX: Duration = Duration::from_secs(1);
/// Time without success on a connection that is up, after which the reader gets the fault.
const REOPEN_TIMEOUT: Duration = Duration::from_secs(10);
/// The same while the server answers that the stream does not exist, or ends before its read part:
/// a server that was just elected may not have caught up yet.
const MISSING_TIMEOUT: Duration = Duration::from_secs(3);

/// The reader's end of the task.
#[derive(Debug)]
pub(crate) struct NatsTail {
    steps: mpsc::Receiver<Result<Step, Fault>>,
}

impl NatsTail {
    /// May be cancelled at any time without losing a step.
    pub(crate) async fn next(&mut self) -> Result<Step, Fault> {
        self.steps.recv().await.unwrap_or(Err(Fault::Disconnected))
    }
}

impl Nats {
    pub(crate) async fn tail(
        &self,
        stream: Stream,
        subjects: Vec<String>,
        from_seq: u64,
    ) -> Result<NatsTail, Fault> {
        let spec = Spec {
            stream,
            subjects,
            from_seq,
        };
        let head = self.head_of(&spec).await?;
        let cursor = Cursor::open(self, &spec).await?;
        let (out, steps) = mpsc::channel(WAITING_MAX);
        tokio::spawn(
            Pump {
                nats: self.clone(),
                spec,
                seen: head,
                catch_up_to: Some(head),
                out,
            }
            .run(cursor),
        );
        Ok(NatsTail { steps })
    }

    /// Sequence of the last event of the stream, of any subject.
    async fn head_of(&self, spec: &Spec) -> Result<u64, Fault> {
        match self.one_filter(&spec.subjects) {
            Some(filter) => self.head_within(spec.stream, &filter).await,
            None => self.head(spec.stream).await,
        }
    }
}

/// The task behind a tail.
struct Pump {
    nats: Nats,
    /// Its `from_seq` advances with each delivered event.
    spec: Spec,
    /// Highest sequence of the stream that is known: the stream never ends before it.
    seen: u64,
    /// Head at the start, until all events up to it have been delivered.
    catch_up_to: Option<u64>,
    out: mpsc::Sender<Result<Step, Fault>>,
}

/// The reader has dropped the tail, or the tail has ended.
struct Closed;

impl Pump {
    async fn run(mut self, mut cursor: Cursor) {
        loop {
            let outcome = self.drain(&mut cursor).await;
            cursor.close();
            if outcome.is_err() {
                return;
            }
            cursor = match self.reopen().await {
                Ok(cursor) => cursor,
                Err(Closed) => return,
            };
        }
    }

    /// Passes on the deliveries of `cursor` until it breaks.
    async fn drain(&mut self, cursor: &mut Cursor) -> Result<(), Closed> {
        if cursor.pending_at_start == 0 {
            self.caught_up().await?;
        }
        loop {
            let out = self.out.clone();
            let delivery = tokio::select! {
                delivery = cursor.next() => delivery,
                () = out.closed() => return Err(Closed),
            };
            match delivery {
                Delivery::Event(stored, pending) => self.event(stored, pending).await?,
                // Purged events are never delivered, so that no delivery reaches the head.
                Delivery::Idle if self.catch_up_to.is_some() => match cursor.pending().await {
                    Ok(0) => self.caught_up().await?,
                    Ok(_) => {}
                    Err(_) => return Ok(()),
                },
                Delivery::Idle => {}
                Delivery::Broken => return Ok(()),
                Delivery::Denied(fault) => {
                    self.send(Err(fault)).await?;
                    return Ok(());
                }
            }
        }
    }

    async fn event(&mut self, stored: Stored, pending: u64) -> Result<(), Closed> {
        let seq = stored.seq;
        if self.catch_up_to.is_some_and(|head| seq > head) {
            self.caught_up().await?;
        }
        // A confined user's filter may select more than the requested subjects.
        let subjects = &self.spec.subjects;
        let is_wanted = |bound: &String| matches(bound, &stored.subject);
        if subjects.is_empty() || subjects.iter().any(is_wanted) {
            self.send(Ok(Step::Event(stored))).await?;
        }
        self.spec.from_seq = seq + 1;
        self.seen = self.seen.max(seq);
        if pending == 0 || self.catch_up_to.is_some_and(|head| seq >= head) {
            self.caught_up().await?;
        }
        Ok(())
    }

    async fn caught_up(&mut self) -> Result<(), Closed> {
        match self.catch_up_to.take() {
            Some(_head) => self.send(Ok(Step::CaughtUp)).await,
            None => Ok(()),
        }
    }

    async fn send(&self, step: Result<Step, Fault>) -> Result<(), Closed> {
        self.out.send(step).await.map_err(|_| Closed)
    }

    /// Retries until a consumer is created, however long the server is unreachable. Ends the tail
    /// when the stream was made anew.
    async fn reopen(&self) -> Result<Cursor, Closed> {
        let mut delay = RETRY_DELAY_MIN;
        let mut failing_since = Instant::now();
        loop {
            self.link_up().await?;
            let fault = match self.open_again().await {
                Ok(cursor) => return Ok(cursor),
                Err(fault) => fault,
            };
            tracing::debug!(%fault, "tail retries");
            let timeout = match fault {
                Fault::Missing { .. } | Fault::Remade { .. } => MISSING_TIMEOUT,
                _ => REOPEN_TIMEOUT,
            };
            if !self.nats.link().is_up() {
                failing_since = Instant::now();
            } else if failing_since.elapsed() >= timeout {
                let is_remade = matches!(fault, Fault::Remade { .. });
                self.send(Err(fault)).await?;
                if is_remade {
                    return Err(Closed);
                }
                failing_since = Instant::now();
            }
            tokio::select! {
                () = sleep(delay) => {}
                () = self.out.closed() => return Err(Closed),
            }
            delay = (delay * 2).min(RETRY_DELAY_MAX);
        }
    }

    /// A consumer directly after the last delivered event, unless the stream ends before it: there
    /// the consumer would wait in silence for events that are not the next ones.
    async fn open_again(&self) -> Result<Cursor, Fault> {
        let last = self.nats.head_of(&self.spec).await?;
        if last < self.seen {
            let stream = self.nats.options.names.of(self.spec.stream).to_owned();
            let read = self.seen;
            return Err(Fault::Remade { stream, last, read });
        }
        Cursor::open(&self.nats, &self.spec).await
    }

    async fn link_up(&self) -> Result<(), Closed> {
        let mut link = self.nats.watch_link();
        tokio::select! {
            up = link.wait_for(|link| link.is_up()) => up.map(|_| ()).map_err(|_| Closed),
            () = self.out.closed() => Err(Closed),
        }
    }
}
