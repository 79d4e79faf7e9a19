//! Several requests at a time: dicts as `client.batch()` takes them, and what became of them.

use std::rc::Rc;

use loadpilot_events::plan::Method;
use loadpilot_events::plan::code::Extra;

use super::response::Answer;
use crate::program::{Cookies, Wish, made};
use crate::values::exceptions::{Halt, Kind, beyond, type_error, value_error};
use crate::values::value::{Dict, Value};

/// Most requests that a user makes at a time.
const BATCH_MAX: usize = 100;

/// The requests that a list of dicts asks for.
pub(crate) fn wishes(
    requests: &Value,
    steps: &str,
    cookies: &Cookies<'_>,
) -> Result<Vec<Rc<Wish>>, Halt> {
    let Value::List(list) = requests else {
        return Err(beyond("a batch that is no list"));
    };
    let mut wishes = Vec::with_capacity(list.items.len().min(BATCH_MAX));
    for one in &list.items {
        if wishes.len() >= BATCH_MAX {
            let rule = format!("client.batch() takes at most {BATCH_MAX} requests at a time");
            return Err(value_error(rule));
        }
        let Value::Dict(one) = one else {
            let rule = "client.batch() takes dicts such as {\"path\": \"/a\"}";
            return Err(type_error(rule));
        };
        wishes.push(Rc::new(wish(one, steps, cookies)?));
    }
    Ok(wishes)
}

fn wish(one: &Dict, steps: &str, cookies: &Cookies<'_>) -> Result<Wish, Halt> {
    let mut method = Method::Get;
    let mut given = Vec::new();
    for (key, value) in one.entries() {
        let what = match (&**key, value) {
            ("path", _) => continue,
            ("method", Value::Text(name)) => {
                let named = Method::named(name);
                method = named.ok_or_else(|| beyond("a request of a batch with another method"))?;
                continue;
            }
            ("params", _) => Extra::Params,
            ("headers", _) => Extra::Headers,
            ("json", _) => Extra::Json,
            ("data", _) => Extra::Data,
            ("content", _) => Extra::Content,
            ("name", _) => Extra::Name,
            _ => return Err(beyond("a request of a batch with other parts")),
        };
        given.push((what, value));
    }
    let path = one.get("path");
    let path = path.ok_or_else(|| beyond("a request of a batch without a path"))?;
    let get = |what: Extra| {
        let found = given.iter().find(|(known, _)| *known == what);
        found.map(|(_, value)| *value)
    };
    made((method, path), &get, steps, None, Some(cookies)).map(|(wish, _)| wish)
}

/// The answer at a place of several, from the end when it is negative.
pub(crate) fn picked(answers: &[Rc<Answer>], place: i64) -> Result<Rc<Answer>, Halt> {
    let length = i64::try_from(answers.len()).unwrap_or(i64::MAX);
    let place = if place < 0 { place + length } else { place };
    let found = usize::try_from(place)
        .ok()
        .and_then(|place| answers.get(place));
    let found = found.cloned();
    found.ok_or_else(|| Halt::new(Kind::IndexError, "list index out of range"))
}
