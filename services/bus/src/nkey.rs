//! Keys of NATS users: who configures a server makes them, and the server knows the public half.
//!
//! It must never write or show a seed.

use std::io::Error;

use nkeys::KeyPair;

/// A new key of a user.
#[derive(Clone)]
pub struct UserKey {
    /// What the user keeps: a credentials file may hold it alone.
    pub seed: String,
    /// What the server's configuration names; inboxes of the user are under it.
    pub public: String,
}

impl UserKey {
    /// Makes a key from the randomness of the operating system; `None` if there is none.
    pub fn new() -> Option<UserKey> {
        let pair = KeyPair::new_user();
        let seed = pair.seed().ok()?;
        Some(UserKey {
            seed,
            public: pair.public_key(),
        })
    }
}

/// The key pair in a credentials file: a bare seed, or the seed beside a JWT.
pub(crate) fn key_pair(text: &str) -> Result<KeyPair, Error> {
    let is_seed = |line: &&str| line.starts_with("SU") && line.len() == 58;
    let seed = text.lines().map(str::trim).find(is_seed);
    let seed = seed.ok_or_else(|| Error::other(other_kind(text)))?;
    KeyPair::from_seed(seed).map_err(|_| Error::other("its seed is not one of a user"))
}

/// What a text without the seed of a user is, as far as its marks tell.
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
