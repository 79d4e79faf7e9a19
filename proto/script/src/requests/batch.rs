//! Several requests at a time: the dicts of `client.batch()`, and their responses.

use std::rc::Rc;
use std::sync::Arc;

use loadpilot_events::plan::Method;
use loadpilot_events::plan::code::Extra;

use super::cookies::Cookies;
use super::response::ResponseView;
use super::template;
use crate::operation::Request;
use crate::values::exceptions::{Exception, Kind, type_error, unsupported, value_error};
use crate::values::value::{Dict, Value};

/// Maximum number of requests in a batch.
const BATCH_MAX: usize = 100;

/// The requests of a list of dicts.
pub(crate) fn requests(
    list: &Value,
    steps: &str,
    cookies: &Cookies<'_>,
) -> Result<Vec<Arc<Request>>, Exception> {
    let Value::List(list) = list else {
        return Err(unsupported("a batch that is no list"));
    };
    let mut requests = Vec::with_capacity(list.items.len().min(BATCH_MAX));
    for one in &list.items {
        if requests.len() >= BATCH_MAX {
            let rule = format!("client.batch() takes at most {BATCH_MAX} requests at a time");
            return Err(value_error(rule));
        }
        let Value::Dict(one) = one else {
            let rule = "client.batch() takes dicts such as {\"path\": \"/a\"}";
            return Err(type_error(rule));
        };
        requests.push(Arc::new(request(one, steps, cookies)?));
    }
    Ok(requests)
}

fn request(one: &Dict, steps: &str, cookies: &Cookies<'_>) -> Result<Request, Exception> {
    let mut method = Method::Get;
    let mut extras = Vec::new();
    for (key, value) in one.entries() {
        let what = match (&**key, value) {
            ("path", _) => continue,
            ("method", Value::Text(name)) => {
                let named = Method::named(name);
                method =
                    named.ok_or_else(|| unsupported("a request of a batch with another method"))?;
                continue;
            }
            ("params", _) => Extra::Params,
            ("headers", _) => Extra::Headers,
            ("json", _) => Extra::Json,
            ("data", _) => Extra::Data,
            ("content", _) => Extra::Content,
            ("name", _) => Extra::Name,
            _ => return Err(unsupported("a request of a batch with other parts")),
        };
        extras.push((what, value));
    }
    let path = one.get("path");
    let path = path.ok_or_else(|| unsupported("a request of a batch without a path"))?;
    let get = |what: Extra| {
        let found = extras.iter().find(|(known, _)| *known == what);
        found.map(|(_, value)| *value)
    };
    let made = template::request((method, path), &get, steps, None, Some(cookies));
    made.map(|(request, _)| request)
}

/// The response at an index, from the end if it is negative.
pub(crate) fn picked(
    responses: &[Rc<ResponseView>],
    index: i64,
) -> Result<Rc<ResponseView>, Exception> {
    let length = i64::try_from(responses.len()).unwrap_or(i64::MAX);
    let index = if index < 0 { index + length } else { index };
    let found = usize::try_from(index)
        .ok()
        .and_then(|index| responses.get(index));
    let found = found.cloned();
    found.ok_or_else(|| Exception::new(Kind::IndexError, "list index out of range"))
}
