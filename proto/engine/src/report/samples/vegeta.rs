//! Sampled calls as results of vegeta: the twelve columns of its `encode --to csv`.
//!
//! A result begins when its call was due, and its latency is the response time from there, so that
//! vegeta's figures are the corrected ones of the report. Its attack is the task; where the rate
//! has several levels, the rate. Body and headers are empty: samples have none.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use loadpilot_events::log::outcome::Outcome;

use super::cell::cell;
use super::{SampleRow, rate_text};

/// Numbers of the calls of each attack in the order of their due times. `vegeta plot` draws the
/// results of an attack by number, and waits for each before the next.
#[derive(Debug, Clone, Default)]
pub struct DueOrder {
    attacks: BTreeMap<Option<u64>, BTreeMap<String, AttackOrder>>,
}

/// Due times of the calls of one attack, sorted, and how often the first of equal ones was taken.
#[derive(Debug, Clone, Default)]
struct AttackOrder {
    due_us: Vec<u64>,
    taken: Vec<u32>,
}

impl DueOrder {
    pub(super) fn add(&mut self, row: &SampleRow<'_>) {
        let tasks = self.attacks.entry(row.level_urps).or_default();
        match tasks.get_mut(row.task) {
            Some(order) => order.due_us.push(row.sample.due_us),
            None => {
                let order = AttackOrder {
                    due_us: vec![row.sample.due_us],
                    taken: Vec::new(),
                };
                tasks.insert(row.task.to_owned(), order);
            }
        }
    }

    pub(super) fn sort(&mut self) {
        for order in self.attacks.values_mut().flat_map(BTreeMap::values_mut) {
            order.due_us.sort_unstable();
            order.taken = vec![0; order.due_us.len()];
        }
    }

    /// The number of a call of its attack, from 0.
    pub(super) fn number(&mut self, row: &SampleRow<'_>) -> u64 {
        let tasks = self.attacks.get_mut(&row.level_urps);
        let Some(order) = tasks.and_then(|tasks| tasks.get_mut(row.task)) else {
            return 0;
        };
        let first = order
            .due_us
            .partition_point(|due_us| *due_us < row.sample.due_us);
        let Some(taken) = order.taken.get_mut(first) else {
            return first as u64;
        };
        *taken += 1;
        first as u64 + u64::from(*taken) - 1
    }
}

/// The name of the attack of a call, in a plan of so many tasks.
fn attack(row: &SampleRow<'_>, tasks: usize) -> String {
    match row.level_urps.map(rate_text) {
        None => row.task.to_owned(),
        Some(rate) if tasks == 1 => rate,
        Some(rate) => format!("{} {rate}", row.task),
    }
}

/// Appends the line of a result, of a plan of so many tasks.
pub(super) fn line(row: &SampleRow<'_>, tasks: usize, number: u64, text: &mut String) {
    let sample = row.sample;
    let error = match sample.outcome {
        Outcome::Ok => "",
        failed => failed.name(),
    };
    let cells = format_args!(
        "{},{},{},{},{},{error},,{},{number},{},{},\n",
        u128::from(row.due.0) * 1_000,
        sample.status.unwrap_or_default(),
        u128::from(sample.response_us) * 1_000,
        sample.sent_bytes,
        sample.received_bytes,
        cell(&attack(row, tasks)),
        row.method,
        cell(row.url),
    );
    text.write_fmt(cells)
        .expect("a String takes what is written");
}
