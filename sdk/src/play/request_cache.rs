//! Cache of the requests that tasks create, by the arguments of the call.
//!
//! Must never run a user's code while it reads the arguments, nor return a different request.

use std::cell::RefCell;
use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;

use bytes::Bytes;
use hashbrown::{DefaultHashBuilder, HashTable};
use loadpilot_agent::users::script::Request;
use loadpilot_events::plan::Method;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use super::request::PyRequest;

/// Maximum number of cached requests.
const CACHED_MAX: usize = 16 << 10;
/// Maximum bytes of the body of a cached request.
const BODY_BYTES_MAX: usize = 1 << 10;

/// Requests that users created before. Most users create few different ones, and the load engine
/// compiles each object once.
#[derive(Default)]
pub(super) struct RequestCache {
    table: RefCell<HashTable<Py<PyRequest>>>,
    hasher: DefaultHashBuilder,
}

impl RequestCache {
    /// A request that needs no encoding; `None` if it may need some, which Python decides.
    pub(super) fn simple<'py>(
        &self,
        method: Method,
        path: &Bound<'py, PyAny>,
        extras: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Option<Bound<'py, PyRequest>>> {
        let py = path.py();
        let Some(path) = text(path).filter(|path| is_plain(path)) else {
            return Ok(None);
        };
        let Some(hash) = self.hash_of_simple(method, path, extras) else {
            return Ok(None);
        };
        {
            let table = self.table.borrow();
            let matches = |cached: &Py<PyRequest>| is_same(&cached.get().0, method, path, extras);
            if let Some(cached) = table.find(hash, matches) {
                return Ok(Some(cached.bind(py).clone()));
            }
        }
        let mut request = Request::new(method, path.to_owned());
        let built = each(extras, |argument| match argument {
            Argument::Header(name, value) => {
                request.headers.push((name.to_owned(), value.to_owned()))
            }
            Argument::Name(name) => request.name = Some(name.to_owned()),
        });
        match built {
            Some(()) => Ok(Some(self.store(py, hash, request)?)),
            None => Ok(None),
        }
    }

    /// The cached request that equals this one, or this one, which is cached then.
    pub(super) fn shared<'py>(
        &self,
        request: Bound<'py, PyRequest>,
    ) -> PyResult<Bound<'py, PyRequest>> {
        let (py, content) = (request.py(), &request.get().0);
        let body_bytes = content.body.as_ref().map_or(0, Bytes::len);
        if body_bytes > BODY_BYTES_MAX {
            return Ok(request);
        }
        let hash = self.hash_of(content);
        let matches = |cached: &Py<PyRequest>| cached.get().0 == *content;
        if let Some(cached) = self.table.borrow().find(hash, matches) {
            return Ok(cached.bind(py).clone());
        }
        self.insert(hash, request.clone().unbind());
        Ok(request)
    }

    fn store<'py>(
        &self,
        py: Python<'py>,
        hash: u64,
        request: Request,
    ) -> PyResult<Bound<'py, PyRequest>> {
        let request = Bound::new(py, PyRequest(Arc::new(request)))?;
        self.insert(hash, request.clone().unbind());
        Ok(request)
    }

    fn insert(&self, hash: u64, request: Py<PyRequest>) {
        let mut table = self.table.borrow_mut();
        if table.len() >= CACHED_MAX {
            // A task whose requests all differ must not fill the memory.
            table.clear();
        }
        table.insert_unique(hash, request, |cached| self.hash_of(&cached.get().0));
    }

    fn hash_of(&self, request: &Request) -> u64 {
        let mut hash = Hash::new(self, request.method, &request.path);
        for (name, value) in &request.headers {
            hash.add(Argument::Header(name, value));
        }
        if let Some(name) = &request.name {
            hash.add(Argument::Name(name));
        }
        hash.end(request.body.as_deref())
    }

    fn hash_of_simple(
        &self,
        method: Method,
        path: &str,
        extras: Option<&Bound<'_, PyDict>>,
    ) -> Option<u64> {
        let mut hash = Hash::new(self, method, path);
        each(extras, |argument| hash.add(argument))?;
        Some(hash.end(None))
    }
}

/// Hash of a request; independent of the order of name and headers.
struct Hash {
    hasher: <DefaultHashBuilder as BuildHasher>::Hasher,
    name_bytes: usize,
}

impl Hash {
    fn new(cache: &RequestCache, method: Method, path: &str) -> Self {
        let mut hasher = cache.hasher.build_hasher();
        hasher.write_u8(method as u8);
        hasher.write(path.as_bytes());
        Self {
            hasher,
            name_bytes: 0,
        }
    }

    fn add(&mut self, argument: Argument<'_>) {
        match argument {
            Argument::Header(name, value) => {
                self.hasher.write(name.as_bytes());
                self.hasher.write(value.as_bytes());
            }
            Argument::Name(name) => self.name_bytes = name.len() + 1,
        }
    }

    fn end(mut self, body: Option<&[u8]>) -> u64 {
        self.hasher.write_usize(self.name_bytes);
        self.hasher.write(body.unwrap_or_default());
        self.hasher.finish()
    }
}

/// One argument of a request beside its path.
enum Argument<'a> {
    Header(&'a str, &'a str),
    Name(&'a str),
}

/// Visits the arguments of a request beside its path; `None` at the first one that needs encoding.
fn each(extras: Option<&Bound<'_, PyDict>>, mut visit: impl FnMut(Argument<'_>)) -> Option<()> {
    for (key, value) in extras.into_iter().flatten() {
        match text(&key)? {
            "headers" => {
                for (name, value) in value.cast::<PyDict>().ok()? {
                    visit(Argument::Header(text(&name)?, text(&value)?));
                }
            }
            "name" => visit(Argument::Name(text(&value)?)),
            _ => return None,
        }
    }
    Some(())
}

/// Whether a request has exactly these arguments.
fn is_same(
    request: &Request,
    method: Method,
    path: &str,
    extras: Option<&Bound<'_, PyDict>>,
) -> bool {
    let is_bare =
        request.body.is_none() && request.timeout_us.is_none() && request.stream.is_none();
    if !is_bare || request.method != method || request.path != path {
        return false;
    }
    let (mut headers, mut has_name, mut is_same) = (request.headers.iter(), false, true);
    let read = each(extras, |argument| match argument {
        Argument::Header(name, value) => {
            let header = headers.next();
            is_same &= header.is_some_and(|(n, v)| n == name && v == value);
        }
        Argument::Name(name) => {
            has_name = true;
            is_same &= request.name.as_deref() == Some(name);
        }
    });
    let is_whole = headers.next().is_none() && has_name == request.name.is_some();
    read.is_some() && is_same && is_whole
}

fn text<'a>(value: &'a Bound<'_, PyAny>) -> Option<&'a str> {
    value.cast::<PyString>().ok()?.to_str().ok()
}

/// Whether a path needs no encoding.
fn is_plain(path: &str) -> bool {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"/-_~?=&.,:@".contains(&b);
    path.starts_with('/')
        && path.bytes().all(is_plain)
        && !path.starts_with("//")
        && !path.contains("/.")
}
