//! Publishes this agent's events of one run in order, and retries each until it is stored. Its
//! callers never wait.

use bytes::Bytes;
use loadpilot_bus::{AppendError, Stream};
use loadpilot_events::log::evt::{Fact, What};
use loadpilot_events::{BootId, Envelope, RunId};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use crate::process::shell::Shell;
use crate::runs::envelope::envelope;

/// Queue of events of one run, shared by its clones. It ends with [`EventPublisher::discard`], or
/// with its last clone once all events are stored.
#[derive(Debug, Clone)]
pub struct EventPublisher {
    shell: Shell,
    run: RunId,
    queue: mpsc::UnboundedSender<Envelope<Fact>>,
    open: watch::Sender<usize>,
    task: std::sync::Arc<JoinHandle<()>>,
}

impl EventPublisher {
    /// Starts the queue of `run`. Must be called inside a runtime.
    #[must_use]
    pub fn new(shell: Shell, run: RunId) -> Self {
        let (queue, facts) = mpsc::unbounded_channel();
        let open = watch::Sender::new(0);
        let work = publish_in_order(shell.clone(), run.clone(), facts, open.clone());
        Self {
            shell,
            run,
            queue,
            open,
            task: std::sync::Arc::new(tokio::spawn(work)),
        }
    }

    /// Queues `what` for publication.
    pub fn publish(&self, what: What) {
        self.publish_for(self.shell.me.boot_id.clone(), what);
    }

    /// Queues `what` in the name of a killed process of this agent.
    pub fn publish_for(&self, boot_id: BootId, what: What) {
        tracing::info!(run = %self.run, boot = %boot_id, fact = name(&what), "states");
        self.open.send_modify(|open| *open += 1);
        // The receiver ends only with `discard`: then the event is obsolete.
        if self.queue.send(envelope(Fact { boot_id, what })).is_err() {
            self.open.send_modify(|open| *open -= 1);
        }
    }

    /// Returns when every queued event is stored or discarded.
    pub async fn flush(&self) {
        let mut open = self.open.subscribe();
        // The sender lives as long as `self`.
        let _ = open.wait_for(|&open| open == 0).await;
    }

    /// Stops publishing: the run is over.
    pub fn discard(&self) {
        self.task.abort();
        self.open.send_replace(0);
    }
}

async fn publish_in_order(
    shell: Shell,
    run: RunId,
    mut facts: mpsc::UnboundedReceiver<Envelope<Fact>>,
    open: watch::Sender<usize>,
) {
    let subject = shell.subjects.evt(&run, &shell.me.agent);
    while let Some(fact) = facts.recv().await {
        let payload = serde_json::to_vec(&fact).expect("a fact has a JSON form");
        let id = fact.id.as_str();
        store(&shell, Stream::Ctl, &subject, id, payload.into()).await;
        open.send_modify(|open| *open = open.saturating_sub(1));
    }
}

/// Stores a message, retrying with the same id; gives up only on one that is too large.
pub(crate) async fn store(shell: &Shell, stream: Stream, subject: &str, id: &str, payload: Bytes) {
    loop {
        let stored = shell.bus.append(stream, subject, id, payload.clone()).await;
        let pause = match stored {
            Ok(_) => return,
            Err(AppendError::TooLarge { limit }) => {
                tracing::error!(subject, limit, "too large to be stored");
                return;
            }
            Err(AppendError::Unknown) => continue,
            Err(error @ AppendError::Full { .. }) => {
                tracing::warn!(subject, %error, "waits to be stored");
                shell.timeouts.retry_slow
            }
            Err(error @ (AppendError::Conflict | AppendError::Fault(_))) => {
                tracing::debug!(subject, %error, "waits to be stored");
                shell.timeouts.retry
            }
        };
        tokio::time::sleep(pause).await;
    }
}

fn name(what: &What) -> &'static str {
    match what {
        What::CapacityOffered(_) => "CapacityOffered",
        What::ShardsReady(_) => "ShardsReady",
        What::ShardsStarted(_) => "ShardsStarted",
        What::ShardsFinished(_) => "ShardsFinished",
        What::ShardsFailed(_) => "ShardsFailed",
        What::AgentLeaving => "AgentLeaving",
        What::IsolationStop(_) => "IsolationStop",
        What::TailReported(_) => "TailReported",
    }
}
