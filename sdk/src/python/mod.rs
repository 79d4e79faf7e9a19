//! The Python interface of the native module: conversions, errors and the GIL, nothing else.
//!
//! Must never hold the GIL while it waits, and must let Ctrl-C through meanwhile.
//!
//! - [`errors`], [`values`], [`blocking`]: exceptions, values, waits without the GIL.
//! - [`plans`], [`targets`], [`nats_server`]: checks and figures of plans and addresses.
//! - [`curve`]: recorded loads and the profiles that replay them.
//! - [`row_file`]: files of rows for feeds.
//! - [`programs`]: coordinator, agent and supervisor as calls.
//! - [`connection`], [`session`]: a connection to a log.
//! - [`run_request`], [`teardown`]: runs that callers post; setup and teardown of a run.
//! - [`live_run`], [`indexed_run`], [`samples`]: a run in progress, its log, its sampled calls.

pub(crate) mod blocking;
mod comparison;
mod connection;
mod curve;
pub(crate) mod errors;
mod indexed_run;
mod live_run;
mod nats_server;
mod plans;
mod programs;
pub(crate) mod row_file;
mod run_request;
mod samples;
mod session;
pub(crate) mod targets;
mod teardown;
pub(crate) mod values;

use pyo3::prelude::*;

/// The module.
#[pymodule]
pub mod _native {
    /// Whether this is a development build, which runs slower than a release.
    #[pymodule_export]
    const DEVELOPMENT_BUILD: bool = cfg!(debug_assertions);
    /// Version of the native module.
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
    /// Commit that it was built from, if the builder sets it.
    #[pymodule_export]
    const COMMIT: Option<&str> = option_env!("LOADPILOT_COMMIT");
    #[pymodule_export]
    use super::comparison::{
        compare, compare_max_rates, parts_of_report, search_probe, search_settings, search_state,
    };
    #[pymodule_export]
    use super::curve::{profile_peak, read_curve, replay_profile};
    #[pymodule_export]
    use super::errors::{Fault, Refused};
    #[pymodule_export]
    use super::indexed_run::{
        PyMetricFigures, PyReading, exposition, otlp_rejected, percentile_of, use_one_malloc_arena,
    };
    #[pymodule_export]
    use super::live_run::PyWatch;
    #[pymodule_export]
    use super::nats_server::{
        account, nats_key, new_nats_key, shown_address, sign_with_nats_key, token_exposed_to,
        wrong_api_prefix,
    };
    #[pymodule_export]
    use super::plans::{
        check_plan, figure_keys, metric_keys, paired_plan, parse_duration_us, parse_rate_urps,
        plan_facts, plan_gates,
    };
    #[pymodule_export]
    use super::programs::{agent_main, build_text, coordinator_main, supervisor_main};
    #[pymodule_export]
    use super::row_file::PyRowFile;
    #[pymodule_export]
    use super::run_request::{adjust_asked, ask, check_asked};
    #[pymodule_export]
    use super::samples::PySamples;
    #[pymodule_export]
    use super::session::{PySession, new_run_id, run_file_signer};
    #[pymodule_export]
    use super::targets::{check_target, ownership_token};
    #[pymodule_export]
    use super::teardown::PyLedger;
    #[pymodule_export]
    use crate::play::{
        PyClient, PyCurrentUser, PyPlayer, PyRehearsal, PyRehearsedUser, PyRequest, PyResponse,
        PyWanted, drawn, due_us, get_current_user, measure, moves, note_blocking, open_states,
        raise_in, row, seal_states,
    };
}
