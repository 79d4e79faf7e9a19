//! States of users that the submitter prepared before the run. The submitter seals them, and the
//! agents open them; in between they are never unencrypted.
//!
//! The sealed form is in the object store. Its key is a secret of the run and is shredded with the
//! others, after which the stored form is useless. Must never show a state or a key.

use std::fmt;

use ring::aead::{self, AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Number of hex digits of a key.
const KEY_DIGITS: usize = 64;

/// The prepared states.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct States {
    /// State that all users share, as JSON in the form of `loadpilot.play`.
    pub shared: String,
    /// The state of each user in the order of their numbers, as JSON; absent: agents prepare them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub users: Option<Vec<String>>,
}

impl fmt::Debug for States {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // States hold tokens and cookies.
        let users = self.users.as_ref().map(Vec::len);
        write!(f, "States({users:?})")
    }
}

/// Why states cannot be sealed or opened. Shows neither them nor the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Fault {
    /// The key is invalid.
    #[error("the key of the prepared users is not 64 hex digits")]
    Key,
    /// They were sealed with another key, or modified.
    #[error("the prepared users cannot be opened with their key")]
    Sealed,
    /// The sealed content is invalid.
    #[error("the prepared users cannot be read")]
    Unreadable,
}

impl States {
    /// Seals it with AES-256-GCM (NIST SP 800-38D). A key must be random and used once: the nonce
    /// is always zero.
    ///
    /// # Errors
    /// [`Fault::Key`].
    pub fn seal(&self, key: &str) -> Result<Vec<u8>, Fault> {
        let mut sealed = serde_json::to_vec(self).map_err(|_| Fault::Unreadable)?;
        let done = key_of(key)?.seal_in_place_append_tag(nonce(), Aad::empty(), &mut sealed);
        done.map_err(|_| Fault::Sealed)?;
        Ok(sealed)
    }

    /// Opens states that were sealed with `key`.
    ///
    /// # Errors
    /// [`Fault`].
    pub fn open(sealed: &[u8], key: &str) -> Result<Self, Fault> {
        let mut sealed = sealed.to_vec();
        let opened = key_of(key)?.open_in_place(nonce(), Aad::empty(), &mut sealed);
        let opened = opened.map_err(|_| Fault::Sealed)?;
        // The parser's error may quote a state, so it is dropped.
        serde_json::from_slice(opened).map_err(|_| Fault::Unreadable)
    }
}

fn nonce() -> Nonce {
    Nonce::assume_unique_for_key([0; aead::NONCE_LEN])
}

fn key_of(hex: &str) -> Result<LessSafeKey, Fault> {
    if hex.len() != KEY_DIGITS || !hex.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return Err(Fault::Key);
    }
    let bytes = (0..KEY_DIGITS).step_by(2);
    let bytes = bytes.map(|at| u8::from_str_radix(&hex[at..at + 2], 16));
    let bytes: Vec<u8> = bytes.collect::<Result<_, _>>().map_err(|_| Fault::Key)?;
    let key = UnboundKey::new(&AES_256_GCM, &bytes).map_err(|_| Fault::Key)?;
    Ok(LessSafeKey::new(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Broken if a token is readable in the object store, or a modified state is accepted.
    #[test]
    fn states_are_opened_with_their_key_only() {
        let states = States {
            shared: "{}".to_owned(),
            users: Some(vec![r#"{"token":"hunter2"}"#.to_owned()]),
        };
        let (key, other) = ("0f".repeat(32), "0e".repeat(32));
        let mut sealed = states.seal(&key).expect("a key");
        assert!(!sealed.windows(7).any(|bytes| bytes == b"hunter2"));
        assert!(!format!("{states:?}").contains("hunter2"));
        assert_eq!(States::open(&sealed, &key), Ok(states));
        assert_eq!(States::open(&sealed, &other), Err(Fault::Sealed));
        assert_eq!(States::open(&sealed, "0f"), Err(Fault::Key));
        sealed[3] ^= 1;
        assert_eq!(States::open(&sealed, &key), Err(Fault::Sealed));
    }
}
