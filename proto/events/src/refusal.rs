//! Refusals: errors that a user can fix, by field, rule and value.
//!
//! A refusal is data, so that the Python front end, the coordinator and the browser show the same
//! text. Values come from places where secrets are handles, so that it contains no secret.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One problem in a user's input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[error("{field}: {rule} (got {value:?})")]
pub struct Problem {
    /// Path of the field, such as `tasks[0].steps[1].method`.
    pub field: String,
    /// Rule that the field violates, as a sentence without a subject ("must be …").
    pub rule: String,
    /// Value of the field, cut at [`crate::limits::PROBLEM_VALUE_CHARS_MAX`] characters.
    pub value: String,
}

impl Problem {
    /// A problem at `field`; a long `value` is cut.
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

/// All problems of an input: nothing starts while there is one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[error("{}", .problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
pub struct Refusal {
    /// Problems, at least one.
    pub problems: Vec<Problem>,
}

/// At most [`crate::limits::PROBLEMS_MAX`] problems; a last one gives the number of the others.
#[must_use]
pub fn first(mut problems: Vec<Problem>) -> Vec<Problem> {
    let max = crate::limits::PROBLEMS_MAX;
    let more = problems.len().saturating_sub(max);
    if more > 0 {
        problems.truncate(max);
        let rule = format!("{more} more problems are not shown");
        problems.push(Problem::new("", rule, ""));
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Broken if a plan with a hundred thousand problems gave as many sentences, or if the omitted
    /// ones were not mentioned.
    #[test]
    fn the_first_problems_are_shown_and_the_rest_is_counted() {
        let problems = |count: u32| -> Vec<Problem> {
            let place = |number| Problem::new(format!("tasks[{number}]"), "must be right", number);
            (0..count).map(place).collect()
        };
        assert_eq!(first(problems(100)), problems(100));
        let shown = first(problems(100_000));
        assert_eq!(shown[..100], problems(100));
        assert_eq!(shown.len(), 101);
        assert_eq!(shown[100].rule, "99900 more problems are not shown");
    }
}
