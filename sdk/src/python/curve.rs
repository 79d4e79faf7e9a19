//! Recorded loads: their files, and the profiles that replay them.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};

use loadpilot_engine::schedule::replay::{self, LINE_BYTES_MAX, Recording};
use loadpilot_events::plan::Profile;
use loadpilot_events::refusal::Refusal;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::errors::{Fault, refused};
use super::values::json;

/// The arrivals of each second in a recording, in millionths of an arrival.
#[pyfunction]
pub(super) fn read_curve(py: Python<'_>, path: &str) -> PyResult<Vec<u64>> {
    let read = py.detach(|| counts(path));
    match read {
        Ok(Ok(counts)) => Ok(counts),
        Ok(Err(misread)) => {
            let problems = vec![misread.problem(path)];
            Err(refused(py, &Refusal { problems }))
        }
        Err(error) => Err(Fault::new_err(error.to_string())),
    }
}

/// The profile with these arrivals in each second, times a scale in millionths, as JSON.
#[pyfunction]
#[expect(
    clippy::needless_pass_by_value,
    reason = "PyO3 converts a list to a vector"
)]
pub(super) fn replay_profile(counts: Vec<u64>, scale_ppm: u64) -> PyResult<String> {
    json(&replay::profile(&counts, scale_ppm))
}

/// Peak of a profile, in millionths of an arrival per second.
#[pyfunction]
pub(super) fn profile_peak(profile_json: &str) -> PyResult<u64> {
    let profile: Profile = serde_json::from_str(profile_json)
        .map_err(|error| PyValueError::new_err(format!("not a profile: {error}")))?;
    Ok(profile.peak().0)
}

/// Reads a file line by line. Of a line that is too long, it reads only as much as is needed to
/// refuse it.
fn counts(path: &str) -> std::io::Result<Result<Vec<u64>, replay::Misread>> {
    let mut file = BufReader::new(File::open(path)?);
    let mut recording = Recording::default();
    let mut line = Vec::new();
    loop {
        line.clear();
        let limit = LINE_BYTES_MAX as u64 + 2;
        if (&mut file).take(limit).read_until(b'\n', &mut line)? == 0 {
            return Ok(recording.counts());
        }
        if let Err(misread) = recording.line(&line) {
            return Ok(Err(misread));
        }
    }
}
