//! Content stored outside of the plan, in the object store, and named by its hash.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// A body that is kept beside the plan, by its content.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Object {
    /// SHA-256 of the bytes, in lower-case hex: what they are called, and what proves them.
    pub sha256: String,
    /// How many bytes there are.
    pub bytes: u64,
}

impl Object {
    /// Names `content`.
    #[must_use]
    pub fn of(content: &[u8]) -> Self {
        Self {
            sha256: hex(&Sha256::digest(content)),
            bytes: content.len() as u64,
        }
    }
}

/// `bytes` in lower-case hex.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
            write!(text, "{byte:02x}").expect("writing to a String cannot fail");
            text
        })
}
