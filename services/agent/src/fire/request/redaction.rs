//! Removes the secrets of a run from every text that users can read.
//!
//! Besides its plain form, a secret is found percent-encoded, as in a path, and quoted, as in the
//! text of an error. Other forms that a scenario derives from it (base64, a digest) are not found.

use std::collections::BTreeMap;
use std::fmt;

/// Secrets by handle. `Debug` shows no value.
#[derive(Clone, Default)]
pub struct Secrets(pub BTreeMap<String, String>);

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// Replacement for a secret.
pub(crate) const MASK: &str = "***";

/// Masks the values that no text may show.
#[derive(Default)]
pub(crate) struct Redactor(Vec<String>);

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Masks({})", self.0.len())
    }
}

impl Redactor {
    pub(crate) fn new<'a>(secrets: impl Iterator<Item = &'a String>) -> Self {
        Self(secrets.filter(|s| !s.is_empty()).cloned().collect())
    }

    /// Length in bytes of the longest form of a secret in a text.
    pub(crate) fn longest(&self) -> usize {
        // Percent-encoded, each byte takes three.
        self.0
            .iter()
            .map(|secret| 3 * secret.len())
            .max()
            .unwrap_or(0)
    }

    /// The text without any secret value.
    pub(crate) fn apply(&self, text: &str) -> String {
        if self.0.is_empty() {
            // Most runs have no secret, but each failing check has a text.
            return text.to_owned();
        }
        let mut redacted = String::with_capacity(text.len());
        let mut hidden_to = 0;
        for (at, sign) in text.char_indices() {
            let here = &text.as_bytes()[at..];
            let lengths = self.0.iter().map(|secret| length(secret.as_bytes(), here));
            let hidden = lengths.max().unwrap_or(0);
            // Where two secrets overlap, both are hidden completely.
            if at >= hidden_to {
                match hidden {
                    0 => redacted.push(sign),
                    _ => redacted.push_str(MASK),
                }
            }
            hidden_to = hidden_to.max(at + hidden);
        }
        redacted
    }
}

/// The beginning of `text`, at most `bytes_max` bytes.
pub(crate) fn truncate(text: &str, bytes_max: usize) -> &str {
    let mut end = bytes_max.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Length in bytes of a secret, in any form, at the beginning of a text; 0 when absent.
fn length(secret: &[u8], text: &[u8]) -> usize {
    if text.starts_with(secret) {
        return secret.len();
    }
    let mut at = 0;
    for &byte in secret {
        at += match &text[at..] {
            [b'%', high, low, ..] if encoded(*high, *low) == Some(byte) => 3,
            [b'\\', quoted @ (b'\\' | b'\'' | b'"'), ..] if *quoted == byte => 2,
            [plain, ..] if *plain == byte => 1,
            // The form encoding of a space.
            [b'+', ..] if byte == b' ' => 1,
            _ => return 0,
        };
    }
    at
}

/// The byte of two hex digits after a percent sign.
fn encoded(high: u8, low: u8) -> Option<u8> {
    let digit = |digit: u8| char::from(digit).to_digit(16);
    u8::try_from(digit(high)? * 16 + digit(low)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masked(secrets: &[&str], text: &str) -> String {
        let secrets: Vec<String> = secrets.iter().map(|&secret| secret.to_owned()).collect();
        Redactor::new(secrets.iter()).apply(text)
    }

    /// Broken if a secret is readable in a path that encodes it, or in an error that quotes it.
    #[test]
    fn a_secret_is_hidden_in_every_form_in_which_it_is_sent_or_told() {
        let secret = "p%2f/\u{fc} '+";
        for form in [
            secret,
            "p%252f/%C3%BC%20%27+",
            "p%252f%2f%c3%bc+'%2B",
            "%70%25%32%66%2F%C3%BC%20'%2b",
            "p%2f/\u{fc} \\'+",
        ] {
            assert_eq!(
                masked(&[secret], &format!("/a/{form}?b")),
                "/a/***?b",
                "{form}"
            );
        }
        for other in ["p%2f/\u{fc} '", "P%2f/\u{fc} '+", "p%25", "%", "p%2", ""] {
            assert_eq!(masked(&[secret], other), other);
        }
    }

    /// Broken if a part of one secret remains when it is inside another or overlaps it.
    #[test]
    fn secrets_that_overlap_are_hidden_whole() {
        assert_eq!(masked(&["ab", "abcd"], "-abcdab-"), "-******-");
        assert_eq!(masked(&["abc", "cde"], "-abcde-"), "-***-");
        assert_eq!(masked(&["", "\u{fc}"], "\u{fc}-\u{fc}"), "***-***");
    }
}
