//! The event catalogue as Markdown, from the same types as the schemas: `proto/README.md`.
//!
//! A cell is one line, and characters with a meaning in Markdown are escaped, so that a formatter
//! changes nothing.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::wire::schema;

/// The stored kinds of events: schema, subject, stream and writer.
const STORED: [(&str, &str, &str, &str); 5] = [
    (
        "req",
        "<p>.<tenant>.run.<run>.req",
        "LP_CTL",
        "command lines, gateways and callers of the coordinator's HTTP interface",
    ),
    (
        "ctl",
        "<p>.<tenant>.run.<run>.ctl",
        "LP_CTL",
        "coordinators only",
    ),
    (
        "adm",
        "<p>.<home tenant>.adm",
        "LP_CTL",
        "coordinators of a shared fleet only",
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

/// Type that the catalogue does not describe, since `schema/plan.json` does: compiled Python.
const ONLY_IN_THE_SCHEMA: &str = "Code";

/// Maximum length of a line of prose, in characters.
const COLUMNS_MAX: usize = 100;

/// Words of a field's name that are units; the last one in the name counts.
const UNITS: [(&str, &str); 6] = [
    ("us", "µs"),
    ("bytes", "bytes"),
    ("ppm", "millionths"),
    ("permille", "thousandths"),
    ("millicores", "thousandths of a core"),
    ("tick", "ticks"),
];

const INTRODUCTION: &str = "\
# The event catalogue

Written by `./dev gen` from the Rust types in `proto/events`: never edit it. The schemas are in
`schema/`, one example of each stored form is in `golden/`. `<p>` is the prefix, `lp` by default.

Units: an instant is in µs since the Unix epoch (`Timestamp`), a duration in µs (`…_us`), a rate in
millionths of an arrival per second (`Rate`). A tick is one second, unless the plan sets another
`tick_us`; ticks are counted from the start of the run. Histograms are HdrHistogram V2, deflated, in
base64. A field marked *optional* may be absent.

The types are in `events/`, the pure functions over them (the laws) in `engine/` (start at
`engine/src/lib.rs`), the player of compiled Python in `script/`. No code in this folder does I/O,
reads a clock or the environment, or iterates in hash order.
";

/// Definitions that the events refer to, by name.
type Types = BTreeMap<String, Value>;

/// The catalogue.
///
/// # Panics
/// If one name stands for two types in the schemas of events.
#[must_use]
pub fn markdown() -> String {
    let schemas: BTreeMap<_, _> = schema::all().into_iter().collect();
    let mut types = Types::new();
    let mut sections = String::new();
    for (name, subject, stream, writer) in STORED {
        let schema = &schemas[name];
        let lead = format!("Subject `{subject}`, stream {stream}, written by {writer}.");
        sections.push_str(&format!("\n## `{name}`\n{}", paragraph(&lead)));
        let event = resolve(schema, &schema["properties"]["event"]);
        // A fact names its process beside what it states.
        let what = &event["properties"]["what"];
        let content = if what.is_null() { event } else { what };
        if !what.is_null() {
            sections.push_str("\nBeside the fields of its event, which are in `what`:\n");
            sections.push_str(&fields(event, &["what"]));
            collect(schema, &event["properties"]["boot_id"], &mut types);
        }
        for (event, says, content) in events(schema, resolve(schema, content)) {
            sections.push_str(&format!("\n### `{event}`\n{}", paragraph(&says)));
            sections.push_str(&fields(content, &["type"]));
            collect(schema, &content["properties"], &mut types);
        }
    }
    let envelope = &schemas["delta"];
    collect(envelope, &envelope["properties"]["id"], &mut types);
    let mut text = INTRODUCTION.to_owned();
    text.push_str("\n## The envelope\n");
    text.push_str(&paragraph(&line(&envelope["description"])));
    text.push_str(&fields(envelope, &["event"]));
    text.push_str(&sections);
    text.push_str(&described(&types));
    // Scalars have no heading of their own.
    let scalars = types.iter().filter(|(_, node)| scalar(node));
    scalars.fold(text, |text, (name, _)| {
        text.replace(&format!("](#{})", name.to_lowercase()), "](#scalars)")
    })
}

/// Name, description and content of each event of one kind.
fn events<'a>(schema: &'a Value, event: &'a Value) -> Vec<(&'a str, String, &'a Value)> {
    let Some(variants) = event["oneOf"].as_array() else {
        return vec![("DeltaReported", line(&event["description"]), event)];
    };
    let entry = |variant: &'a Value| {
        let name = text_of(&variant["properties"]["type"]["const"]);
        let content = resolve(schema, variant);
        let mut says = [variant, content]
            .map(|node| line(&node["description"]))
            .into_iter();
        let says = says.find(|says| !says.is_empty()).unwrap_or_default();
        (name, says, content)
    };
    variants.iter().map(entry).collect()
}

/// Adds every definition that a node leads to.
fn collect(schema: &Value, node: &Value, types: &mut Types) {
    if let Some(name) = target(node) {
        let found = resolve(schema, node);
        if name == ONLY_IN_THE_SCHEMA {
            return;
        }
        if let Some(known) = types.get(name) {
            assert_eq!(known, found, "{name} stands for two types");
            return;
        }
        types.insert(name.to_owned(), found.clone());
        collect(schema, found, types);
    }
    match node {
        Value::Array(nodes) => nodes.iter().for_each(|node| collect(schema, node, types)),
        Value::Object(nodes) => nodes.values().for_each(|node| collect(schema, node, types)),
        _ => {}
    }
}

/// The types that events refer to: the scalar ones in one table, then each of the others.
fn described(types: &Types) -> String {
    let mut text = "\n## Scalars\n".to_owned();
    let scalars = types.iter().filter(|(_, node)| scalar(node));
    let row = |(name, node): (&String, &Value)| {
        vec![code(name), type_of(node), line(&node["description"])]
    };
    text.push_str(&table(&["type", "JSON", "meaning"], scalars.map(row)));
    text.push_str("\n## Types\n");
    for (name, node) in types.iter().filter(|(_, node)| !scalar(node)) {
        let says = line(&node["description"]);
        text.push_str(&format!("\n### `{name}`\n{}", paragraph(&says)));
        match variants(node) {
            Some(variants) => text.push_str(&union(variants)),
            None => text.push_str(&fields(node, &[])),
        }
    }
    text
}

/// One row for each field of an object, but for those left out.
fn fields(object: &Value, without: &[&str]) -> String {
    let rows = members(object).filter(|(name, _)| !without.contains(&name.as_str()));
    table(
        &["field", "type", "unit", "meaning"],
        rows.map(|(name, node)| field(object, name, "", node)),
    )
}

/// A field's name, after the path to its object, its type, unit and meaning.
fn field(object: &Value, name: &str, path: &str, node: &Value) -> Vec<String> {
    let required = object["required"].as_array();
    let required = required.is_some_and(|names| names.iter().any(|known| known == name));
    let optional = if required { "" } else { ", optional" };
    vec![
        code(&format!("{path}{name}")),
        format!("{}{optional}", type_of(node)),
        unit(name, node).to_owned(),
        line(&node["description"]),
    ]
}

/// The members of a closed set: values, or forms with fields.
fn union(variants: &[Value]) -> String {
    if variants.iter().all(|variant| !values(variant).is_empty()) {
        let row = |variant| vec![values(variant), line(&variant["description"])];
        return table(&["value", "meaning"], variants.iter().map(row));
    }
    table(
        &["form", "type", "unit", "meaning"],
        variants.iter().flat_map(form),
    )
}

/// The values of a type that lists them; empty for any other.
fn values(node: &Value) -> String {
    let listed = node["enum"].as_array().into_iter().flatten();
    let all = listed.chain(node.get("const"));
    let all: Vec<_> = all.map(|value| code(text_of(value))).collect();
    all.join(", ")
}

/// One form of a closed set that has fields: a row for itself and one for each field.
fn form(variant: &Value) -> Vec<Vec<String>> {
    let says = line(&variant["description"]);
    if let Some(tag) = variant["properties"]["type"]["const"].as_str() {
        let head = vec![
            code(&format!("type: {tag}")),
            "object".into(),
            String::new(),
            says,
        ];
        let rest = members(variant).filter(|(name, _)| *name != "type");
        let rest = rest.map(|(name, node)| field(variant, name, &format!("{tag}."), node));
        return [head].into_iter().chain(rest).collect();
    }
    if variant["properties"].is_null() {
        let value = values(variant);
        let kind = if value.is_empty() {
            type_of(variant)
        } else {
            code("string")
        };
        return vec![vec![value, kind, String::new(), says]];
    }
    let row = |(name, node): (&String, &Value)| {
        let mut head = field(variant, name, "", node);
        head[3] = [says.clone(), line(&node["description"])]
            .join(" ")
            .trim()
            .to_owned();
        let below =
            members(node).map(|(below, deep)| field(node, below, &format!("{name}."), deep));
        [head].into_iter().chain(below).collect::<Vec<_>>()
    };
    members(variant).flat_map(row).collect()
}

fn members(object: &Value) -> impl Iterator<Item = (&String, &Value)> {
    object["properties"].as_object().into_iter().flatten()
}

/// The alternatives of a type, unless the second one only says that it may be absent.
fn variants(node: &Value) -> Option<&Vec<Value>> {
    node["oneOf"]
        .as_array()
        .or_else(|| node["anyOf"].as_array())
}

fn scalar(node: &Value) -> bool {
    variants(node).is_none() && node["properties"].is_null()
}

/// A type in words, with links to those of the catalogue.
fn type_of(node: &Value) -> String {
    if let Some(name) = target(node) {
        return match name {
            ONLY_IN_THE_SCHEMA => format!("[{}](schema/plan.json)", code(name)),
            name => format!("[{}](#{})", code(name), name.to_lowercase()),
        };
    }
    if !values(node).is_empty() {
        return values(node);
    }
    if let Some(first) = variants(node).and_then(|variants| variants.first()) {
        return type_of(first);
    }
    if let Some(parts) = node["prefixItems"].as_array() {
        let parts: Vec<_> = parts.iter().map(primitive).collect();
        return code(&format!("[{}]", parts.join(", ")));
    }
    if !node["items"].is_null() {
        return format!("list of {}", type_of(&node["items"]));
    }
    let by_pattern = node["patternProperties"].as_object();
    let by_pattern = by_pattern.and_then(|patterns| patterns.values().next());
    match by_pattern.unwrap_or(&node["additionalProperties"]) {
        value @ Value::Object(_) => format!("map to {}", type_of(value)),
        _ if node["type"] == "object" => "object".to_owned(),
        _ => code(primitive(node)),
    }
}

/// A primitive type as Rust calls it.
fn primitive(node: &Value) -> &str {
    let kind = node["type"]
        .as_array()
        .map_or(&node["type"], |kinds| &kinds[0]);
    match text_of(&node["format"]) {
        "uint8" => "u8",
        "uint16" => "u16",
        "uint32" => "u32",
        "uint64" => "u64",
        "int8" => "i8",
        "int16" => "i16",
        "int64" => "i64",
        "double" => "f64",
        _ => text_of(kind),
    }
}

/// The unit of a field, from its type or its name; empty for what has none.
fn unit(name: &str, node: &Value) -> &'static str {
    match target(node) {
        Some("Timestamp") => return "µs since the Unix epoch",
        Some("Rate") => return "millionths/s",
        Some("EncodedHistogram") => return "µs",
        _ => {}
    }
    if variants(node).is_some() || !node["items"].is_null() || target(node).is_some() {
        return "";
    }
    let of = |word: &str| UNITS.iter().find(|(known, _)| *known == word);
    name.rsplit('_').find_map(of).map_or("", |(_, unit)| unit)
}

/// The name of the definition that a node refers to.
fn target(node: &Value) -> Option<&str> {
    node["$ref"].as_str()?.strip_prefix("#/$defs/")
}

/// Follows a reference into the schema's definitions.
fn resolve<'a>(schema: &'a Value, node: &'a Value) -> &'a Value {
    target(node).map_or(node, |name| &schema["$defs"][name])
}

/// A Markdown table.
fn table(head: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let rows: Vec<_> = rows
        .map(|cells| format!("| {} |\n", cells.join(" | ")))
        .collect();
    if rows.is_empty() {
        return "\nNo fields.\n".to_owned();
    }
    let rule = vec!["--"; head.len()].join(" | ");
    format!("\n| {} |\n| {rule} |\n{}", head.join(" | "), rows.concat())
}

/// A paragraph, its lines broken before [`COLUMNS_MAX`].
fn paragraph(text: &str) -> String {
    let mut broken = "\n".to_owned();
    let mut columns = 0;
    for word in text.split(' ') {
        let length = word.chars().count();
        if columns > 0 && columns + 1 + length > COLUMNS_MAX {
            broken.push('\n');
            columns = 0;
        } else if columns > 0 {
            broken.push(' ');
            columns += 1;
        }
        broken.push_str(word);
        columns += length;
    }
    broken.push('\n');
    broken
}

/// A description on one line, without the links of Rust's documentation.
fn line(description: &Value) -> String {
    let words: Vec<_> = text_of(description).split_whitespace().collect();
    let text = words.join(" ").replace("[`", "`").replace("`]", "`");
    text.replace("`crate::", "`").replace('|', "\\|")
}

fn code(text: &str) -> String {
    format!("`{text}`")
}

fn text_of(node: &Value) -> &str {
    node.as_str().unwrap_or("")
}
