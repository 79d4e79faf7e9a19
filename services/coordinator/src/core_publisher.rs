//! Publishes core messages in order, without blocking the loop. A message may be lost; the next
//! reply to a heartbeat then contains its content.

use bytes::Bytes;
use loadpilot_bus::Bus;
use serde::Serialize;
use tokio::sync::mpsc;

/// Maximum number of messages that wait to be sent; further ones are lost.
const QUEUED_MAX: usize = 1_024;

/// Sends messages one after the other, which keeps the order of live events.
#[derive(Debug, Clone)]
pub(crate) struct CorePublisher(mpsc::Sender<(String, Bytes)>);

impl CorePublisher {
    /// A publisher, and the task that sends its messages; the task ends when the publisher is
    /// dropped.
    pub(crate) fn new(bus: Bus) -> (Self, impl Future<Output = ()>) {
        let (sender, mut queued) = mpsc::channel::<(String, Bytes)>(QUEUED_MAX);
        let send = async move {
            while let Some((subject, payload)) = queued.recv().await {
                if let Err(fault) = bus.publish(&subject, payload).await {
                    tracing::debug!(%subject, %fault, "a core message was lost");
                }
            }
        };
        (Self(sender), send)
    }

    /// Queues `message` as JSON for `subject`, or drops it when the queue is full.
    pub(crate) fn publish(&self, subject: String, message: &impl Serialize) {
        match serde_json::to_vec(message) {
            Ok(json) => {
                if let Err(lost) = self.0.try_send((subject, json.into())) {
                    tracing::debug!(%lost, "a core message was lost");
                }
            }
            Err(error) => tracing::error!(%subject, %error, "a core message has no JSON form"),
        }
    }
}
