//! Requests that code makes again: the cache never takes one for another.

use std::rc::Rc;
use std::sync::Arc;

use loadpilot_script::operation::{Completion, Operation, Part, Request};
use loadpilot_script::{CompiledUser, Program};
use serde_json::{Value, json};

use super::{OCCASION, response};

const PATHS: [(&str, &str); 8] = [
    ("int", "/?a=1"),
    ("int", "/?a=1"),
    ("bool", "/?a=true"),
    ("float", "/?a=1.0"),
    ("int", "/?a=1"),
    ("text", "/?a=1"),
    ("zero", "/?a=0.0"),
    ("negative zero", "/?a=-0.0"),
];

fn literal(kind: &str) -> Value {
    match kind {
        "int" => json!({"int": 1}),
        "bool" => json!({"bool": true}),
        "float" => json!({"float": "1.0"}),
        "zero" => json!({"float": "0.0"}),
        "negative zero" => json!({"float": "-0.0"}),
        _ => json!({"text": "1"}),
    }
}

/// A task that sends one request for each of `kinds`, all from one place of its code: singly, or as
/// a batch of one.
fn program(kinds: &[&str], in_batches: bool) -> Rc<Program> {
    let list: Vec<Value> = kinds.iter().map(|kind| literal(kind)).collect();
    let path = json!({"literal": {"text": "/"}});
    let params = json!({"dict": [{"key": "a", "value": {"local": {"local": 0, "line": 2}}}]});
    let entries = json!([{"key": "path", "value": path}, {"key": "params", "value": params}]);
    let send = match in_batches {
        true => json!({"batch": {"requests": {"list": [{"dict": entries}]}, "line": 2}}),
        false => json!({"send": {"method": "GET", "path": path, "line": 2,
            "given": [{"what": "params", "value": params}]}}),
    };
    let each = json!({"for": {"local": 0, "over": {"literal": {"list": list}}, "line": 1,
        "does": [send]}});
    let code = json!({"file": "s.py", "python_minor": 11, "users": 1, "lines": [],
        "tasks": [{"body": {"locals": ["a"], "does": [each]}}]});
    let code = serde_json::from_value(code).expect("code");
    Rc::new(Program::new(&code, "S").expect("a program"))
}

/// All requests of a user, each answered with `head`.
fn requests(user: &mut CompiledUser, head: &[u8]) -> Vec<Arc<Request>> {
    let mut requests = Vec::new();
    let mut operation = user.begin(Part::Task(0), OCCASION);
    loop {
        let completion = match operation {
            Operation::Send(request) => {
                requests.push(request);
                response(head, b"")
            }
            Operation::Batch(all) => {
                requests.extend(all);
                Completion::Batch(vec![response(head, b"")])
            }
            _ => return requests,
        };
        operation = user.resume(completion);
    }
}

/// Broken if values that are equal in Python but different on the wire are sent as one another.
#[test]
fn what_differs_is_made_anew_and_what_is_the_same_is_not() {
    for in_batches in [false, true] {
        let kinds = PATHS.map(|(kind, _)| kind);
        let program = program(&kinds, in_batches);
        let mut user = CompiledUser::new(program, "http://127.0.0.1", Rc::default(), || 0);
        let sent = requests(&mut user, b"HTTP/1.1 200 OK\r\n\r\n");
        let paths: Vec<&str> = sent.iter().map(|request| request.path.as_str()).collect();
        assert_eq!(paths, PATHS.map(|(_, path)| path));
        assert!(Arc::ptr_eq(&sent[0], &sent[1]), "the same is kept");
    }
}

/// Broken if a cookie that is set between two requests is missing in the second, or is sent after
/// it has expired.
#[test]
fn a_cookie_changes_a_request() {
    for in_batches in [false, true] {
        let program = program(&["int", "int"], in_batches);
        let mut user = CompiledUser::new(program, "http://127.0.0.1", Rc::default(), || 0);
        let cookies = |made: &[Arc<Request>]| -> Vec<Option<String>> {
            let cookie =
                |request: &Arc<Request>| request.headers.first().map(|(_, value)| value.clone());
            made.iter().map(cookie).collect()
        };
        let head = |cookie: &str| format!("HTTP/1.1 200 OK\r\nSet-Cookie: {cookie}\r\n\r\n");
        let first = requests(&mut user, head("a=1").as_bytes());
        assert_eq!(cookies(&first), [None, Some("a=1".to_owned())]);
        let second = requests(&mut user, b"HTTP/1.1 200 OK\r\n\r\n");
        assert_eq!(
            cookies(&second),
            [Some("a=1".to_owned()), Some("a=1".to_owned())]
        );
        assert!(
            in_batches || Arc::ptr_eq(&first[1], &second[0]),
            "the same is kept"
        );
        let third = requests(&mut user, head("a=1; Max-Age=0").as_bytes());
        assert_eq!(cookies(&third), [Some("a=1".to_owned()), None]);
    }
}
