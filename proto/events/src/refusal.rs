//! Refusals: what a user can fix, named by place, rule and value.
//!
//! A refusal is data, so that the Python front end, the coordinator and the browser show the same
//! words. Must never hold a secret: values come from places where secrets are handles already.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One thing that is wrong with what a user gave us.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[error("{field}: {rule} (got {value:?})")]
pub struct Problem {
    /// Where: a path such as `tasks[0].steps[1].method`.
    pub field: String,
    /// What must hold there, as a sentence without a subject ("must be …").
    pub rule: String,
    /// What was found, shortened to [`crate::limits::PROBLEM_VALUE_CHARS_MAX`] characters.
    pub value: String,
}

impl Problem {
    /// A problem at `field`; `value` is shortened.
    pub fn new(
        field: impl Into<String>,
        rule: impl Into<String>,
        value: impl std::fmt::Display,
    ) -> Self {
        let value = value.to_string();
        let max = crate::limits::PROBLEM_VALUE_CHARS_MAX;
        let value = match value.char_indices().nth(max) {
            Some((cut, _)) => format!("{}…", &value[..cut]),
            None => value,
        };
        Self {
            field: field.into(),
            rule: rule.into(),
            value,
        }
    }
}

/// Everything that is wrong, all at once: nothing starts while this is not empty.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[error("{}", .problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
pub struct Refusal {
    /// At least one.
    pub problems: Vec<Problem>,
}

/// No more problems than [`crate::limits::PROBLEMS_MAX`]; of more a last one tells how many.
#[must_use]
pub fn first(mut problems: Vec<Problem>) -> Vec<Problem> {
    let max = crate::limits::PROBLEMS_MAX;
    let more = problems.len().saturating_sub(max);
    if more > 0 {
        problems.truncate(max);
        let rule = format!("{more} more are wrong and not shown");
        problems.push(Problem::new("", rule, ""));
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Broken if a plan of a hundred thousand mistakes were answered with as many sentences, or if
    /// somebody who mends those that are told were told that nothing else is wrong.
    #[test]
    fn the_first_ones_are_told_and_the_rest_is_counted() {
        let wrong = |count: u32| -> Vec<Problem> {
            let place = |number| Problem::new(format!("tasks[{number}]"), "must be right", number);
            (0..count).map(place).collect()
        };
        assert_eq!(first(wrong(100)), wrong(100));
        let told = first(wrong(100_000));
        assert_eq!(told[..100], wrong(100));
        assert_eq!(told.len(), 101);
        assert_eq!(told[100].rule, "99900 more are wrong and not shown");
    }
}
