//! What is known about the connection: up or down, last sign of life, last complaint.
//!
//! The server reports a missing permission as an event beside the call, which itself only times
//! out; the complaint is kept so that the call can name the true reason.

use std::collections::VecDeque;
use std::sync::Mutex;

use async_nats::{Event, ServerError};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::{Fault, Link};

/// Complaints that are kept: more calls than these do not wait at once for a denied subject.
const COMPLAINTS_MAX: usize = 32;

/// Shared by all clones of one connection.
#[derive(Debug)]
pub(super) struct Line {
    link: watch::Sender<Link>,
    heard_at: Mutex<Instant>,
    complaints: Mutex<VecDeque<Complaint>>,
}

#[derive(Debug)]
struct Complaint {
    at: Instant,
    text: String,
}

impl Line {
    pub(super) fn new() -> Line {
        let now = Instant::now();
        Line {
            link: watch::Sender::new(Link::Up { since: now }),
            heard_at: Mutex::new(now),
            complaints: Mutex::new(VecDeque::new()),
        }
    }

    pub(super) fn link(&self) -> Link {
        *self.link.borrow()
    }

    pub(super) fn watch(&self) -> watch::Receiver<Link> {
        self.link.subscribe()
    }

    /// Refuses while down: a message would wait in the client and arrive stale.
    pub(super) fn must_be_up(&self) -> Result<(), Fault> {
        if self.link().is_up() {
            Ok(())
        } else {
            Err(Fault::Disconnected)
        }
    }

    /// Something came from the server just now.
    pub(super) fn heard(&self) {
        *lock(&self.heard_at) = Instant::now();
    }

    pub(super) fn last_heard(&self) -> Instant {
        *lock(&self.heard_at)
    }

    pub(super) fn note(&self, event: Event) {
        let since = Instant::now();
        match event {
            Event::Connected => {
                // The first connection reports itself too, after the link was born up.
                self.link.send_if_modified(|link| {
                    let was_down = !link.is_up();
                    if was_down {
                        *link = Link::Up { since };
                    }
                    was_down
                });
                self.heard();
            }
            Event::Disconnected | Event::Closed => {
                tracing::warn!("NATS connection lost");
                self.link.send_if_modified(|link| {
                    let was_up = link.is_up();
                    if was_up {
                        *link = Link::Down { since };
                    }
                    was_up
                });
            }
            Event::ServerError(ServerError::Other(text)) => {
                tracing::warn!(text, "NATS server complains");
                let mut complaints = lock(&self.complaints);
                complaints.truncate(COMPLAINTS_MAX - 1);
                complaints.push_front(Complaint { at: since, text });
            }
            other => tracing::info!(event = %other, "NATS"),
        }
    }

    /// The permission that was missing for `subject`, if the server said so after `asked_at`.
    pub(super) fn denial(&self, subject: &str, asked_at: Instant) -> Option<Fault> {
        let complaints = lock(&self.complaints);
        let complaint = complaints.iter().find(|complaint| {
            complaint.at >= asked_at
                && complaint
                    .text
                    .to_ascii_lowercase()
                    .contains("permissions violation")
                && complaint.text.contains(subject)
        })?;
        Some(Fault::Denied {
            what: subject.to_owned(),
            why: complaint.text.clone(),
        })
    }
}

/// Nothing that holds these locks can panic, and if it did the value would still be whole.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}
