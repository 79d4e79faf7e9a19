//! A file that the agent touches while coordinators answer it, for health checks: an agent has no
//! port that a check could use. A failed touch is logged and never stops the agent.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use loadpilot_events::refusal::Problem;

/// The file, created and open.
#[derive(Debug, Clone)]
pub struct LivenessFile {
    path: PathBuf,
    file: Arc<File>,
}

impl LivenessFile {
    /// Creates the file with a modification time of 1970: no coordinator has answered yet.
    pub(crate) fn new(path: &Path) -> Result<Self, Problem> {
        let created = File::create(path).and_then(|file| {
            file.set_modified(SystemTime::UNIX_EPOCH)?;
            Ok(file)
        });
        let file = created.map_err(|error| {
            let rule = format!("must be a file that can be written ({})", error.kind());
            Problem::new("alive-file", rule, path.display())
        })?;
        Ok(Self {
            path: path.to_owned(),
            file: Arc::new(file),
        })
    }

    /// Sets the modification time to now.
    pub(crate) fn touch(&self) {
        if let Err(error) = self.file.set_modified(SystemTime::now()) {
            tracing::debug!(file = %self.path.display(), %error, "could not be touched");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Broken if a process without a recent answer of a coordinator counts as alive.
    #[test]
    fn it_is_young_only_after_a_touch() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("alive");
        let age = || {
            let modified = path.metadata().and_then(|about| about.modified());
            modified.expect("a time").elapsed().unwrap_or_default()
        };
        std::fs::write(&path, "of an earlier process").expect("a file");
        let alive = LivenessFile::new(&path).expect("it can be made");
        assert!(age() > Duration::from_hours(24));
        alive.touch();
        assert!(age() < Duration::from_mins(1));
        let nowhere = LivenessFile::new(&folder.path().join("none/alive")).expect_err("no folder");
        assert_eq!(nowhere.field, "alive-file");
    }
}
