//! Readiness and metrics of this coordinator; none of them is about a single run. Must never
//! contain an input of a decision, nor a label with unbounded values.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use loadpilot_client::indexed_run::metric_export::{Family, counters, gauge, version};

/// State and counters: the loop writes them, the HTTP interface reads them.
#[derive(Debug, Clone, Default)]
pub struct Status(Arc<State>);

#[derive(Debug, Default)]
struct State {
    caught_up: AtomicBool,
    linked: AtomicBool,
    runs_open: AtomicUsize,
    agents_heard: AtomicUsize,
    agents_wanted: AtomicUsize,
    followed: AtomicUsize,
    decisions: Mutex<BTreeMap<&'static str, u64>>,
    requests: Mutex<BTreeMap<(String, u16), u64>>,
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
    /// Number of agents that open runs request, except runs that wait for the end of another run.
    pub(crate) agents_wanted: usize,
}

impl Status {
    pub(crate) fn set(&self, facts: Facts) {
        let state = &self.0;
        state.caught_up.store(facts.caught_up, Ordering::Relaxed);
        state.linked.store(facts.linked, Ordering::Relaxed);
        state.runs_open.store(facts.runs_open, Ordering::Relaxed);
        state
            .agents_heard
            .store(facts.agents_heard, Ordering::Relaxed);
        state
            .agents_wanted
            .store(facts.agents_wanted, Ordering::Relaxed);
    }

    /// Counts an append by its result.
    pub(crate) fn decided(&self, result: &'static str) {
        let decisions = self.0.decisions.lock();
        let mut decisions = decisions.unwrap_or_else(PoisonError::into_inner);
        *decisions.entry(result).or_default() += 1;
    }

    /// Counts an answer.
    pub(crate) fn answered(&self, route: String, code: u16) {
        let requests = self.0.requests.lock();
        let mut requests = requests.unwrap_or_else(PoisonError::into_inner);
        *requests.entry((route, code)).or_default() += 1;
    }

    /// Counts a followed run until the guard is dropped.
    pub(crate) fn follow(&self) -> Following {
        self.0.followed.fetch_add(1, Ordering::Relaxed);
        Following(self.clone())
    }

    /// Why the coordinator is not ready; `None` when it is.
    pub(crate) fn unready(&self) -> Option<&'static str> {
        if !self.0.linked.load(Ordering::Relaxed) {
            return Some("NATS cannot be reached");
        }
        let is_caught_up = self.0.caught_up.load(Ordering::Relaxed);
        (!is_caught_up).then_some("the log is still being read")
    }

    /// All metrics of the process.
    #[must_use]
    pub fn families(&self) -> Vec<Family> {
        let state = &self.0;
        let flag = |flag: &AtomicBool| f64::from(u8::from(flag.load(Ordering::Relaxed)));
        let number = |number: &AtomicUsize| number.load(Ordering::Relaxed) as f64;
        let decisions = state.decisions.lock();
        let decisions = decisions.unwrap_or_else(PoisonError::into_inner);
        let decisions = decisions.iter();
        let decisions = decisions.map(|(end, count)| (vec![("end", (*end).to_owned())], *count));
        let requests = state.requests.lock();
        let requests = requests.unwrap_or_else(PoisonError::into_inner);
        let requests = requests.iter().map(|((route, code), count)| {
            let labels = vec![("route", route.clone()), ("code", code.to_string())];
            (labels, *count)
        });
        vec![
            version("coordinator_info", env!("CARGO_PKG_VERSION")),
            gauge(
                "coordinator_log_read",
                "1 when the whole log is folded.",
                flag(&state.caught_up),
            ),
            gauge(
                "coordinator_nats_up",
                "1 when NATS can be reached.",
                flag(&state.linked),
            ),
            gauge(
                "coordinator_runs_open",
                "Runs that are not over.",
                number(&state.runs_open),
            ),
            gauge(
                "coordinator_agents_heard",
                "Agent processes with a recent heartbeat.",
                number(&state.agents_heard),
            ),
            gauge(
                "coordinator_agents_wanted",
                "Agents that open runs request, unless they wait for a turn: for autoscaling.",
                number(&state.agents_wanted),
            ),
            gauge(
                "coordinator_http_followed",
                "Runs followed over HTTP.",
                number(&state.followed),
            ),
            counters(
                "coordinator_decisions",
                "Appends of this process, by result.",
                &["end"],
                decisions.collect(),
            ),
            counters(
                "coordinator_http_answers",
                "Answers over HTTP, by route and status code.",
                &["route", "code"],
                requests.collect(),
            ),
        ]
    }
}

/// Guard of one followed run.
#[derive(Debug)]
pub(crate) struct Following(Status);

impl Drop for Following {
    fn drop(&mut self) {
        self.0.0.followed.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use loadpilot_client::indexed_run::metric_export::reference;

    use super::*;

    /// Broken if the page of all metrics lacks an exported metric.
    #[test]
    fn the_reference_is_fresh() {
        let committed = include_str!("../../../../docs/reference/metrics.md");
        assert_eq!(
            reference(Status::default().families()),
            committed,
            "docs/reference/metrics.md is stale: run ./dev gen"
        );
    }
}
