//! Texts of errors that a scenario raises.

use loadpilot_agent::users::script::Part;
use pyo3::prelude::*;

/// Python module that formats errors.
const TRACEBACKS: &str = "loadpilot.play.tracebacks";

/// Type, message and place of an error; of hooks with the lines that led to it.
pub(super) fn message(py: Python<'_>, error: &PyErr, part: Part) -> String {
    let format = match part {
        Part::Start | Part::Once(_) => "describe_with_lines",
        Part::Task(_) | Part::Stop => "describe",
    };
    let message = || {
        // `into_value` attaches the traceback to the error.
        let value = error.clone_ref(py).into_value(py);
        let message = py.import(TRACEBACKS)?.call_method1(format, (value,))?;
        message.extract::<String>()
    };
    message().unwrap_or_else(|_| error_text(py, error))
}

/// The scenario's lines that led to an error, if any.
pub(super) fn traceback(py: Python<'_>, error: &PyErr) -> Option<String> {
    let value = error.clone_ref(py).into_value(py);
    let trace = py
        .import(TRACEBACKS)
        .ok()?
        .call_method1("trace", (value,))
        .ok()?;
    let trace: String = trace.extract().ok()?;
    Some(trace).filter(|trace| !trace.is_empty())
}

/// Type and text of an error, without its place in the scenario.
pub(super) fn error_text(py: Python<'_>, error: &PyErr) -> String {
    let kind = error.get_type(py).name();
    let kind = kind.map_or_else(|_| "an error".to_owned(), |name| name.to_string());
    let text = error.value(py).str().map(|text| text.to_string());
    match text.unwrap_or_default() {
        text if text.is_empty() => kind,
        text if kind == "ScenarioError" => text,
        text => format!("{kind}: {text}"),
    }
}
