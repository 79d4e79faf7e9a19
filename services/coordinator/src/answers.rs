//! Replies to agents outside of the loop: clock samples, from a task of their own so that nothing
//! delays them, and the secrets of runs. The value of a secret is never logged.

use bytes::Bytes;
use loadpilot_bus::{Bus, Fault, Subscription};
use loadpilot_events::RunId;
use loadpilot_events::wire::subject::Subjects;
use std::time::Duration;
use tokio::time::sleep;

use crate::clock::Clock;

/// Maximum number of attempts to shred the secrets of a run; afterwards their time to live removes
/// them.
const SHRED_TRIES_MAX: u32 = 5;

/// Delay after the first failed attempt; it doubles.
const SHRED_RETRY_DELAY: Duration = Duration::from_secs(1);

/// Answers clock requests until the connection closes.
pub(crate) async fn clock_samples(bus: Bus, mut requests: Subscription, clock: Clock) {
    while let Some(request) = requests.next().await {
        let received_at = clock.now();
        let Some(reply) = request.reply else { continue };
        let sample = clock.sample(received_at);
        let Ok(json) = serde_json::to_vec(&sample) else {
            continue;
        };
        if let Err(fault) = bus.publish(&reply, json.into()).await {
            tracing::debug!(%fault, "a clock sample was lost");
        }
    }
}

/// Sends the secrets of a run to a holder that requested them. If the bucket cannot be read, no
/// reply is sent, and the agent retries.
pub(crate) async fn send_secrets(bus: &Bus, subjects: &Subjects, run: &RunId, reply: &str) {
    let sent = match bus.kv_get(&subjects.secret_key(run)).await {
        Ok(values) => {
            let values = values.unwrap_or_else(|| Bytes::from_static(b"{}"));
            bus.publish(reply, values).await
        }
        Err(fault) => Err(fault),
    };
    if let Err(fault) = sent {
        tracing::warn!(%run, %fault, "secrets were not sent");
    }
}

/// Shreds the secrets of a run that is over.
pub(crate) async fn shred(bus: &Bus, subjects: &Subjects, run: &RunId) {
    let key = subjects.secret_key(run);
    let mut delay = SHRED_RETRY_DELAY;
    for attempt in 1..=SHRED_TRIES_MAX {
        let fault: Fault = match bus.kv_shred(&key).await {
            Ok(()) => return,
            Err(fault) => fault,
        };
        if attempt == SHRED_TRIES_MAX {
            tracing::warn!(%run, %fault, "secrets were not shredded; their time to live ends them");
            return;
        }
        sleep(delay).await;
        delay *= 2;
    }
}
