//! Sampled calls as text, one line each: a table with a header, vegeta's results, or JSON lines.

use std::fmt::Write as _;

use serde::Serialize;

use super::cell::cell;
use super::vegeta::DueOrder;
use super::{SampleRow, SampleTable, arrival, vegeta};

/// The first line of the table: the names of its columns.
const HEADER: &str = "due,arrival,task,call,status,outcome,response_us,service_us,\
                      first_byte_us,bytes_out,bytes_in,connection,agent,planned_rate,trace_id\r\n";

/// A form of text, with what its next line depends on.
#[derive(Debug, Clone, Default)]
pub enum SampleText {
    /// A table with a header.
    #[default]
    Table,
    /// Results of vegeta as CSV: response times from due, numbered in the order of their due times.
    Vegeta(DueOrder),
    /// One JSON object a line.
    JsonLines,
}

impl SampleText {
    /// What comes before the first row.
    #[must_use]
    pub fn header(&self) -> &'static str {
        match self {
            Self::Table => HEADER,
            Self::Vegeta(_) | Self::JsonLines => "",
        }
    }

    /// Whether every row must be announced before the first line is written.
    #[must_use]
    pub fn needs_order(&self) -> bool {
        matches!(self, Self::Vegeta(_))
    }

    /// Announces a row.
    pub fn announce(&mut self, row: &SampleRow<'_>) {
        if let Self::Vegeta(order) = self {
            order.add(row);
        }
    }

    /// Ends the announcements.
    pub fn announced(&mut self) {
        if let Self::Vegeta(order) = self {
            order.sort();
        }
    }

    /// Appends the line of a row.
    ///
    /// # Panics
    /// Never: a row has a JSON form, and memory takes every write.
    pub fn line(&mut self, table: &SampleTable, row: &SampleRow<'_>, text: &mut String) {
        match self {
            Self::Table => table_line(table, row, text),
            Self::Vegeta(order) => {
                vegeta::line(row, table.plan.tasks.len(), order.number(row), text);
            }
            Self::JsonLines => {
                let line = JsonLine::of(table, row);
                text.push_str(&serde_json::to_string(&line).expect("a row has a JSON form"));
                text.push('\n');
            }
        }
    }
}

fn table_line(table: &SampleTable, row: &SampleRow<'_>, text: &mut String) {
    let sample = row.sample;
    let due_ns = u128::from(row.due.0) * 1_000;
    let (arrival, task, call) = (arrival(sample), cell(row.task), cell(row.call));
    let connection = match sample.reused {
        None => "",
        Some(true) => "reused",
        Some(false) => "opened",
    };
    let cells = format_args!(
        "{due_ns},{arrival},{task},{call},{},{},{},{},{},{},{},{connection},{},{},{}\r\n",
        maybe(sample.status.map(u64::from)),
        sample.outcome.name(),
        sample.response_us,
        sample.service_us,
        maybe(sample.first_byte_us),
        sample.sent_bytes,
        sample.received_bytes,
        cell(row.agent.as_str()),
        table.planned_rate(sample.due_us).unwrap_or_default(),
        table.trace_id(sample).unwrap_or_default(),
    );
    text.write_fmt(cells)
        .expect("a String takes what is written");
}

fn maybe(number: Option<u64>) -> String {
    number.map_or_else(String::new, |number| number.to_string())
}

/// A row as a JSON object.
#[derive(Serialize)]
struct JsonLine<'a> {
    due_us: u64,
    arrival: String,
    task: &'a str,
    call: &'a str,
    status: Option<u16>,
    outcome: &'static str,
    response_us: u64,
    service_us: u64,
    first_byte_us: Option<u64>,
    bytes_out: u64,
    bytes_in: u64,
    reused: Option<bool>,
    agent: &'a str,
    planned_rate: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trace_id: Option<String>,
}

impl<'a> JsonLine<'a> {
    fn of(table: &SampleTable, row: &SampleRow<'a>) -> Self {
        let sample = row.sample;
        Self {
            due_us: row.due.0,
            arrival: arrival(sample),
            task: row.task,
            call: row.call,
            status: sample.status,
            outcome: sample.outcome.name(),
            response_us: sample.response_us,
            service_us: sample.service_us,
            first_byte_us: sample.first_byte_us,
            bytes_out: sample.sent_bytes,
            bytes_in: sample.received_bytes,
            reused: sample.reused,
            agent: row.agent.as_str(),
            planned_rate: table
                .planned_rate(sample.due_us)
                .and_then(|rate| rate.parse().ok()),
            trace_id: table.trace_id(sample),
        }
    }
}
