//! The requests of a plan that lists them in a file of rows: each is compiled when an arrival takes
//! its row. The calls of a small file are cached. Must never show a row: it may contain private
//! data.

pub(super) mod request_list;

use std::cell::RefCell;
use std::sync::Arc;

use loadpilot_engine::schedule::feed::Feeder;
use loadpilot_engine::schedule::random::DrawScope;
use loadpilot_engine::schedule::workload::Workload;
use loadpilot_events::plan::request_row::RequestRow;
use loadpilot_script::rows::{Row, RowReader};

use super::program::{Call, Compiler, Program};
use crate::fire::arrival_id::ArrivalId;
use crate::users::row_file::{Cursor, RowFile};

/// Maximum number of rows for which a core caches the compiled calls.
const CACHED_ROWS_MAX: u64 = 16_384;
/// Maximum bytes of a file for which a core caches the compiled calls.
const CACHED_BYTES_MAX: u64 = 4 << 20;

impl Program {
    /// Takes the files of the plan's feeds, in their order. The list of requests is in the first
    /// one.
    #[must_use]
    pub(crate) fn with_row_files(mut self, files: &[Option<Arc<RowFile>>]) -> Self {
        if let (Some(list), Some(file)) = (&mut self.requests, files.first()) {
            list.file.clone_from(file);
        }
        self
    }

    /// Compiles the request of a row of the list.
    ///
    /// # Errors
    /// Why it cannot be sent; contains no value of the row.
    pub(crate) fn call_of_row(&self, row: RequestRow) -> Result<Call, String> {
        let list = self.requests.as_ref().ok_or("the plan has no list")?;
        let number = row.step;
        let step = list.steps.get(usize::from(number));
        let step = step.ok_or("names a step that the task does not have")?;
        let compiler = Compiler {
            defaults: &self.defaults,
            secrets: &list.secrets,
            bodies: &list.bodies,
            redactor: &self.redactor,
            follows: self.connections.redirects_max.is_some(),
            is_debugged: self.debug_requests > 0,
        };
        let call = compiler.call(&row.request(step), step.target, number, "request");
        call.map_err(|fault| fault.to_string())
    }
}

/// The requests of one core.
#[derive(Debug)]
pub(crate) struct RequestRows {
    cursor: Cursor,
    feeder: RefCell<Feeder>,
    /// Calls by row; empty for a large file.
    cached: RefCell<Vec<Option<Arc<Call>>>>,
}

impl RequestRows {
    /// The requests of a program, if its plan lists requests and their file was fetched.
    pub(crate) fn of(program: &Program, workload: &Arc<Workload>) -> Option<Self> {
        let list = program.requests.as_ref()?;
        let file = Arc::clone(list.file.as_ref()?);
        let is_small = file.rows() <= CACHED_ROWS_MAX && file.content().bytes <= CACHED_BYTES_MAX;
        let cached = if is_small { file.rows() } else { 0 };
        let cached = vec![None; usize::try_from(cached).unwrap_or(0)];
        Some(Self {
            cursor: Cursor::new(file),
            feeder: RefCell::new(Feeder::new(Arc::clone(workload), 0, &list.rows)),
            cached: RefCell::new(cached),
        })
    }

    /// The call of an arrival.
    ///
    /// # Errors
    /// Why its row is not a request.
    pub(crate) fn call(&self, program: &Program, id: ArrivalId) -> Result<Arc<Call>, String> {
        let scope = match id {
            ArrivalId::Planned(n) => DrawScope::Arrival(n),
            ArrivalId::Iteration { user, k } => DrawScope::Iteration { user, k },
        };
        let row = self.feeder.borrow_mut().row(scope);
        let row = row.map_err(|_| "no request is left for this arrival".to_owned())?;
        let index = usize::try_from(row).unwrap_or(usize::MAX);
        if let Some(Some(call)) = self.cached.borrow().get(index) {
            return Ok(Arc::clone(call));
        }
        let call = self.compiled(program, row);
        let call = call.map_err(|why| format!("request {} of the list: {why}", row + 1))?;
        let call = Arc::new(call);
        if let Some(cached) = self.cached.borrow_mut().get_mut(index) {
            *cached = Some(Arc::clone(&call));
        }
        Ok(call)
    }

    fn compiled(&self, program: &Program, row: u64) -> Result<Call, String> {
        let Row::Json(text) = self.cursor.row(row)? else {
            return Err("is not JSON".to_owned());
        };
        // The error of the parser could show a value.
        let row = serde_json::from_str::<RequestRow>(&text);
        let row = row.map_err(|_| "is no request of a list".to_owned())?;
        program.call_of_row(row)
    }
}
