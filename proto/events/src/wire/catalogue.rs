//! The event catalogue for people, made from the same types as the schemas: `proto/README.md`.

use std::fmt::Write as _;

use serde_json::Value;

use crate::wire::schema;

/// Which stored kinds there are: schema, subject, stream and writer.
const STORED: [(&str, &str, &str, &str); 4] = [
    (
        "req",
        "<p>.<tenant>.run.<run>.req",
        "LP_CTL",
        "whoever asks",
    ),
    (
        "ctl",
        "<p>.<tenant>.run.<run>.ctl",
        "LP_CTL",
        "coordinators only",
    ),
    (
        "evt",
        "<p>.<tenant>.run.<run>.evt.<agent>",
        "LP_CTL",
        "that agent",
    ),
    (
        "delta",
        "<p>.<tenant>.run.<run>.delta.<agent>",
        "LP_DATA",
        "that agent",
    ),
];

const INTRODUCTION: &str = "\
# The event catalogue

Written by `./dev gen` from the Rust types in `proto/events`: never edit it. Every stored event is
an envelope `{v, id, at, event}` in JSON; the schemas are in `schema/`, one example of each in
`golden/`. Times are µs since the Unix epoch, durations µs, rates millionths per second. Histograms
are HdrHistogram V2 deflate in base64. `<p>` is the prefix, `lp` by default.

The nouns are in `events/`, the laws over them in `engine/` (start at `engine/src/lib.rs`). Nothing
in this folder does I/O, reads a clock or the environment, or iterates in hash order.
";

/// The catalogue.
#[must_use]
pub fn markdown() -> String {
    let schemas = schema::all();
    let find = |name: &str| {
        schemas
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, s)| s)
    };
    let mut text = INTRODUCTION.to_owned();
    for (name, subject, stream, writer) in STORED {
        let head =
            format!("\n## `{name}`\n\nSubject `{subject}`, stream {stream}, written by {writer}.");
        text.push_str(&head);
        text.push_str("\n\n| event | says | fields |\n| --- | --- | --- |\n");
        if let Some(schema) = find(name) {
            for row in rows(schema) {
                text.push_str(&row);
            }
        }
    }
    text
}

/// One row per event type of an envelope's schema.
fn rows(schema: &Value) -> Vec<String> {
    let event = resolve(schema, &schema["properties"]["event"]);
    // A fact names its process beside what it states.
    let event = match &event["properties"]["what"] {
        Value::Null => event,
        what => resolve(schema, what),
    };
    match event["oneOf"].as_array() {
        Some(variants) => variants
            .iter()
            .map(|variant| row(schema, variant))
            .collect(),
        None => vec![line("DeltaReported", event)],
    }
}

fn row(schema: &Value, variant: &Value) -> String {
    let name = variant["properties"]["type"]["const"]
        .as_str()
        .unwrap_or("?");
    let content = resolve(schema, variant);
    let says = variant["description"]
        .as_str()
        .or_else(|| content["description"].as_str());
    let mut merged = content.clone();
    merged["description"] = Value::from(says.unwrap_or(""));
    line(name, &merged)
}

fn line(name: &str, content: &Value) -> String {
    let says = content["description"]
        .as_str()
        .unwrap_or("")
        .replace('\n', " ");
    let properties = content["properties"].as_object();
    let fields = properties
        .into_iter()
        .flatten()
        .filter(|(field, _)| *field != "type");
    let mut list = String::new();
    for (field, _) in fields {
        let separator = if list.is_empty() { "" } else { ", " };
        write!(list, "{separator}`{field}`").expect("writing to a String cannot fail");
    }
    format!("| `{name}` | {says} | {list} |\n")
}

/// Follows a `$ref` into the schema's definitions.
fn resolve<'a>(schema: &'a Value, node: &'a Value) -> &'a Value {
    let name = node["$ref"]
        .as_str()
        .and_then(|path| path.strip_prefix("#/$defs/"));
    name.map_or(node, |name| &schema["$defs"][name])
}
