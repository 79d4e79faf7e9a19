//! Core messages on their way out. Losing one is fine: heartbeats bring what was lost. It must
//! never make the loop wait.

use bytes::Bytes;
use loadpilot_bus::Bus;
use serde::Serialize;
use tokio::sync::mpsc;

/// Most messages that wait to be sent; further ones are lost.
const WAITING_MAX: usize = 1_024;

/// Sends messages one after the other, so that the order of live events is kept.
#[derive(Debug, Clone)]
pub(crate) struct CorePublisher(mpsc::Sender<(String, Bytes)>);

impl CorePublisher {
    /// A publisher, and the task that sends, which ends when the publisher is dropped.
    pub(crate) fn new(bus: Bus) -> (Self, impl Future<Output = ()>) {
        let (sender, mut waiting) = mpsc::channel::<(String, Bytes)>(WAITING_MAX);
        let speak = async move {
            while let Some((subject, payload)) = waiting.recv().await {
                if let Err(fault) = bus.publish(&subject, payload).await {
                    tracing::debug!(%subject, %fault, "a core message was lost");
                }
            }
        };
        (Self(sender), speak)
    }

    /// Sends `message` as JSON to `subject`, soon or never.
    pub(crate) fn say(&self, subject: String, message: &impl Serialize) {
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
