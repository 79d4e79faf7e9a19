//! Sampled calls as columns of numbers, for data frames: names are numbers in lists of names.

use std::collections::BTreeMap;

use loadpilot_events::log::outcome::Outcome;

use super::SampleRow;

/// Value of an absent number; every other number is 0 or more.
const ABSENT: i64 = -1;

/// Names of the columns, in their order.
const NAMES: [&str; 15] = [
    "due_us",
    "user",
    "generation",
    "arrival",
    "task",
    "call",
    "agent",
    "status",
    "outcome",
    "response_us",
    "service_us",
    "first_byte_us",
    "bytes_out",
    "bytes_in",
    "reused",
];

/// Rows of one read.
#[derive(Debug, Clone, Default)]
pub struct ColumnBatch {
    /// Name and values of each column; -1 is an absent value.
    pub columns: Vec<(&'static str, Vec<i64>)>,
    /// Names that the numbers of columns mean, by column.
    pub names: Vec<(&'static str, Vec<String>)>,
}

/// Collects rows in columns. Numbers of names stay the same from batch to batch.
#[derive(Debug, Clone, Default)]
pub struct SampleColumns {
    columns: Vec<Vec<i64>>,
    tasks: Names,
    calls: Names,
    agents: Names,
}

impl SampleColumns {
    /// Number of rows since the last batch.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, Vec::len)
    }

    /// Adds a row.
    pub fn add(&mut self, row: &SampleRow<'_>) {
        let sample = row.sample;
        let outcome = Outcome::ALL.iter().position(|one| *one == sample.outcome);
        let values = [
            number(row.due.0),
            sample.user.map_or(ABSENT, i64::from),
            i64::from(sample.generation),
            number(sample.number),
            self.tasks.number(row.task),
            self.calls.number(row.call),
            self.agents.number(row.agent.as_str()),
            sample.status.map_or(ABSENT, i64::from),
            outcome.map_or(ABSENT, |index| number(index as u64)),
            number(sample.response_us),
            number(sample.service_us),
            sample.first_byte_us.map_or(ABSENT, number),
            number(sample.sent_bytes),
            number(sample.received_bytes),
            sample.reused.map_or(ABSENT, i64::from),
        ];
        self.columns.resize_with(values.len(), Vec::new);
        for (column, value) in self.columns.iter_mut().zip(values) {
            column.push(value);
        }
    }

    /// Takes the rows since the last batch.
    pub fn take(&mut self) -> ColumnBatch {
        let columns = std::mem::take(&mut self.columns);
        let outcomes = Outcome::ALL.iter().map(|outcome| outcome.name().to_owned());
        ColumnBatch {
            columns: NAMES.into_iter().zip(columns).collect(),
            names: vec![
                ("task", self.tasks.names.clone()),
                ("call", self.calls.names.clone()),
                ("agent", self.agents.names.clone()),
                ("outcome", outcomes.collect()),
            ],
        }
    }
}

/// Names by their numbers.
#[derive(Debug, Clone, Default)]
struct Names {
    names: Vec<String>,
    numbers: BTreeMap<String, i64>,
}

impl Names {
    fn number(&mut self, name: &str) -> i64 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let next = number(self.names.len() as u64);
        self.names.push(name.to_owned());
        self.numbers.insert(name.to_owned(), next);
        next
    }
}

fn number(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
