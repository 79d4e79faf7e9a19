//! Keys of NATS operators, accounts and users: the operator of a server creates them, and the
//! server knows their public halves.
//!
//! It must never write or show a seed.

use std::io::Error;

use nkeys::{KeyPair, KeyPairType};

/// The kind of a key, by its owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyKind {
    /// Signs accounts.
    Operator,
    /// Signs users; also a signing key of an account.
    Account,
    /// Logs in.
    User,
}

/// A key pair of NATS.
pub struct NatsKey(KeyPair);

impl NatsKey {
    /// Creates a key from the randomness of the operating system.
    pub fn new(kind: KeyKind) -> NatsKey {
        NatsKey(KeyPair::new(match kind {
            KeyKind::Operator => KeyPairType::Operator,
            KeyKind::Account => KeyPairType::Account,
            KeyKind::User => KeyPairType::User,
        }))
    }

    /// Reads a seed; `None` if it is not one of an operator, account or user.
    pub fn from_seed(seed: &str) -> Option<NatsKey> {
        let key = NatsKey(KeyPair::from_seed(seed).ok()?);
        key.kind().map(|_| key)
    }

    /// The kind of the key; `None` for kinds that LoadPilot does not use.
    pub fn kind(&self) -> Option<KeyKind> {
        match self.0.key_pair_type() {
            KeyPairType::Operator => Some(KeyKind::Operator),
            KeyPairType::Account => Some(KeyKind::Account),
            KeyPairType::User => Some(KeyKind::User),
            _ => None,
        }
    }

    /// The secret half, for the owner only; a credentials file may contain that of a user alone.
    pub fn seed(&self) -> Option<String> {
        self.0.seed().ok()
    }

    /// The public half, by which a server names the key; inboxes of a user are under it.
    pub fn public(&self) -> String {
        self.0.public_key()
    }

    /// The Ed25519 signature of a text, 64 bytes; `None` without the secret half.
    pub fn sign(&self, text: &[u8]) -> Option<Vec<u8>> {
        self.0.sign(text).ok()
    }
}

/// The key pair in a credentials file: a bare seed, or the seed beside a JWT.
pub(crate) fn key_pair(text: &str) -> Result<KeyPair, Error> {
    let is_seed = |line: &&str| line.starts_with("SU") && line.len() == 58;
    let seed = text.lines().map(str::trim).find(is_seed);
    let seed = seed.ok_or_else(|| Error::other(other_kind(text)))?;
    KeyPair::from_seed(seed).map_err(|_| Error::other("its seed is not one of a user"))
}

/// Describes a text that contains no seed of a user, as far as its markers reveal its kind.
fn other_kind(text: &str) -> &'static str {
    let begins = |mark| text.lines().any(|line| line.trim().starts_with(mark));
    if begins("SA") || begins("SO") {
        "it holds the seed of an account or operator, and not one of a user"
    } else if text.contains("BEGIN CERTIFICATE") || text.contains("PRIVATE KEY") {
        "it is a file for TLS"
    } else if begins("eyJ") {
        "it holds a JWT without its key"
    } else {
        "it holds no seed of a user"
    }
}
