//! Readiness and metrics of this coordinator, none of a single run. Must never contain an input of
//! a decision, nor a label with unbounded values.

use std::sync::Arc;

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;

type Named<const N: usize> = [(&'static str, String); N];

/// State and counters: the loop writes them, the HTTP interface reads them.
#[derive(Debug, Clone)]
pub struct Status {
    caught_up: Gauge,
    linked: Gauge,
    runs_open: Gauge,
    agents_heard: Gauge,
    decisions: Family<Named<1>, Counter>,
    followed: Gauge,
    requests: Family<Named<2>, Counter>,
    registry: Arc<Registry>,
}

/// The state of the loop at one instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Facts {
    /// Whether the log is folded up to its end at the start.
    pub(crate) caught_up: bool,
    /// Whether NATS can be reached.
    pub(crate) linked: bool,
    /// Number of runs that are not over.
    pub(crate) runs_open: usize,
    /// Number of agent processes with a recent heartbeat.
    pub(crate) agents_heard: usize,
}

impl Default for Status {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("loadpilot");
        let (caught_up, linked, runs_open, agents_heard, followed) = Default::default();
        let decisions = Family::<Named<1>, Counter>::default();
        let requests = Family::<Named<2>, Counter>::default();
        let version = Info::new([("version", env!("CARGO_PKG_VERSION").to_owned())]);
        registry.register("coordinator", "The program", version);
        let gauges: [(&str, &str, &Gauge); 5] = [
            (
                "coordinator_log_read",
                "1 when the whole log is folded",
                &caught_up,
            ),
            ("coordinator_nats_up", "1 when NATS can be reached", &linked),
            (
                "coordinator_runs_open",
                "Runs that are not over",
                &runs_open,
            ),
            (
                "coordinator_agents_heard",
                "Agent processes with a recent heartbeat",
                &agents_heard,
            ),
            (
                "coordinator_http_followed",
                "Runs followed over HTTP",
                &followed,
            ),
        ];
        for (name, help, gauge) in gauges {
            registry.register(name, help, gauge.clone());
        }
        let help = "Appends of this process, by result";
        registry.register("coordinator_decisions", help, decisions.clone());
        let help = "Answers over HTTP, by route and status code";
        registry.register("coordinator_http_answers", help, requests.clone());
        Self {
            caught_up,
            linked,
            runs_open,
            agents_heard,
            decisions,
            followed,
            requests,
            registry: Arc::new(registry),
        }
    }
}

impl Status {
    pub(crate) fn set(&self, facts: Facts) {
        self.caught_up.set(facts.caught_up.into());
        self.linked.set(facts.linked.into());
        self.runs_open.set(signed(facts.runs_open));
        self.agents_heard.set(signed(facts.agents_heard));
    }

    /// Counts an append by its result.
    pub(crate) fn decided(&self, result: &'static str) {
        self.decisions
            .get_or_create(&[("end", result.to_owned())])
            .inc();
    }

    /// Counts an answer.
    pub(crate) fn answered(&self, route: String, code: u16) {
        let labels = [("route", route), ("code", code.to_string())];
        self.requests.get_or_create(&labels).inc();
    }

    /// Counts a followed run until the guard is dropped.
    pub(crate) fn follow(&self) -> Following {
        self.followed.inc();
        Following(self.followed.clone())
    }

    /// Why the coordinator is not ready; `None` when it is.
    pub(crate) fn unready(&self) -> Option<&'static str> {
        if self.linked.get() == 0 {
            return Some("NATS cannot be reached");
        }
        (self.caught_up.get() == 0).then_some("the log is still being read")
    }

    /// All metrics in the Prometheus text format.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        // Writing into a string cannot fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}

/// Guard of one followed run.
#[derive(Debug)]
pub(crate) struct Following(Gauge);

impl Drop for Following {
    fn drop(&mut self) {
        self.0.dec();
    }
}

fn signed(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
