//! Parts of a scenario that the command plays itself: setups, teardowns, and users that are
//! prepared before the run is requested.
//!
//! The command has loaded the class already. While it waits it releases the interpreter and handles
//! Ctrl-C.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use loadpilot_agent::fire::{Bodies, Hooks, HooksSetup, Program, Secrets, VirtualUsersSetup};
use loadpilot_agent::users::prepared_users::States;
use loadpilot_agent::users::script::{Scenario, Scripting, Source};
use loadpilot_engine::check;
use loadpilot_engine::schedule::workload::Workload;
use loadpilot_events::plan::Plan;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use tokio::runtime::Runtime;
use tokio::sync::oneshot;

use super::error_text::error_text;
use super::scenario::{Interpreter, PyScenario};
use crate::python::blocking::wait;
use crate::python::errors::refused;
use crate::python::targets::target_policy;
use crate::python::values::{run_id, seconds};

/// A scenario whose class this process has loaded.
#[derive(Debug)]
struct LoadedScenario(Py<PyAny>);

impl Scripting for LoadedScenario {
    fn inside(&self, work: Box<dyn FnOnce() + '_>) {
        Interpreter.inside(Box::new(|| {
            work();
            Python::attach(|py| {
                let dropped = self.0.bind(py).call_method0("forget");
                if let Err(error) = dropped {
                    tracing::debug!(%error, "cannot drop the users");
                }
            });
            self.tidy();
        }));
    }

    fn park(&self) {
        Interpreter.park();
    }

    fn unpark(&self) {
        Interpreter.unpark();
    }

    /// Collects reference cycles of users: their stacks belong to this thread.
    fn tidy(&self) {
        Python::attach(|py| {
            let collected = py.import("gc").and_then(|gc| gc.call_method0("collect"));
            if let Err(error) = collected {
                tracing::debug!(%error, "cannot collect garbage");
            }
        });
    }

    fn load(&self, source: &Source<'_>) -> Result<Box<dyn Scenario>, String> {
        Python::attach(|py| {
            let scenario = PyScenario::of(self.0.bind(py), source);
            let scenario = scenario.map_err(|error| error_text(py, &error))?;
            Ok(Box::new(scenario) as Box<dyn Scenario>)
        })
    }
}

/// Plays hooks of a scenario outside of its load, one at a time.
#[pyclass(name = "Player", module = "loadpilot._native")]
pub(crate) struct PyPlayer {
    runtime: Runtime,
    hooks: Mutex<Option<Hooks>>,
    playing: Mutex<Option<oneshot::Receiver<Result<(), String>>>>,
}

impl PyPlayer {
    fn begin(
        &self,
        start: impl FnOnce(&Hooks) -> oneshot::Receiver<Result<(), String>>,
    ) -> PyResult<()> {
        let hooks = self.hooks.lock().unwrap_or_else(PoisonError::into_inner);
        let hooks = hooks.as_ref();
        let hooks = hooks.ok_or_else(|| PyRuntimeError::new_err("the player is closed"))?;
        let mut playing = self.playing.lock().unwrap_or_else(PoisonError::into_inner);
        *playing = Some(start(hooks));
        Ok(())
    }
}

#[pymethods]
impl PyPlayer {
    #[new]
    #[expect(clippy::too_many_arguments, reason = "one Python constructor")]
    fn new(
        py: Python<'_>,
        plan_json: &str,
        run: &str,
        secrets: std::collections::BTreeMap<String, String>,
        scenario: Py<PyAny>,
        users: u32,
        seed: u64,
        allow_targets: Vec<String>,
    ) -> PyResult<Self> {
        let mut plan: Plan =
            check::parse_plan(plan_json).map_err(|refusal| refused(py, &refusal))?;
        for task in &mut plan.tasks {
            // The player performs no steps: it has no bodies beside the plan.
            task.steps.clear();
        }
        let run = run_id(run)?;
        let policy = target_policy(py, &allow_targets)?;
        let program = Program::compile_with(&plan, &run, &secrets, &Bodies::new(), policy);
        let program = program.map_err(|fault| PyValueError::new_err(fault.to_string()))?;
        let users_setup = VirtualUsersSetup {
            scripting: Arc::new(LoadedScenario(scenario)),
            bundle: Bytes::new(),
            file: String::new(),
            scenario: plan.scenario.clone(),
            types: Vec::new(),
            tasks: Vec::new(),
            target: plan.target.clone(),
            type_targets: Vec::new(),
            parameters: Secrets::default(),
            feeds: plan.feeds().to_vec(),
            row_files: Vec::new(),
            workload: Arc::new(Workload::new(&plan, seed)),
            users: (0..users).collect(),
            states: None,
        };
        let setup = HooksSetup {
            run,
            plan: Arc::new(plan),
            program: Arc::new(program),
            users_setup,
        };
        // The new thread needs the interpreter at once.
        let hooks = py.detach(|| Hooks::spawn(setup));
        let hooks = hooks.map_err(|fault| PyRuntimeError::new_err(fault.to_string()))?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()?;
        Ok(Self {
            runtime,
            hooks: Mutex::new(Some(hooks)),
            playing: Mutex::new(None),
        })
    }

    fn once(&self, place: u16) -> PyResult<()> {
        self.begin(|hooks| hooks.once(place))
    }

    fn prepare(&self) -> PyResult<()> {
        self.begin(Hooks::prepare)
    }

    fn retire(&self) -> PyResult<()> {
        self.begin(Hooks::retire)
    }

    fn call_off(&self) {
        let hooks = self.hooks.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(hooks) = hooks.as_ref() {
            hooks.call_off();
        }
    }

    fn wait(&self, py: Python<'_>, timeout_secs: f64) -> PyResult<Option<String>> {
        let timeout = seconds("timeout_secs", timeout_secs)?;
        let mut playing = self.playing.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(part) = playing.as_mut() else {
            return Err(PyRuntimeError::new_err("nothing is being played"));
        };
        let part = async { tokio::time::timeout(timeout, part).await };
        let Ok(result) = wait(py, &self.runtime, part)? else {
            return Ok(None);
        };
        *playing = None;
        let thread_ended = |_| Err("the thread of the scenario has ended".to_owned());
        let result = result.unwrap_or_else(thread_ended);
        Ok(Some(result.err().unwrap_or_default()))
    }

    fn close(&self, py: Python<'_>, timeout_secs: f64) -> PyResult<bool> {
        let timeout = seconds("timeout_secs", timeout_secs)?;
        let hooks = self
            .hooks
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let Some(hooks) = hooks else {
            return Ok(true);
        };
        let ended = hooks.close();
        let ended = async { tokio::time::timeout(timeout, ended).await };
        Ok(wait(py, &self.runtime, ended)?.is_ok())
    }
}

/// Opens sealed states with their key: the state that all users share, and the state of each user.
#[pyfunction]
pub(crate) fn open_states(sealed: &[u8], key: &str) -> PyResult<(String, Option<Vec<String>>)> {
    let opened = States::open(sealed, key);
    let states = opened.map_err(|fault| PyValueError::new_err(fault.to_string()))?;
    Ok((states.shared, states.users))
}

/// Seals states of users with a key of 64 hex digits, which must not be used twice.
#[pyfunction]
pub(crate) fn seal_states(
    key: &str,
    shared: String,
    users: Option<Vec<String>>,
) -> PyResult<Vec<u8>> {
    let sealed = States { shared, users }.seal(key);
    sealed.map_err(|fault| PyValueError::new_err(fault.to_string()))
}
