//! Content stored outside of the plan, in the object store, and named by its hash.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Content stored in the object store, named by its hash.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Object {
    /// SHA-256 of the content in lower-case hex: its name and its proof.
    pub sha256: String,
    /// Size of the content in bytes.
    pub bytes: u64,
}

impl Object {
    /// The object of `content`.
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
