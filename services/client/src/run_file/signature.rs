//! Signatures of files: ed25519, by an nkey.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use loadpilot_events::refusal::Problem;
use nkeys::KeyPair;

use super::Signature;

/// Signs a manifest. Errors never quote the seed.
pub(super) fn sign(manifest: &[u8], seed: &str) -> Result<Signature, Problem> {
    let rule = |error: nkeys::error::Error| {
        let rule = format!("must hold the seed of an nkey ({error})");
        Problem::new("--sign", rule, "a seed that is not shown")
    };
    let pair = KeyPair::from_seed(seed.trim()).map_err(rule)?;
    let signature = pair.sign(manifest).map_err(rule)?;
    Ok(Signature {
        key: pair.public_key(),
        signature: BASE64_STANDARD.encode(signature),
    })
}

/// Whether a signature of this manifest is valid for its key.
pub(super) fn is_of(signature: &Signature, manifest: &[u8]) -> bool {
    let Ok(bytes) = BASE64_STANDARD.decode(&signature.signature) else {
        return false;
    };
    let key = KeyPair::from_public_key(&signature.key);
    key.is_ok_and(|key| key.verify(manifest, &bytes).is_ok())
}
