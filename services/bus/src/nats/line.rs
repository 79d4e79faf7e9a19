//! State of the connection: up or down, and the last errors of the server.
//!
//! The server reports a missing permission as an event, while the call itself only times out. The
//! line stores such errors, so that the call can report the cause.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::Duration;

use async_nats::{ClientError, Event, ServerError};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::{Fault, Link};

/// Maximum number of stored errors: fewer calls wait at a time for a denied subject.
const ERRORS_MAX: usize = 32;

/// Time for which a text that was logged is not logged again.
const REPEAT_INTERVAL: Duration = Duration::from_secs(60);

/// Interval of the attempts to find out why there is no connection.
const CAUSE_INTERVAL: Duration = Duration::from_secs(10);

/// Shared by all clones of one connection.
#[derive(Debug)]
pub(super) struct Line {
    link: watch::Sender<Link>,
    /// Why the newest attempt to reconnect failed; `None` while connected.
    failure: Mutex<Option<String>>,
    errors: Mutex<VecDeque<ReportedError>>,
    logged: Mutex<LoggedTexts>,
    /// Time of the newest attempt to find out why there is no connection; `None` while connected.
    cause_sought_at: Mutex<Option<Instant>>,
    /// Number of errors so far; a change wakes the calls that wait.
    reported: watch::Sender<u64>,
}

#[derive(Debug)]
struct ReportedError {
    at: Instant,
    text: String,
}

/// The texts that were logged within [`REPEAT_INTERVAL`]: an agent whose user lacks a permission
/// causes the same error ten times a second.
#[derive(Debug, Default)]
struct LoggedTexts(VecDeque<(String, Instant)>);

impl LoggedTexts {
    /// Whether `text` is to be logged `now`.
    fn is_news(&mut self, text: &str, now: Instant) -> bool {
        self.0.retain(|(_, at)| now - *at < REPEAT_INTERVAL);
        if self.0.iter().any(|(known, _)| known == text) {
            return false;
        }
        self.0.truncate(ERRORS_MAX - 1);
        self.0.push_front((text.to_owned(), now));
        true
    }
}

impl Line {
    pub(super) fn new() -> Line {
        Line {
            link: watch::Sender::new(Link::Up {
                since: Instant::now(),
            }),
            failure: Mutex::new(None),
            errors: Mutex::new(VecDeque::new()),
            logged: Mutex::default(),
            cause_sought_at: Mutex::new(None),
            reported: watch::Sender::new(0),
        }
    }

    pub(super) fn link(&self) -> Link {
        *self.link.borrow()
    }

    pub(super) fn watch(&self) -> watch::Receiver<Link> {
        self.link.subscribe()
    }

    pub(super) fn why_down(&self) -> Option<String> {
        lock(&self.failure).clone()
    }

    /// Refuses while the connection is down: a message would wait in the client and arrive out of
    /// date.
    pub(super) fn must_be_up(&self) -> Result<(), Fault> {
        if self.link().is_up() {
            Ok(())
        } else {
            Err(Fault::Disconnected)
        }
    }

    pub(super) fn note(&self, event: Event) {
        let since = Instant::now();
        match event {
            Event::Connected => {
                *lock(&self.failure) = None;
                *lock(&self.cause_sought_at) = None;
                *lock(&self.logged) = LoggedTexts::default();
                // The client also reports the first connection, and the link starts as up.
                self.link.send_if_modified(|link| {
                    let was_down = !link.is_up();
                    if was_down {
                        *link = Link::Up { since };
                    }
                    was_down
                });
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
                if lock(&self.logged).is_news(&text, since) {
                    tracing::warn!(text, "NATS server reports an error");
                }
                let mut errors = lock(&self.errors);
                errors.truncate(ERRORS_MAX - 1);
                errors.push_front(ReportedError { at: since, text });
                drop(errors);
                self.reported.send_modify(|count| *count += 1);
            }
            Event::ClientError(error) => {
                // The kind of the error; `why_unconnected` has the cause.
                lock(&self.failure).get_or_insert_with(|| match error {
                    ClientError::Other(kind) => kind,
                    other => other.to_string(),
                });
            }
            other => tracing::info!(event = %other, "NATS"),
        }
    }

    /// Whether the cause of an outage is to be found out now.
    pub(super) fn seeks_cause(&self) -> bool {
        let now = Instant::now();
        let mut sought_at = lock(&self.cause_sought_at);
        let is_due = sought_at.is_none_or(|at| now - at >= CAUSE_INTERVAL);
        if is_due {
            *sought_at = Some(now);
        }
        is_due && !self.link().is_up()
    }

    /// Logs why there is no connection, and stores it for [`Line::why_down`].
    pub(super) fn why_unconnected(&self, cause: &Fault) {
        if self.link().is_up() {
            return;
        }
        let why = match cause {
            Fault::Unreachable { why, .. } => why.clone(),
            other => other.to_string(),
        };
        *lock(&self.failure) = Some(why);
        if lock(&self.logged).is_news(&cause.to_string(), Instant::now()) {
            tracing::warn!("{cause}; it is tried again until there is a connection");
        }
    }

    /// The missing permission for `subject`, if the server reported one after `sent_at`.
    pub(super) fn denial(&self, subject: &str, sent_at: Instant) -> Option<Fault> {
        let is_denial = |text: &str| text.to_ascii_lowercase().contains("permissions violation");
        let errors = lock(&self.errors);
        let denial = errors.iter().find(|error| {
            error.at >= sent_at && is_denial(&error.text) && error.text.contains(subject)
        })?;
        Some(Fault::Denied {
            what: subject.to_owned(),
            why: denial.text.clone(),
        })
    }

    /// Whether the server ended a connection after `since` because a message was larger than the
    /// account allows. The server tells users only its own limit, not the account's.
    pub(super) fn refused_a_message(&self, since: Instant) -> bool {
        let is_refusal = |text: &str| text.eq_ignore_ascii_case("maximum payload violation");
        let errors = lock(&self.errors);
        errors
            .iter()
            .any(|error| error.at >= since && is_refusal(&error.text))
    }

    /// Waits for the server to report that the permission for `subject` is missing; for ever if it
    /// does not.
    pub(super) async fn denied(&self, subject: &str, sent_at: Instant) -> Fault {
        let mut reported = self.reported.subscribe();
        loop {
            if let Some(denied) = self.denial(subject, sent_at) {
                return denied;
            }
            // The sender lives as long as this line.
            let _ = reported.changed().await;
        }
    }
}

/// No code panics under this lock, and a panic would leave the value complete.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Broken if a log fills up with one text, or if a text that is new, or old by a minute, is not
    /// logged.
    #[test]
    fn a_text_is_logged_once_a_minute() {
        let (begin, mut logged) = (Instant::now(), LoggedTexts::default());
        let mut is_news = |text, secs| logged.is_news(text, begin + Duration::from_secs(secs));
        assert!(is_news("refused", 0));
        assert!(!is_news("refused", 1));
        assert!(is_news("expired", 2));
        assert!(!is_news("refused", 59));
        assert!(is_news("refused", 60));
        assert!(!is_news("expired", 61));
    }
}
