//! A tail on a real server: a task that replaces its consumer whenever one is lost.
//!
//! The client library's own ordered consumer takes 15 to 19 s to notice a restarted server; here a
//! reconnect or 2 s of silence is enough. The task remembers the last sequence it handed over, so
//! that the next consumer starts right behind it: none lost, none twice.

use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};

use super::Nats;
use super::cursor::{Cursor, Delivery, Spec};
use crate::{Fault, Step, Stored, Stream};

/// Events that may wait for a slow reader here; more wait on the server.
const WAITING_MAX: usize = 64;
/// Pause after a consumer could not be made; doubles up to the second.
const RETRY_MIN: Duration = Duration::from_millis(50);
const RETRY_MAX: Duration = Duration::from_secs(1);
/// So long a tail tries on a connection that is up before it tells its reader.
const PATIENCE: Duration = Duration::from_secs(10);

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
        let head = self.head(stream).await?;
        let cursor = Cursor::open(self, &spec).await?;
        let (out, steps) = mpsc::channel(WAITING_MAX);
        tokio::spawn(
            Pump {
                nats: self.clone(),
                spec,
                catch_up_to: Some(head),
                out,
            }
            .run(cursor),
        );
        Ok(NatsTail { steps })
    }
}

/// The task behind a tail.
struct Pump {
    nats: Nats,
    /// Its `from_seq` moves on with each event handed over.
    spec: Spec,
    /// The head at the start, until everything up to there has been handed over.
    catch_up_to: Option<u64>,
    out: mpsc::Sender<Result<Step, Fault>>,
}

/// The reader is gone.
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

    /// Hands over what `cursor` delivers until it breaks.
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
                // Events that were purged before they could be delivered leave no last one.
                Delivery::Idle if self.catch_up_to.is_some() => match cursor.pending().await {
                    Ok(0) => self.caught_up().await?,
                    Ok(_) => {}
                    Err(_) => return Ok(()),
                },
                Delivery::Idle => {}
                Delivery::Broken => return Ok(()),
            }
        }
    }

    async fn event(&mut self, stored: Stored, pending: u64) -> Result<(), Closed> {
        let seq = stored.seq;
        if self.catch_up_to.is_some_and(|head| seq > head) {
            self.caught_up().await?;
        }
        self.send(Ok(Step::Event(stored))).await?;
        self.spec.from_seq = seq + 1;
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

    /// Tries until there is a consumer again, however long the server stays away.
    async fn reopen(&self) -> Result<Cursor, Closed> {
        let mut pause = RETRY_MIN;
        let mut patient_until = Instant::now() + PATIENCE;
        loop {
            self.link_up().await?;
            let fault = match Cursor::open(&self.nats, &self.spec).await {
                Ok(cursor) => return Ok(cursor),
                Err(fault) => fault,
            };
            tracing::debug!(%fault, "tail tries again");
            if !self.nats.link().is_up() {
                patient_until = Instant::now() + PATIENCE;
            } else if Instant::now() >= patient_until {
                self.send(Err(fault)).await?;
                patient_until = Instant::now() + PATIENCE;
            }
            tokio::select! {
                () = sleep(pause) => {}
                () = self.out.closed() => return Err(Closed),
            }
            pause = (pause * 2).min(RETRY_MAX);
        }
    }

    async fn link_up(&self) -> Result<(), Closed> {
        let mut link = self.nats.watch_link();
        tokio::select! {
            up = link.wait_for(|link| link.is_up()) => up.map(|_| ()).map_err(|_| Closed),
            () = self.out.closed() => Err(Closed),
        }
    }
}
