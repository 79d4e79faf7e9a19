//! Core messages in memory: listeners by pattern, each with a bounded queue.

use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

use super::{Memory, PAYLOAD_MAX};
use crate::pattern::matches;
use crate::{Fault, Link, Message, RequestError};

/// Messages that may wait for one listener; more are lost, as with any slow listener.
const WAITING_MAX: usize = 65_536;

#[derive(Debug, Default)]
pub(super) struct Listeners {
    all: Vec<Listener>,
    inboxes: u64,
}

#[derive(Debug)]
struct Listener {
    pattern: String,
    queue: mpsc::Sender<Message>,
    /// The listener's connection: a cut one hears nothing.
    link: watch::Receiver<Link>,
}

impl Listeners {
    /// Returns whether anybody listens.
    pub(super) fn deliver(&mut self, subject: &str, reply: Option<&str>, payload: &Bytes) -> bool {
        self.all.retain(|listener| !listener.queue.is_closed());
        let mut heard = false;
        for listener in &self.all {
            if matches(&listener.pattern, subject) && listener.link.borrow().is_up() {
                heard = true;
                let _ = listener.queue.try_send(Message {
                    subject: subject.to_owned(),
                    reply: reply.map(str::to_owned),
                    payload: payload.clone(),
                });
            }
        }
        heard
    }

    fn next_inbox(&mut self) -> String {
        self.inboxes += 1;
        format!("_INBOX.{}", self.inboxes)
    }
}

/// A core subscription in memory.
#[derive(Debug)]
pub(crate) struct MemorySubscription {
    queue: mpsc::Receiver<Message>,
}

impl MemorySubscription {
    pub(crate) async fn next(&mut self) -> Option<Message> {
        self.queue.recv().await
    }
}

impl Memory {
    pub(crate) async fn publish(&self, subject: &str, payload: Bytes) -> Result<(), Fault> {
        self.route(subject, None, payload).map(|_heard| ())
    }

    pub(crate) fn subscribe(&self, subject: &str) -> MemorySubscription {
        let (queue, receiver) = mpsc::channel(WAITING_MAX);
        let link = self.connection.link.subscribe();
        let listener = Listener {
            pattern: subject.to_owned(),
            queue,
            link,
        };
        self.state().listeners.all.push(listener);
        MemorySubscription { queue: receiver }
    }

    pub(crate) async fn request(
        &self,
        subject: &str,
        payload: Bytes,
        patience: Duration,
    ) -> Result<Bytes, RequestError> {
        let inbox = self.state().listeners.next_inbox();
        let mut replies = self.subscribe(&inbox);
        if !self.route(subject, Some(&inbox), payload)? {
            return Err(RequestError::NoResponders {
                subject: subject.to_owned(),
            });
        }
        match timeout(patience, replies.next()).await {
            Ok(Some(reply)) => Ok(reply.payload),
            _ => Err(RequestError::TimedOut {
                subject: subject.to_owned(),
            }),
        }
    }

    fn route(&self, subject: &str, reply: Option<&str>, payload: Bytes) -> Result<bool, Fault> {
        self.connection.must_be_up()?;
        if payload.len() > PAYLOAD_MAX {
            return Err(Fault::TooLarge {
                limit: PAYLOAD_MAX as u64,
            });
        }
        let mut state = self.state();
        let mut heard = state.listeners.deliver(subject, reply, &payload);
        // A stream stores whatever is published to its subjects, however it was published.
        for log in state.logs.values_mut().filter(|log| log.collects(subject)) {
            heard = true;
            if log.append(subject, None, None, payload.clone()).is_ok() {
                self.server.written.send_modify(|writes| *writes += 1);
            }
        }
        Ok(heard)
    }
}
