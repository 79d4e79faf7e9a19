//! Whether a file with a secret is private.

use std::path::Path;

/// Whether users other than the owner may read or change a file. Root's file may be readable by its
/// group: Kubernetes mounts a Secret in this way for the group of a pod.
///
/// # Errors
/// When the file cannot be found.
#[cfg(unix)]
pub fn is_open_to_others(path: &Path) -> std::io::Result<bool> {
    use std::os::unix::fs::MetadataExt as _;
    let file = std::fs::metadata(path)?;
    Ok(is_open(file.mode(), file.uid()))
}

/// Always false: other systems have no such mode bits.
///
/// # Errors
/// None.
#[cfg(not(unix))]
pub fn is_open_to_others(_path: &Path) -> std::io::Result<bool> {
    Ok(false)
}

#[cfg(unix)]
fn is_open(mode: u32, owner: u32) -> bool {
    let others = if owner == 0 { 0o037 } else { 0o077 };
    mode & others != 0
}

#[cfg(all(test, unix))]
mod tests {
    use super::is_open;

    /// Broken if a Secret of Kubernetes is refused, or if a file that others can read is accepted.
    #[test]
    fn only_a_file_of_root_may_be_readable_by_its_group() {
        for (mode, owner, open) in [
            (0o600, 1000, false),
            (0o400, 1000, false),
            (0o640, 1000, true),
            (0o604, 1000, true),
            (0o440, 0, false),
            (0o640, 0, false),
            (0o460, 0, true),
            (0o450, 0, true),
            (0o444, 0, true),
            (0o100_440, 0, false),
        ] {
            assert_eq!(is_open(mode, owner), open, "{mode:o} of {owner}");
        }
    }
}
