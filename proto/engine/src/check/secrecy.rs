//! Header names whose values are secrets: a plan may hold only handles of such values.
//!
//! The compiler of scenarios has the same rule; `sdk/tests/scenario/test_secrets.py` compares
//! the two. Must never look at a value.

/// Parts of a word that mark the value of its header as a secret.
const STEMS: [&str; 6] = ["auth", "cookie", "passw", "secret", "session", "token"];

/// Words that contain one of [`STEMS`] and mark no secret.
const PLAIN_WORDS: [&str; 4] = ["author", "authority", "authors", "tokens"];

/// Headers that are named after a key and hold no secret.
const PLAIN_NAMES: [&str; 4] = [
    "idempotency-key",
    "sec-websocket-key",
    "surrogate-key",
    "x-idempotency-key",
];

/// Whether the name of a header, in lower case, marks its value as a secret.
#[must_use]
pub fn is_secret_name(name: &str) -> bool {
    let mut words = name.split(|sign: char| !sign.is_ascii_alphanumeric());
    !PLAIN_NAMES.contains(&name)
        && words.any(|word| {
            let is_key = word.ends_with("key");
            let is_stem = STEMS.iter().any(|stem| word.contains(stem));
            is_key || (is_stem && !PLAIN_WORDS.contains(&word))
        })
}

/// Whether the key of a dict in code, in lower case, is taken for the name of such a header. The
/// fields of bodies stand in dicts as well; header names have hyphens.
pub(super) fn is_secret_entry(key: &str) -> bool {
    matches!(key, "authorization" | "cookie") || (key.contains('-') && is_secret_name(key))
}
