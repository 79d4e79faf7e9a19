//! The file with the operator's key of ownership tokens. Problems must never show the key.

use std::path::Path;

use loadpilot_bus::is_open_to_others;
use loadpilot_engine::control::ownership::{KEY_BYTES_MAX, OwnershipKey};
use loadpilot_events::refusal::Problem;

/// Maximum length of the file, in bytes: a key with white space around it.
const FILE_BYTES_MAX: u64 = 2 * KEY_BYTES_MAX as u64;

/// Reads the key in the file at `path`.
///
/// # Errors
/// The problem, at `field`: the file is absent, too long or readable by others, or the key is too
/// short.
pub fn read(field: &str, path: &Path) -> Result<OwnershipKey, Problem> {
    let problem = |rule: &str| Problem::new(field, rule, path.display());
    let unreadable =
        |error: std::io::Error| problem(&format!("must name a file that can be read: {error}"));
    if is_open_to_others(path).map_err(unreadable)? {
        return Err(problem(
            "must name a file that only its owner may read: chmod 600 FILE",
        ));
    }
    if path.metadata().map_err(unreadable)?.len() > FILE_BYTES_MAX {
        let rule = format!("must name a file of at most {FILE_BYTES_MAX} bytes");
        return Err(problem(&rule));
    }
    OwnershipKey::new(field, &std::fs::read(path).map_err(unreadable)?)
}
