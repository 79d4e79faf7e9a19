//! The parts of a scenario: functions and checks.

use loadpilot_agent::users::script::Part;
use pyo3::exceptions::{PyAssertionError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBool;

use super::client::Execution;
use super::response::PyResponse;

/// The function of each part of a user's life.
pub(super) struct Parts {
    start: PartFunction,
    stop: PartFunction,
    tasks: Vec<PartFunction>,
    once: Vec<PartFunction>,
}

/// The function of one part, and its check.
pub(super) struct PartFunction {
    pub(super) function: Py<PyAny>,
    pub(super) execution: Execution,
    pub(super) check: Option<Check>,
}

impl Parts {
    /// Reads the parts of a scenario that `loadpilot.play` has loaded.
    pub(super) fn new(scenario: &Bound<'_, PyAny>) -> PyResult<Self> {
        let parts_of = |name: &str| -> PyResult<Vec<PartFunction>> {
            let parts: Vec<PartTuple> = scenario.getattr(name)?.extract()?;
            Ok(parts.into_iter().map(PartFunction::new).collect())
        };
        Ok(Self {
            start: PartFunction::new(scenario.getattr("start")?.extract()?),
            stop: PartFunction::new(scenario.getattr("stop")?.extract()?),
            tasks: parts_of("tasks")?,
            once: parts_of("once")?,
        })
    }

    pub(super) fn of(&self, part: Part) -> &PartFunction {
        match part {
            Part::Start => &self.start,
            Part::Stop => &self.stop,
            Part::Task(task) => &self.tasks[usize::from(task)],
            Part::Once(place) => &self.once[usize::from(place)],
        }
    }
}

/// A part of `loadpilot.play`: function, how it is executed, check, whether the check takes the
/// response itself.
type PartTuple = (Py<PyAny>, String, Option<Py<PyAny>>, bool);

impl PartFunction {
    fn new((function, execution, check, takes_response): PartTuple) -> Self {
        let check = check.map(|function| Check {
            function,
            takes_response,
        });
        Self {
            function,
            execution: match execution.as_str() {
                "LOOP" => Execution::Loop,
                "ENGINE" => Execution::Engine,
                _ => Execution::Stack,
            },
            check,
        }
    }
}

/// A check of the scenario.
pub(super) struct Check {
    function: Py<PyAny>,
    /// Whether it takes the response itself, not its status and JSON.
    takes_response: bool,
}

impl Check {
    pub(super) fn run(
        &self,
        py: Python<'_>,
        instance: &Py<PyAny>,
        last: &Py<PyResponse>,
    ) -> PyResult<()> {
        if self.takes_response {
            return self.judge(self.function.bind(py).call1((instance, last))?);
        }
        let response = last.bind(py).get();
        let body = match response.json(py) {
            Ok(body) => body,
            // The body is not JSON.
            Err(error) if error.is_instance_of::<PyValueError>(py) => py.None(),
            Err(error) => return Err(error),
        };
        let status = response.status_code();
        self.judge(self.function.bind(py).call1((instance, status, body))?)
    }

    /// A check fails by an exception; one that returns False, as checks of other tools do, must not
    /// pass.
    fn judge(&self, returned: Bound<'_, PyAny>) -> PyResult<()> {
        if !returned.is(PyBool::new(returned.py(), false)) {
            return Ok(());
        }
        let name = self.function.bind(returned.py()).getattr("__name__")?;
        Err(PyAssertionError::new_err(format!(
            "{name}() returned False"
        )))
    }
}
