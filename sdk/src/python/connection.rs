//! A session and its runtime, shared by the Python objects that use them.

use std::future::Future;
use std::sync::Arc;

use pyo3::prelude::*;
use tokio::runtime::Runtime;
use tokio::sync::{Mutex, OwnedMutexGuard};

use super::blocking::wait;
use super::errors::failed;
use crate::session::{Session, SessionError};

/// One connection to a log.
#[derive(Clone)]
pub(super) struct Connection {
    runtime: Arc<Runtime>,
    session: Arc<Mutex<Session>>,
}

impl Connection {
    /// Opens a session on a new runtime.
    pub(super) fn open(
        py: Python<'_>,
        opening: impl Future<Output = Result<Session, SessionError>> + Send,
    ) -> PyResult<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("loadpilot-session")
            .enable_all()
            .build()?;
        let session = wait(py, &runtime, opening)?.map_err(|error| failed(py, &error))?;
        Ok(Self {
            runtime: Arc::new(runtime),
            session: Arc::new(Mutex::new(session)),
        })
    }

    pub(super) fn runtime(&self) -> &Arc<Runtime> {
        &self.runtime
    }

    /// Another session on the same connection, for one query: a slow answer delays no other query.
    pub(super) fn query_session(&self, py: Python<'_>) -> PyResult<Session> {
        let session = self.lock(py)?;
        let (bus, subjects) = session.parts();
        Ok(Session::on(bus, subjects))
    }

    /// The session itself, which renews the ownership of its run. Waits for it without the GIL,
    /// which the thread that holds the lock may need.
    pub(super) fn lock(&self, py: Python<'_>) -> PyResult<OwnedMutexGuard<Session>> {
        self.wait(py, Arc::clone(&self.session).lock_owned())
    }

    /// Waits for `future`: see [`wait`].
    pub(super) fn wait<T: Send>(
        &self,
        py: Python<'_>,
        future: impl Future<Output = T> + Send,
    ) -> PyResult<T> {
        wait(py, &self.runtime, future)
    }

    /// Waits for the result of a session.
    pub(super) fn result<T: Send>(
        &self,
        py: Python<'_>,
        future: impl Future<Output = Result<T, SessionError>> + Send,
    ) -> PyResult<T> {
        self.wait(py, future)?.map_err(|error| failed(py, &error))
    }
}
