//! Path, query, headers and body of a computed request: the same bytes and errors as the Python
//! client (`loadpilot.request.encoding`, `loadpilot.play.conversation`).

use std::fmt::Write as _;

use crate::values::exceptions::{Exception, type_error, unsupported, value_error};
use crate::values::json_dumps::dumps;
use crate::values::repr::{repr, str};
use crate::values::value::Value;

/// A body and the content type that it implies.
pub(crate) type Body = Option<(Vec<u8>, Option<&'static str>)>;

/// The path on the wire.
pub(crate) fn path(path: &Value, params: Option<&Value>) -> Result<String, Exception> {
    let params = params.filter(|params| params.is_true());
    let Value::Text(text) = path else {
        if params.is_none() && matches!(path, Value::List(_) | Value::Dict(_)) {
            // The Python client caches paths that it encoded.
            return Err(type_error(format!("unhashable type: '{}'", path.kind())));
        }
        return Err(value_error(format!(
            "the path must be text, not {}",
            path.kind()
        )));
    };
    let whole = match text.starts_with('/') || text.contains("://") {
        true => text.to_string(),
        false => format!("/{text}"),
    };
    refuse(&whole)?;
    let (base, query) = match whole.split_once('?') {
        Some((base, query)) => (base, Some(query)),
        None => (&whole[..], None),
    };
    let mut queries = Vec::new();
    if let Some(query) = query.filter(|query| !query.is_empty()) {
        queries.push(quoted(query, ""));
    }
    if let Some(params) = params {
        queries.push(quoted(&form(params, "params")?, ""));
    }
    let base = quoted(base, "?`{}");
    match queries.is_empty() && query.is_none() {
        true => Ok(base),
        false => Ok(format!("{base}?{}", queries.join("&"))),
    }
}

fn refuse(path: &str) -> Result<(), Exception> {
    let shown = || repr(&Value::text(path));
    let scheme = path.split(':').next().unwrap_or_default();
    let is_letter = |c: char| c.is_ascii_alphanumeric() || "+.-".contains(c);
    let is_whole = scheme.len() < path.len()
        && scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(is_letter);
    if is_whole {
        let rule = "is a whole URL; paths are relative to --target, so write /…";
        return Err(value_error(format!("{} {rule}", shown()?)));
    }
    let wrong =
        |rule: &str| Ok::<_, Exception>(value_error(format!("the path {} {rule}", shown()?)));
    if !path.starts_with('/') {
        return Err(wrong("must begin with /")?);
    }
    if path.starts_with("//") {
        return Err(wrong("must not begin with //, which names another host")?);
    }
    if let Some(bad) = path.chars().find(|&c| c < ' ' || c == '\u{7f}') {
        let bad = repr(&Value::text(bad.encode_utf8(&mut [0; 4])))?;
        return Err(wrong(&format!("holds the control character {bad}"))?);
    }
    if path.contains('#') {
        return Err(wrong("holds a #, and what follows it is never sent")?);
    }
    let base = path.split('?').next().unwrap_or_default();
    if base.split('/').any(|segment| matches!(segment, "." | "..")) {
        return Err(wrong(
            "holds . or .. segments; write the path that is meant",
        )?);
    }
    Ok(())
}

/// Percent-encodes the characters that a query must not contain, and those of `more`.
fn quoted(text: &str, more: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c.is_ascii_graphic() && !"\"#<>".contains(c) && !more.contains(c) {
            true => out.push(c),
            false => percent(c, &mut out),
        }
    }
    out
}

fn percent(c: char, out: &mut String) {
    for byte in c.encode_utf8(&mut [0; 4]).bytes() {
        write!(out, "%{byte:02X}").expect("a String takes what is written");
    }
}

/// The fields of a query or form; a list repeats its field.
fn form(fields: &Value, name: &str) -> Result<String, Exception> {
    let mut pairs = Vec::new();
    let mut add = |key: String, value: &Value| {
        match value {
            Value::List(list) => {
                for item in &list.items {
                    pairs.push((key.clone(), primitive(item, name)?));
                }
            }
            value => pairs.push((key, primitive(value, name)?)),
        }
        Ok::<_, Exception>(())
    };
    match fields {
        Value::Dict(dict) => {
            for (key, value) in dict.entries() {
                add(key.to_string(), value)?;
            }
        }
        Value::List(list) if list.items.iter().all(is_pair) => {
            for pair in &list.items {
                if let Value::List(pair) = pair {
                    add(str(&pair.items[0])?, &pair.items[1])?;
                }
            }
        }
        other => {
            let kind = other.kind();
            return Err(value_error(format!(
                "{name}= must be a dict of fields, not {kind}"
            )));
        }
    }
    let plus = |text: &str| {
        let mut out = String::new();
        for c in text.chars() {
            match c {
                ' ' => out.push('+'),
                c if c.is_ascii_alphanumeric() || "_.-~".contains(c) => out.push(c),
                c => percent(c, &mut out),
            }
        }
        out
    };
    let pairs = pairs.iter();
    let pairs: Vec<String> = pairs
        .map(|(key, value)| format!("{}={}", plus(key), plus(value)))
        .collect();
    Ok(pairs.join("&"))
}

fn is_pair(value: &Value) -> bool {
    matches!(value, Value::List(pair) if pair.items.len() == 2)
}

fn primitive(value: &Value, name: &str) -> Result<String, Exception> {
    match value {
        Value::Bool(true) => Ok("true".to_owned()),
        Value::Bool(false) => Ok("false".to_owned()),
        Value::None => Ok(String::new()),
        Value::Text(_) | Value::Int(_) | Value::Float(_) => str(value),
        Value::List(_) | Value::Dict(_) => {
            let kind = value.kind();
            let rule = "fields are text, numbers or booleans";
            Err(value_error(format!("{name}= holds a {kind}; {rule}")))
        }
    }
}

/// The body of `json=`, `data=` or `content=`.
pub(crate) fn body(
    json: Option<&Value>,
    data: Option<&Value>,
    content: Option<&Value>,
) -> Result<Body, Exception> {
    let given = [("json", json), ("data", data), ("content", content)];
    let is_given = |(name, value): (_, Option<&_>)| match value {
        None | Some(Value::None) => None,
        Some(value) => Some((name, value.clone())),
    };
    let given: Vec<(&str, Value)> = given.into_iter().filter_map(is_given).collect();
    let (name, value) = match &given[..] {
        [] => return Ok(None),
        [one] => one,
        several => {
            let names: Vec<&str> = several.iter().map(|(name, _)| *name).collect();
            let names = names.join(" and ");
            return Err(value_error(format!(
                "a request has one body, but {names} are given"
            )));
        }
    };
    match (*name, value) {
        ("json", value) => {
            let text = dumps(value)?;
            Ok(Some((text.into_bytes(), Some("application/json"))))
        }
        (_, Value::Text(text)) if text.is_empty() => Ok(None),
        (_, Value::Text(text)) => Ok(Some((text.as_bytes().to_vec(), None))),
        ("data", Value::Dict(dict)) if dict.entries().is_empty() => Ok(None),
        ("data", Value::Dict(_)) => {
            let text = form(value, "data")?;
            let kind = "application/x-www-form-urlencoded";
            Ok(Some((text.into_bytes(), Some(kind))))
        }
        ("data", other) => {
            let kind = other.kind();
            let rule = "data= must be a dict of fields, text or bytes, not a";
            Err(value_error(format!("{rule} {kind}")))
        }
        (name, other) => {
            let kind = other.kind();
            let rule = "must be text, bytes or file(…), not a";
            Err(value_error(format!("{name}= {rule} {kind}")))
        }
    }
}

/// Header lines in order.
pub(crate) fn headers(given: Option<&Value>) -> Result<Vec<(String, String)>, Exception> {
    match given {
        None | Some(Value::None) => Ok(Vec::new()),
        Some(Value::Dict(dict)) => {
            let line = |(name, value): &(std::rc::Rc<str>, Value)| match value {
                Value::Text(value) => Ok((name.to_string(), value.to_string())),
                _ => {
                    let name = repr(&Value::Text(name.clone()))?;
                    Err(type_error(format!(
                        "header {name} must have text as its value"
                    )))
                }
            };
            dict.entries().iter().map(line).collect()
        }
        Some(_) => Err(unsupported("headers= that is no dict")),
    }
}

/// Name of the request in reports.
pub(crate) fn name(given: Option<&Value>) -> Result<Option<String>, Exception> {
    match given {
        None | Some(Value::None) => Ok(None),
        Some(Value::Text(name)) => Ok(Some(name.to_string())),
        Some(other) => Err(type_error(format!(
            "name= must be text, not {}",
            other.kind()
        ))),
    }
}
