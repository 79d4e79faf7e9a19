//! An indexed run for Python: JSON in, JSON out. Any thread may use it.

use std::sync::{Arc, PoisonError};

use loadpilot_engine::report::cumulative::Exported;
use loadpilot_engine::report::slice::LatencyKind;
use loadpilot_events::log::hist::EncodedHistogram;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tokio::runtime::Runtime;
use tokio::sync::{Mutex, OwnedMutexGuard};

use super::blocking::wait;
use super::errors::{Fault, failed, refused};
use super::values::json;
use crate::indexed_run::metric_export::{self, Exporter, Figures, Format, System};
use crate::indexed_run::{IndexedRun, parse_query};

/// A percentile over several stored histograms, merged; None when all are empty.
#[pyfunction]
pub(super) fn percentile_of(stored: Vec<String>, percent: f64) -> PyResult<Option<u64>> {
    if !(percent > 0.0 && percent <= 100.0) {
        let rule = format!("percent: must be above 0 and at most 100 (got {percent})");
        return Err(PyValueError::new_err(rule));
    }
    let stored: Vec<EncodedHistogram> = stored.into_iter().map(EncodedHistogram).collect();
    let percentile = loadpilot_engine::report::slice::percentile_of(&stored, percent);
    percentile.map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Number of points of a message that an OTLP server rejected, and its reason; None when it
/// accepted all.
#[pyfunction]
pub(super) fn otlp_rejected(body: &[u8]) -> Option<(u64, String)> {
    let rejected = metric_export::rejected(body)?;
    Some((rejected.points, rejected.why))
}

/// The figures of a run at one instant, for a scrape.
#[pyclass(name = "MetricFigures", module = "loadpilot._native", frozen)]
pub(super) struct PyMetricFigures(Figures);

/// Writes the figures of runs in a format that the scraper accepts; returns media type and body.
/// With the JSON of a gateway's own figures, those come first.
#[pyfunction]
#[pyo3(signature = (accept, runs, gateway_json = None))]
pub(super) fn exposition<'py>(
    py: Python<'py>,
    accept: &str,
    runs: Vec<PyRef<'py, PyMetricFigures>>,
    gateway_json: Option<&str>,
) -> PyResult<(&'static str, Bound<'py, PyBytes>)> {
    let format = Format::negotiated(accept);
    let gateway = gateway_json.map(serde_json::from_str).transpose();
    let gateway = gateway.map_err(|error| PyValueError::new_err(error.to_string()))?;
    let process = gateway.as_ref().map(metric_export::gateway_families);
    let figures: Vec<&Figures> = runs.iter().map(|figures| &figures.0).collect();
    let process = process.unwrap_or_default();
    let body = py.detach(|| metric_export::exposition(format, &figures, process));
    Ok((format.content_type(), PyBytes::new(py, &body)))
}

/// Restricts all threads to one arena of glibc's malloc. By default each thread has an arena of its
/// own, which keeps the memory that the thread has freed: an eighth of the memory of a command that
/// reads a day's run. Must never be called by an agent, whose threads would wait for each other.
#[pyfunction]
pub(super) fn use_one_malloc_arena() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: sets a parameter of the allocator, and takes no pointer.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
    }
}

/// Returns freed memory to the system. Reading a run frees much memory in small pieces; later
/// allocations are larger and do not fit into those gaps.
pub(super) fn return_free_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: takes no pointer, and leaves all memory in use as it is.
    unsafe {
        libc::malloc_trim(0);
    }
}

fn latency_kind(uncorrected: bool) -> LatencyKind {
    match uncorrected {
        true => LatencyKind::Service,
        false => LatencyKind::Response,
    }
}

/// The log of one run, indexed.
#[pyclass(name = "Reading", module = "loadpilot._native")]
pub(super) struct PyReading {
    runtime: Arc<Runtime>,
    indexed: Arc<Mutex<IndexedRun>>,
    /// State of the exported metrics between two messages.
    exported: std::sync::Mutex<Exported>,
}

impl PyReading {
    pub(super) fn new(runtime: Arc<Runtime>, indexed: IndexedRun) -> Self {
        let indexed = Arc::new(Mutex::new(indexed));
        let exported = std::sync::Mutex::default();
        Self {
            runtime,
            indexed,
            exported,
        }
    }

    /// The run, once no other thread uses it. Waits without the GIL, which that thread may need.
    fn lock(&self, py: Python<'_>) -> PyResult<OwnedMutexGuard<IndexedRun>> {
        wait(py, &self.runtime, Arc::clone(&self.indexed).lock_owned())
    }
}

/// Waits for an answer; its JSON is made without the GIL.
macro_rules! answer {
    ($self:ident, $py:ident, $indexed:ident => $query:expr) => {{
        let mut $indexed = $self.lock($py)?;
        let answer = wait($py, &$self.runtime, async move {
            let answer = $query.await?;
            Ok(serde_json::to_string(&answer))
        })?;
        let json = answer.map_err(|error| failed($py, &error))?;
        json.map_err(|error| Fault::new_err(error.to_string()))
    }};
}

#[pymethods]
impl PyReading {
    fn refresh(&self, py: Python<'_>) -> PyResult<bool> {
        let mut indexed = self.lock(py)?;
        let changed = wait(py, &self.runtime, indexed.refresh())?;
        changed.map_err(|error| failed(py, &error))
    }

    fn position(&self, py: Python<'_>) -> PyResult<String> {
        json(&self.lock(py)?.position())
    }

    fn settled_us(&self, py: Python<'_>) -> PyResult<Option<u64>> {
        Ok(self.lock(py)?.settled_us())
    }

    fn metrics<'py>(
        &self,
        py: Python<'py>,
        system: &str,
        now_us: u64,
    ) -> PyResult<Option<(Bound<'py, PyBytes>, u64)>> {
        let system = match system {
            "prometheus" => System::RemoteWrite,
            "otlp" => System::Otlp,
            _ => return Err(PyValueError::new_err("system: must be prometheus or otlp")),
        };
        let indexed = self.lock(py)?;
        let message = py.detach(|| {
            let mut exported = self.exported.lock().unwrap_or_else(PoisonError::into_inner);
            indexed.metrics(system, &mut exported, now_us)
        });
        Ok(message.map(|message| (PyBytes::new(py, &message.body), message.points)))
    }

    #[pyo3(signature = (exporter, now_us, tenant = None))]
    fn figures(
        &self,
        py: Python<'_>,
        exporter: &str,
        now_us: u64,
        tenant: Option<String>,
    ) -> PyResult<Option<PyMetricFigures>> {
        let exporter = match exporter {
            "command" => Exporter::Command,
            "gateway" => Exporter::Gateway,
            _ => {
                return Err(PyValueError::new_err(
                    "exporter: must be command or gateway",
                ));
            }
        };
        let indexed = self.lock(py)?;
        let figures = py.detach(|| {
            let mut exported = self.exported.lock().unwrap_or_else(PoisonError::into_inner);
            indexed.figures(Some(exporter), &mut exported, now_us)
        });
        Ok(figures.map(|figures| PyMetricFigures(figures.of_tenant(tenant))))
    }

    #[pyo3(signature = (every_us = None))]
    fn open_metrics(&self, py: Python<'_>, every_us: Option<u64>) -> PyResult<Vec<String>> {
        let indexed = self.lock(py)?;
        let writing = async move { indexed.open_metrics(every_us).await };
        wait(py, &self.runtime, writing)?.map_err(|error| failed(py, &error))
    }

    #[pyo3(signature = (as_of_us = None, from_us = None, to_us = None))]
    fn report(
        &self,
        py: Python<'_>,
        as_of_us: Option<u64>,
        from_us: Option<u64>,
        to_us: Option<u64>,
    ) -> PyResult<String> {
        match (from_us, to_us) {
            (None, None) => answer!(self, py, indexed => indexed.report(as_of_us)),
            _ => answer!(self, py, indexed => indexed.report_of(from_us, to_us, as_of_us)),
        }
    }

    fn load_index(&self, py: Python<'_>) -> PyResult<()> {
        let mut indexed = self.lock(py)?;
        let loaded = wait(py, &self.runtime, indexed.load_index())?;
        loaded.map_err(|error| failed(py, &error))
    }

    fn report_without_series(&self, py: Python<'_>) -> PyResult<String> {
        let indexed = self.lock(py)?;
        let closing = async move { indexed.report_without_series() };
        let report = wait(py, &self.runtime, closing)?.map_err(|error| failed(py, &error))?;
        json(&report)
    }

    fn series(&self, py: Python<'_>, slice_json: &str) -> PyResult<String> {
        let slice = parse_query(slice_json).map_err(|refusal| refused(py, &refusal))?;
        answer!(self, py, indexed => indexed.series(&slice))
    }

    fn heat(&self, py: Python<'_>, slice_json: &str) -> PyResult<String> {
        let slice = parse_query(slice_json).map_err(|refusal| refused(py, &refusal))?;
        answer!(self, py, indexed => indexed.heat(&slice))
    }

    fn histograms(&self, py: Python<'_>, slice_json: &str) -> PyResult<String> {
        let slice = parse_query(slice_json).map_err(|refusal| refused(py, &refusal))?;
        answer!(self, py, indexed => indexed.histograms(&slice))
    }

    #[pyo3(signature = (slice_json, *, uncorrected = false))]
    fn histogram_log(
        &self,
        py: Python<'_>,
        slice_json: &str,
        uncorrected: bool,
    ) -> PyResult<String> {
        let slice = parse_query(slice_json).map_err(|refusal| refused(py, &refusal))?;
        let mut indexed = self.lock(py)?;
        let text = indexed.histogram_log(&slice, latency_kind(uncorrected));
        wait(py, &self.runtime, text)?.map_err(|error| failed(py, &error))
    }

    #[pyo3(signature = (slice_json, *, uncorrected = false))]
    fn percentile_text(
        &self,
        py: Python<'_>,
        slice_json: &str,
        uncorrected: bool,
    ) -> PyResult<String> {
        let slice = parse_query(slice_json).map_err(|refusal| refused(py, &refusal))?;
        let mut indexed = self.lock(py)?;
        let text = indexed.percentile_text(&slice, latency_kind(uncorrected));
        wait(py, &self.runtime, text)?.map_err(|error| failed(py, &error))
    }

    fn errors(&self, py: Python<'_>, slice_json: &str) -> PyResult<String> {
        let slice = parse_query(slice_json).map_err(|refusal| refused(py, &refusal))?;
        answer!(self, py, indexed => indexed.errors(&slice))
    }

    #[pyo3(signature = (as_of_us = None))]
    fn agents(&self, py: Python<'_>, as_of_us: Option<u64>) -> PyResult<String> {
        answer!(self, py, indexed => indexed.agents(as_of_us))
    }

    fn story(&self, py: Python<'_>, after: u64, limit: usize) -> PyResult<String> {
        json(&self.lock(py)?.timeline_page(after, limit))
    }

    fn parts(&self, py: Python<'_>) -> PyResult<String> {
        answer!(self, py, indexed => indexed.parts())
    }

    fn versus(&self, py: Python<'_>, threshold_pct: f64) -> PyResult<String> {
        answer!(self, py, indexed => indexed.versus(threshold_pct))
    }

    fn verdict(&self, py: Python<'_>, question_json: &str) -> PyResult<String> {
        let question = parse_query(question_json).map_err(|refusal| refused(py, &refusal))?;
        answer!(self, py, indexed => indexed.verdict(&question))
    }
}
