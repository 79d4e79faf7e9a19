//! Parser of a behaviour or a control line: a keyword, then values, then `name=value` options.
//! A token that nothing has consumed is an error.

use std::time::Duration;

/// Maximum duration in a command, ms: one day.
const MS_MAX: f64 = 86_400_000.0;

/// The tokens of one line that are not consumed yet.
#[derive(Debug)]
pub(crate) struct LineParser<'a> {
    rest: Vec<&'a str>,
}

impl<'a> LineParser<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self {
            rest: text.split_ascii_whitespace().collect(),
        }
    }

    /// The keyword.
    pub(crate) fn keyword(&mut self) -> Result<&'a str, String> {
        if self.rest.is_empty() {
            Err("empty".to_owned())
        } else {
            Ok(self.rest.remove(0))
        }
    }

    /// The next value.
    pub(crate) fn value(&mut self) -> Result<&'a str, String> {
        match self.rest.first() {
            Some(word) if !word.contains('=') => Ok(self.rest.remove(0)),
            _ => Err("a value is missing".to_owned()),
        }
    }

    /// The value of the option `name`.
    pub(crate) fn option(&mut self, name: &str) -> Option<&'a str> {
        let is_it = |word: &&str| word.split_once('=').is_some_and(|(n, _)| n == name);
        let at = self.rest.iter().position(is_it)?;
        self.rest.remove(at).split_once('=').map(|(_, value)| value)
    }

    /// The value of the option `name` as milliseconds.
    pub(crate) fn option_ms(&mut self, name: &str) -> Result<Option<Duration>, String> {
        self.option(name).map(parse_ms).transpose()
    }

    /// Rejects tokens that were not consumed.
    pub(crate) fn finish(self) -> Result<(), String> {
        match self.rest.first() {
            None => Ok(()),
            Some(word) => Err(format!("unexpected {word:?}")),
        }
    }
}

/// Parses milliseconds with up to three decimals (1 µs).
pub(crate) fn parse_ms(word: &str) -> Result<Duration, String> {
    match word.parse::<f64>() {
        Ok(ms) if (0.0..=MS_MAX).contains(&ms) => {
            Ok(Duration::from_micros((ms * 1000.0).round() as u64))
        }
        _ => Err(format!(
            "{word:?} is not a number of ms between 0 and {MS_MAX}"
        )),
    }
}
