//! Clock samples, from a task of their own so that nothing delays one, and the secrets of runs. A
//! secret's value must never be logged.

use bytes::Bytes;
use loadpilot_bus::{Bus, Fault, Subscription};
use loadpilot_events::RunId;
use loadpilot_events::wire::subject::Subjects;
use std::time::Duration;
use tokio::time::sleep;

use crate::clock::Clock;

/// Most tries to shred the secrets of a run; after that their time to live ends them.
const SHRED_TRIES_MAX: u32 = 5;

/// Pause after the first failed try; it doubles.
const SHRED_PAUSE: Duration = Duration::from_secs(1);

/// Answers clock requests for as long as the connection lives.
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

/// Hands the secrets of a run over to a holder that asked. While the bucket cannot be read there is
/// no answer, and the agent asks again.
pub(crate) async fn hand_over(bus: &Bus, subjects: &Subjects, run: &RunId, reply: &str) {
    let answered = match bus.kv_get(&subjects.secret_key(run)).await {
        Ok(values) => {
            let values = values.unwrap_or_else(|| Bytes::from_static(b"{}"));
            bus.publish(reply, values).await
        }
        Err(fault) => Err(fault),
    };
    if let Err(fault) = answered {
        tracing::warn!(%run, %fault, "secrets were not handed over");
    }
}

/// Shreds the secrets of a run that is over.
pub(crate) async fn shred(bus: &Bus, subjects: &Subjects, run: &RunId) {
    let key = subjects.secret_key(run);
    let mut pause = SHRED_PAUSE;
    for attempt in 1..=SHRED_TRIES_MAX {
        let fault: Fault = match bus.kv_shred(&key).await {
            Ok(()) => return,
            Err(fault) => fault,
        };
        if attempt == SHRED_TRIES_MAX {
            tracing::warn!(%run, %fault, "secrets were not shredded; their time to live ends them");
            return;
        }
        sleep(pause).await;
        pause *= 2;
    }
}
