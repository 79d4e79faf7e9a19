//! The control events of one run, for agents that lack them.

use loadpilot_engine::control::per_agent_view::for_agent;
use loadpilot_events::limits::NEWS_EVENTS_MAX;
use loadpilot_events::log::ctl::Decision;
use loadpilot_events::wire::heartbeat::News;
use loadpilot_events::{AgentId, Envelope, RunId, TenantId};

/// Maximum number of bytes of events in one reply, so that it fits into a message of 1 MiB; the
/// first event is always sent.
const NEWS_BYTES_MAX: usize = 768 * 1024;

/// Maximum number of bytes that run, sequences and commas add to an event in a reply.
const FRAME_BYTES: usize = 256;

/// The control events of one run, oldest first.
#[derive(Debug, Clone, Default)]
pub(crate) struct NewsFeed {
    items: Vec<Item>,
}

#[derive(Debug, Clone)]
pub(crate) struct Item {
    news: News,
    bytes: usize,
}

impl NewsFeed {
    /// Adds an event of a run: it is stored at `seq` and `bytes` long. With the run's tenant,
    /// unless that is the agents' own.
    pub(crate) fn push(
        &mut self,
        (run, tenant): (&RunId, Option<TenantId>),
        seq: u64,
        event: Envelope<Decision>,
        bytes: usize,
    ) {
        let previous_seq = self.last_seq();
        let news = News {
            run: run.clone(),
            tenant,
            seq,
            previous_seq,
            event,
        };
        self.items.push(Item {
            news,
            bytes: bytes + FRAME_BYTES,
        });
    }

    /// The sequence of the newest event; 0 before any.
    pub(crate) fn last_seq(&self) -> u64 {
        self.items.last().map_or(0, |item| item.news.seq)
    }

    /// The events after `seq`.
    pub(crate) fn after(&self, seq: u64) -> &[Item] {
        let seen = self.items.partition_point(|item| item.news.seq <= seq);
        &self.items[seen..]
    }

    /// Its approximate size in memory, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.items.iter().map(|item| item.bytes).sum()
    }
}

/// Number of bytes of an event in a reply. `stored` is the event's size in the log, where the plan
/// of a run is stored with its request.
pub(crate) fn bytes(event: &Envelope<Decision>, stored: usize) -> usize {
    match event.event {
        Decision::RunCreated(_) => {
            serde_json::to_vec(event).map_or(stored, |json| json.len().max(stored))
        }
        _ => stored,
    }
}

/// The part of an event that concerns `agent`: assignments and seals name all agents.
fn personal(news: &News, agent: &AgentId) -> News {
    News {
        run: news.run.clone(),
        tenant: news.tenant.clone(),
        seq: news.seq,
        previous_seq: news.previous_seq,
        event: Envelope {
            v: news.event.v,
            id: news.event.id.clone(),
            at: news.event.at,
            event: for_agent(&news.event.event, agent).into_owned(),
        },
    }
}

/// As many of the events in `lacking` as fit into one reply to `agent`, oldest first, and whether
/// there are more. They are cut by sequence, so that the events of each run have no gap.
pub(crate) fn fit(mut lacking: Vec<&Item>, agent: &AgentId) -> (Vec<News>, bool) {
    lacking.sort_unstable_by_key(|item| item.news.seq);
    let mut bytes = 0;
    let fits = |(place, item): &(usize, &&Item)| {
        bytes += item.bytes;
        *place == 0 || *place < NEWS_EVENTS_MAX && bytes <= NEWS_BYTES_MAX
    };
    let count = lacking.iter().enumerate().take_while(fits).count();
    let news = lacking[..count]
        .iter()
        .map(|item| personal(&item.news, agent))
        .collect();
    (news, count < lacking.len())
}
