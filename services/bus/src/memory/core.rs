//! Core messages in memory: publish, subscribe, request.

use std::time::Duration;

use bytes::Bytes;
use tokio::time::timeout;

use super::listeners::MemorySubscription;
use super::{Memory, PAYLOAD_MAX};
use crate::{Fault, RequestError};

impl Memory {
    pub(crate) async fn publish(&self, subject: &str, payload: Bytes) -> Result<(), Fault> {
        self.route(subject, None, payload).map(|_is_delivered| ())
    }

    pub(crate) fn subscribe(&self, subject: &str) -> MemorySubscription {
        let link = self.connection.link.subscribe();
        self.state().listeners.add(subject, link)
    }

    pub(crate) async fn request(
        &self,
        subject: &str,
        payload: Bytes,
        reply_timeout: Duration,
    ) -> Result<Bytes, RequestError> {
        let inbox = self.state().listeners.next_inbox();
        let mut replies = self.subscribe(&inbox);
        if !self.route(subject, Some(&inbox), payload)? {
            return Err(RequestError::NoResponders {
                subject: subject.to_owned(),
            });
        }
        match timeout(reply_timeout, replies.next()).await {
            Ok(Some(reply)) => Ok(reply.payload),
            _ => Err(RequestError::TimedOut {
                subject: subject.to_owned(),
            }),
        }
    }

    /// Returns whether a listener or a stream received the message.
    fn route(&self, subject: &str, reply: Option<&str>, payload: Bytes) -> Result<bool, Fault> {
        self.connection.must_be_up()?;
        if payload.len() > PAYLOAD_MAX {
            return Err(Fault::TooLarge {
                limit: PAYLOAD_MAX as u64,
            });
        }
        let mut state = self.state();
        let mut is_delivered = state.listeners.deliver(subject, reply, &payload);
        // A stream stores every message on its subjects, core messages too.
        for log in state.logs.values_mut().filter(|log| log.collects(subject)) {
            is_delivered = true;
            if log.append(subject, None, None, payload.clone()).is_ok() {
                self.server.written.send_modify(|writes| *writes += 1);
            }
        }
        Ok(is_delivered)
    }
}
