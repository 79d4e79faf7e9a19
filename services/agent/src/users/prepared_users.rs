//! States of users that were prepared before the run was asked for: sealed where they are made,
//! opened where they are used, and in the clear nowhere in between.
//!
//! The sealed form lies in the object store; its key is a secret of the run and is shredded with
//! the others, which makes what stays in the store noise. Must never show a state or a key.

use std::fmt;

use ring::aead::{self, AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Hex digits of a key.
const KEY_DIGITS: usize = 64;

/// What was prepared.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct States {
    /// What all users share, as JSON; only the scenario's own side knows its form.
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
    /// It is no key.
    #[error("the key of the prepared users is not 64 hex digits")]
    Key,
    /// They were sealed with another key, or changed since.
    #[error("the prepared users cannot be opened with their key")]
    Sealed,
    /// What was sealed are no states.
    #[error("the prepared users cannot be read")]
    Unreadable,
}

impl States {
    /// Seals it with AES-256-GCM (NIST SP 800-38D). A key must be random and serve once: there is
    /// no other nonce than zero.
    ///
    /// # Errors
    /// [`Fault::Key`].
    pub fn seal(&self, key: &str) -> Result<Vec<u8>, Fault> {
        let mut sealed = serde_json::to_vec(self).map_err(|_| Fault::Unreadable)?;
        let done = key_of(key)?.seal_in_place_append_tag(nonce(), Aad::empty(), &mut sealed);
        done.map_err(|_| Fault::Sealed)?;
        Ok(sealed)
    }

    /// Opens what was sealed with `key`.
    ///
    /// # Errors
    /// [`Fault`].
    pub fn open(sealed: &[u8], key: &str) -> Result<Self, Fault> {
        let mut sealed = sealed.to_vec();
        let opened = key_of(key)?.open_in_place(nonce(), Aad::empty(), &mut sealed);
        let opened = opened.map_err(|_| Fault::Sealed)?;
        // The parser's error may quote a state: it is dropped on purpose.
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

    /// Broken if a token lay readable in the object store, or a changed state were believed.
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
