//! Collects the problems of a plan; rules that several of its fields share.

use loadpilot_events::limits;
use loadpilot_events::refusal::Problem;

/// Headers that a scenario must not set, since they would break the framing or the accounting of
/// the HTTP engine.
pub const ENGINE_HEADERS: [&str; 8] = [
    "connection",
    "content-length",
    "expect",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Collects the problems.
pub(super) struct Checker<'a> {
    pub(super) problems: &'a mut Vec<Problem>,
}

impl Checker<'_> {
    pub(super) fn require(
        &mut self,
        holds: bool,
        field: impl Into<String>,
        rule: &str,
        value: impl std::fmt::Display,
    ) {
        if !holds {
            self.problems.push(Problem::new(field, rule, value));
        }
    }

    pub(super) fn name(&mut self, field: &str, name: &str) {
        let sound = !name.trim().is_empty()
            && name.len() <= limits::NAME_BYTES_MAX
            && !name.chars().any(char::is_control);
        self.require(
            sound,
            field,
            "must be 1 to 128 bytes without control characters",
            name,
        );
    }

    pub(super) fn header_name(&mut self, field: &str, name: &str) {
        let sound = !name.is_empty()
            && name.len() <= limits::NAME_BYTES_MAX
            && name.bytes().all(is_token_byte);
        self.require(sound, field, "must be an HTTP header name", name);
        let engines = ENGINE_HEADERS.contains(&name.to_ascii_lowercase().as_str());
        self.require(
            !engines,
            field,
            "must not be a header that the engine sets itself",
            name,
        );
    }
}

/// `tchar` of RFC 9110, section 5.6.2.
fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}
