//! The control port: one command per line, one JSON object per line in reply. It has a listener of
//! its own, so that counted traffic cannot reach it.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use crate::behaviour::Rule;
use crate::clock::Moment;
use crate::freeze::{Start, Window};
use crate::kernel;
use crate::ledger::Of;
use crate::line_parser::LineParser;
use crate::record::push_json_string;
use crate::state::Shared;

/// Accepts control connections, one thread each, so that a waiting command blocks no other.
pub(crate) fn run(shared: &Arc<Shared>, listener: &TcpListener) {
    for stream in listener.incoming() {
        let stream = stream.unwrap_or_else(|e| kernel::die("control accept", &e));
        let shared = Arc::clone(shared);
        thread::Builder::new()
            .spawn(move || converse(&shared, &stream))
            .map(drop)
            .unwrap_or_else(|e| kernel::die("control thread", &e));
    }
}

fn converse(shared: &Shared, stream: &TcpStream) {
    let _ = stream.set_nodelay(true);
    let mut out = stream;
    for line in BufReader::new(stream).lines() {
        let Ok(line) = line else { return };
        let answer = obey(shared, &line) + "\n";
        if out.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

/// Executes one line. The reply is `{"ok":true,…}` or `{"ok":false,"error":"…"}`.
pub(crate) fn obey(shared: &Shared, line: &str) -> String {
    match act(shared, line) {
        Ok(fields) => format!("{{\"ok\":true{fields}}}"),
        Err(error) => {
            let mut answer = String::from("{\"ok\":false,\"error\":");
            push_json_string(&mut answer, &error);
            answer.push('}');
            answer
        }
    }
}

/// Sets a behaviour; these lines are also allowed before the start.
pub(crate) fn configure(shared: &Shared, line: &str) -> Result<(), String> {
    let mut words = LineParser::new(line);
    match words.keyword()? {
        "freeze" => freeze(shared, words),
        "slow-accept" => {
            let pause = words.value().and_then(crate::line_parser::parse_ms)?;
            words.finish()?;
            let pause_us = u64::try_from(pause.as_micros()).expect("at most a day");
            shared.accept_delay_us.store(pause_us, Ordering::Relaxed);
            Ok(())
        }
        _ => {
            shared.behaviour().add(Rule::parse(line)?);
            Ok(())
        }
    }
}

/// Executes a line; returns further fields of the reply, each with a leading comma.
fn act(shared: &Shared, line: &str) -> Result<String, String> {
    let mut words = LineParser::new(line);
    match words.keyword()? {
        "wait-count" => return wait_count(shared, words),
        "count" => return words.finish().map(|()| counts(shared)),
        "freezes" => return words.finish().map(|()| freezes(shared)),
        "flush" => {
            return words
                .finish()
                .map(|()| shared.ledger.flush())
                .map(|()| String::new());
        }
        "unfreeze" => words.finish().map(|()| shared.freezer.lift())?,
        "clear" => {
            words.finish()?;
            shared.behaviour().clear();
            shared.accept_delay_us.store(0, Ordering::Relaxed);
        }
        "refuse" => words.finish().and_then(|()| shared.set_door(false))?,
        "accept" => words.finish().and_then(|()| shared.set_door(true))?,
        _ => configure(shared, line)?,
    }
    Ok(String::new())
}

/// `freeze [after_first_ms=T] [for_ms=D]`.
fn freeze(shared: &Shared, mut words: LineParser<'_>) -> Result<(), String> {
    let after_first = words.option_ms("after_first_ms")?;
    let lasting = words.option_ms("for_ms")?;
    words.finish()?;
    let start = after_first.map_or_else(|| Start::At(Moment::now()), Start::AfterFirst);
    shared.freezer.add(Window { start, lasting });
    Ok(())
}

/// `wait-count N timeout_ms=T [of=received|ended]`.
fn wait_count(shared: &Shared, mut words: LineParser<'_>) -> Result<String, String> {
    let wanted = words.value()?;
    let wanted: u64 = wanted
        .parse()
        .map_err(|_| format!("{wanted:?} is not a count"))?;
    let timeout: Duration = words
        .option_ms("timeout_ms")?
        .ok_or_else(|| "timeout_ms is missing".to_owned())?;
    let of = match words.option("of") {
        None | Some("received") => Of::Received,
        Some("ended") => Of::Ended,
        Some(other) => return Err(format!("of={other:?} is neither received nor ended")),
    };
    words.finish()?;
    let reached = shared.ledger.wait_count(of, wanted, timeout);
    Ok(format!(",\"reached\":{reached}{}", counts(shared)))
}

fn counts(shared: &Shared) -> String {
    let counts = shared.ledger.counts();
    format!(
        ",\"received\":{},\"ended\":{},\"broken\":{},\"first_us\":{},\"last_us\":{},\
         \"connections\":{},\"connections_open\":{}",
        counts.received,
        counts.ended,
        counts.broken,
        or_null(counts.first_us),
        or_null(counts.last_us),
        shared.accepted.load(Ordering::Relaxed),
        shared.connected.load(Ordering::Relaxed),
    )
}

fn freezes(shared: &Shared) -> String {
    let first = shared.ledger.first();
    let windows: Vec<String> = shared
        .freezer
        .windows()
        .iter()
        .map(|window| {
            let bounds = window.bounds(first);
            let from = bounds.map(|(from, _)| from.wall_us);
            let until = bounds
                .and_then(|(_, until)| until)
                .map(|until| until.wall_us);
            format!("[{},{}]", or_null(from), or_null(until))
        })
        .collect();
    format!(",\"freezes\":[{}]", windows.join(","))
}

fn or_null(number: Option<u64>) -> String {
    number.map_or_else(|| "null".to_owned(), |number| number.to_string())
}
