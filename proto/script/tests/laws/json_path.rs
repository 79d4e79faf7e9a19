//! A direct lookup in JSON gives the same value as a search in the parsed document, or fails in the
//! same words.

use std::rc::Rc;

use loadpilot_script::operation::{Operation, Part};
use loadpilot_script::{CompiledUser, Program};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use super::{OCCASION, response};

/// A subscript, or `get` with or without a default.
#[derive(Debug, Clone)]
enum Look {
    Item(Value),
    Get(Value, Option<Value>),
}

const KEYS: [&str; 4] = ["a", "b", "é", ""];

/// JSON with few different keys, so that keys repeat; some texts are not JSON.
fn texts() -> impl Strategy<Value = String> {
    let leaves = vec![
        "1",
        "-0",
        "2.5e3",
        "\"a\"",
        "\"\\u0061\\n\"",
        "null",
        "true",
        "NaN",
        "\"\\ud800\"",
        "{}",
        "[]",
        "0123",
        "1e",
        "1234567890123456789012345678901234567890123",
    ];
    let leaf = select(leaves).prop_map(str::to_owned);
    let value = leaf.prop_recursive(4, 24, 4, |inner| {
        let key = select(vec!["a", "\\u0061", "b", "é", ""]);
        let entry = (key, inner.clone()).prop_map(|(key, value)| format!("\"{key}\" : {value}"));
        let entries = prop::collection::vec(entry, 0..4);
        let items = prop::collection::vec(inner, 0..4);
        prop_oneof![
            3 => entries.prop_map(|entries| format!("{{ {}\n}}", entries.join(", "))),
            1 => items.prop_map(|items| format!("[{}]", items.join(" ,"))),
        ]
    });
    // Deep enough for paths that continue, and wide enough for repeated keys.
    let value = [value.clone(), value.clone(), value].prop_flat_map(|[one, two, three]| {
        select(vec![
            format!(r#"{{"a": {one}, "a": {two}, "b": {three}}}"#),
            format!(r#"{{"a": {{"a": {one}, "b": {two}}}, "a": {three}}}"#),
            format!("[{one}, {two}, {three}]"),
            one,
        ])
    });
    let damage = prop::option::weighted(
        0.3,
        (
            any::<prop::sample::Index>(),
            select(vec!["", ",", "\"", "}", "x"]),
        ),
    );
    (value, damage).prop_map(|(text, damage)| match damage {
        Some((place, by)) => {
            let signs: Vec<char> = text.chars().collect();
            let place = place.index(signs.len());
            let before: String = signs[..place].iter().collect();
            let behind: String = signs[place + 1..].iter().collect();
            format!("{before}{by}{behind}")
        }
        None => text,
    })
}

fn looks() -> impl Strategy<Value = Vec<Look>> {
    let text = |key: &str| json!({"literal": {"text": key}});
    let default = prop_oneof![
        Just(None),
        Just(Some(json!({"dict": []}))),
        // A variable that was never set: both ways raise an error.
        Just(Some(json!({"local": {"local": 2, "line": 3}}))),
    ];
    let place = || (-2..3i64).prop_map(|place| json!({"literal": {"int": place}}));
    let key = || prop_oneof![3 => select(&KEYS[..]).prop_map(text), 1 => place()];
    let look = prop_oneof![
        4 => key().prop_map(Look::Item),
        1 => (key(), default).prop_map(|(key, default)| Look::Get(key, default)),
    ];
    prop::collection::vec(look, 1..4)
}

fn looked(of: Value, looks: &[Look]) -> Value {
    looks.iter().fold(of, |of, look| match look {
        Look::Item(key) => json!({"item": {"of": of, "key": key, "line": 3}}),
        Look::Get(key, default) => {
            let to = [Some(of), Some(key.clone()), default.clone()];
            let to: Vec<Value> = to.into_iter().flatten().collect();
            json!({"call": {"function": "get", "to": to, "line": 3}})
        }
    })
}

/// The errors of a task that prints two paths into the JSON of its response: looked up in the
/// response, and in a variable that holds all of its JSON.
fn error_of(text: &str, ways: &[Vec<Look>; 2], at_once: bool, minor: u8) -> Option<String> {
    let answer = json!({"answer": {"local": 0, "part": "json", "line": 3}});
    let of = match at_once {
        true => answer.clone(),
        false => json!({"local": {"local": 1, "line": 3}}),
    };
    let shows: Vec<Value> = ways.iter().map(|way| looked(of.clone(), way)).collect();
    let mut does = vec![
        json!({"send": {"method": "GET", "path": {"literal": {"text": "/"}},
        "answer": 0, "line": 2}}),
    ];
    if !at_once {
        does.push(json!({"set": {"local": 1, "to": answer}}));
    }
    let fails = json!({"literal": {"bool": false}});
    does.push(json!({"assert": {"test": fails, "says": {"join": shows}, "line": 3}}));
    let code = json!({"file": "s.py", "python_minor": minor, "users": 1, "lines": [],
        "tasks": [{"body": {"locals": ["answer", "all", "none"], "does": does}}]});
    let code = serde_json::from_value(code).expect("code");
    let program = Rc::new(Program::new(&code, "S").expect("a program"));
    let mut user = CompiledUser::new(program, "http://127.0.0.1", Rc::default(), || 0);
    user.begin(Part::Task(0), OCCASION);
    match user.resume(response(b"HTTP/1.1 200 OK\r\n\r\n", text.as_bytes())) {
        Operation::Ended(ended) => ended.raised,
        other => panic!("it must fail: {other:?}"),
    }
}

proptest! {
    // Most paths lead to no value.
    #![proptest_config(ProptestConfig::with_cases(8_192))]

    #[test]
    fn what_is_looked_up_at_once_is_what_all_of_it_holds(
        text in texts(),
        ways in [looks(), looks()],
        minor in select(vec![11u8, 13]),
    ) {
        let whole = error_of(&text, &ways, false, minor);
        let at_once = error_of(&text, &ways, true, minor);
        // A number that only Python can represent may be at a place that the task does not read.
        let is_beyond = whole.as_ref().is_some_and(|said| said.starts_with("CompiledError"));
        prop_assert!(is_beyond || whole == at_once, "{whole:?}\n{at_once:?}");
    }
}
