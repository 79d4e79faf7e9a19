//! Waits of the calling thread, without the GIL.

use std::future::Future;
use std::time::Duration;

use pyo3::prelude::*;
use tokio::runtime::Runtime;

/// Interval at which a wait checks for Python's signals.
const SIGNALS_INTERVAL: Duration = Duration::from_millis(50);

/// Runs `future` without the GIL until it is done or a Python signal handler raises.
pub(crate) fn wait<T: Send>(
    py: Python<'_>,
    runtime: &Runtime,
    future: impl Future<Output = T> + Send,
) -> PyResult<T> {
    let mut future = Box::pin(future);
    loop {
        let slice = async { tokio::time::timeout(SIGNALS_INTERVAL, future.as_mut()).await };
        if let Ok(done) = py.detach(|| runtime.block_on(slice)) {
            return Ok(done);
        }
        py.check_signals()?;
    }
}
