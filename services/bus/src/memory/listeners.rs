//! Subscriptions to core messages, by pattern, each with a bounded queue.

use bytes::Bytes;
use tokio::sync::{mpsc, watch};

use crate::pattern::matches;
use crate::{Link, Message};

/// Maximum number of messages that wait for one listener; more are lost, as on a real server.
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
    /// Of the listener's connection: while it is down, messages are lost.
    link: watch::Receiver<Link>,
}

/// A core subscription in memory.
#[derive(Debug)]
pub(crate) struct MemorySubscription {
    queue: mpsc::Receiver<Message>,
}

impl Listeners {
    pub(super) fn add(&mut self, pattern: &str, link: watch::Receiver<Link>) -> MemorySubscription {
        let (queue, receiver) = mpsc::channel(WAITING_MAX);
        self.all.push(Listener {
            pattern: pattern.to_owned(),
            queue,
            link,
        });
        MemorySubscription { queue: receiver }
    }

    /// Returns whether a listener was reached.
    pub(super) fn deliver(&mut self, subject: &str, reply: Option<&str>, payload: &Bytes) -> bool {
        self.all.retain(|listener| !listener.queue.is_closed());
        let mut is_delivered = false;
        for listener in &self.all {
            if matches(&listener.pattern, subject) && listener.link.borrow().is_up() {
                is_delivered = true;
                let _ = listener.queue.try_send(Message {
                    subject: subject.to_owned(),
                    reply: reply.map(str::to_owned),
                    payload: payload.clone(),
                });
            }
        }
        is_delivered
    }

    pub(super) fn next_inbox(&mut self) -> String {
        self.inboxes += 1;
        format!("_INBOX.{}", self.inboxes)
    }
}

impl MemorySubscription {
    pub(crate) async fn next(&mut self) -> Option<Message> {
        self.queue.recv().await
    }
}
