//! Coordinator, agent and supervisor, which run in the calling process until they end.

use std::sync::Arc;

use pyo3::prelude::*;

use crate::play::Interpreter;

/// Build information of a program: version, commit and build profile.
#[pyfunction]
#[pyo3(signature = (commit=None))]
pub(super) fn build_text(commit: Option<&str>) -> String {
    loadpilot_events::build_text(commit)
}

/// Runs a coordinator; returns the exit code. `commit` is the commit that `--version` prints.
#[pyfunction]
#[pyo3(signature = (argv, commit=None))]
pub(super) fn coordinator_main(py: Python<'_>, argv: Vec<String>, commit: Option<&str>) -> i32 {
    let program = "loadpilot-coordinator".to_owned();
    py.detach(|| loadpilot_coordinator::main_from([program].into_iter().chain(argv), commit))
}

/// Runs an agent; returns the exit code. `commit` is the commit that `--version` prints.
#[pyfunction]
#[pyo3(signature = (argv, commit=None))]
pub(super) fn agent_main(py: Python<'_>, argv: Vec<String>, commit: Option<&str>) -> i32 {
    let program = "loadpilot-agent".to_owned();
    let argv = [program].into_iter().chain(argv);
    py.detach(|| loadpilot_agent::main_with(argv, commit, Some(Arc::new(Interpreter))))
}

/// Runs a local stack; returns the exit code.
#[pyfunction]
pub(super) fn supervisor_main(py: Python<'_>, argv: Vec<String>) -> i32 {
    py.detach(|| crate::supervisor::main(argv.into_iter().map(Into::into).collect()))
}
