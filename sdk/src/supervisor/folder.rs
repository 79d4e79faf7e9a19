//! The folder of one log: locked while a stack uses it, private to its user.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;
use tokio::time::sleep;

use super::disk_limits::Limits;
use super::error::StackError;

/// Maximum number of stacks in one directory at a time.
const FOLDERS_MAX: u32 = 1024;

/// Time between two looks at a folder that a starting or ending stack has locked.
const LOCK_POLL: Duration = Duration::from_millis(20);

const LOCK_FILE: &str = "lock";
const STACK_FILE: &str = "stack.json";
const SERVER_FILE: &str = "server.conf";
const AGENTS_FOLDER: &str = "agents";

/// Choice of the folder of the log.
#[derive(Debug, Clone)]
pub enum LogFolder {
    /// The first folder `log-1`, `log-2`, … in this one that no other stack has locked.
    FirstFree(PathBuf),
    /// This folder and no other.
    Exactly(PathBuf),
}

/// A folder that this process has locked. The lock ends with the process.
pub(super) struct Folder {
    path: PathBuf,
    _lock: File,
}

/// Content of the stack file, from which clients of the stack connect.
#[derive(Debug, Serialize)]
pub(super) struct StackFile<'a> {
    /// URL of the server.
    pub(super) url: &'a str,
    /// The token for the server.
    pub(super) token: &'a str,
    /// Authority of its certificate; `None`: machines trust it already.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cacert: Option<&'a Path>,
    /// Process id of the supervisor.
    pub(super) pid: u32,
    /// The folder of this log.
    pub(super) log_dir: &'a Path,
    /// Whether this stack only reads the log: it has no coordinator and no agent.
    pub(super) reader: bool,
    /// Start of this stack in µs since 1970: runs requested earlier belong to another stack.
    pub(super) started_at_us: u64,
    #[serde(flatten)]
    pub(super) limits: LimitsFile,
}

/// The streams' size limits, as the stack file names them.
#[derive(Debug, Serialize)]
pub(super) struct LimitsFile {
    ctl_bytes: u64,
    data_bytes: u64,
}

impl From<Limits> for LimitsFile {
    fn from(limits: Limits) -> Self {
        Self {
            ctl_bytes: limits.ctl_bytes,
            data_bytes: limits.data_bytes,
        }
    }
}

impl Folder {
    /// Locks the chosen folder.
    ///
    /// Waits while the one folder is locked by a stack that has no stack file: it starts and will
    /// write one, or it ends and will unlock the folder.
    ///
    /// # Errors
    /// `Busy` if the one folder is locked, a refusal if all are, a fault of the file system.
    pub(super) async fn take(choice: &LogFolder) -> Result<Self, StackError> {
        match choice {
            LogFolder::Exactly(path) => {
                let stack_file = path.join(STACK_FILE);
                loop {
                    if let Some(folder) = Self::lock(path)? {
                        return Ok(folder);
                    }
                    if stack_file.exists() {
                        return Err(StackError::Busy(stack_file));
                    }
                    sleep(LOCK_POLL).await;
                }
            }
            LogFolder::FirstFree(root) => {
                for number in 1..=FOLDERS_MAX {
                    if let Some(folder) = Self::lock(&root.join(format!("log-{number}")))? {
                        return Ok(folder);
                    }
                }
                Err(StackError::Refusal {
                    field: "log folder",
                    rule: format!(
                        "at most {FOLDERS_MAX} stacks may run at a time in {}",
                        root.display()
                    ),
                })
            }
        }
    }

    /// Locks a folder; `None` if another process has locked it.
    fn lock(path: &Path) -> Result<Option<Self>, StackError> {
        let failed = |error| StackError::fault(path.display().to_string(), error);
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(path)
            .map_err(failed)?;
        // The folder may come from an older version, or be a copy.
        fs::set_permissions(path, Permissions::from_mode(0o700)).map_err(failed)?;
        let lock = private(
            OpenOptions::new().create(true).append(true),
            &path.join(LOCK_FILE),
        )
        .map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        let path = path.canonicalize().map_err(failed)?;
        let folder = Self { path, _lock: lock };
        folder.remove_stack_files();
        Ok(Some(folder))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// State directories of the agents.
    pub(super) fn agents_dir(&self) -> PathBuf {
        self.path.join(AGENTS_FOLDER)
    }

    pub(super) fn stack_file(&self) -> PathBuf {
        self.path.join(STACK_FILE)
    }

    pub(super) fn server_file(&self) -> PathBuf {
        self.path.join(SERVER_FILE)
    }

    /// A file for the output of a child, empty when `fresh`.
    pub(super) fn output(&self, child: &str, fresh: bool) -> Result<File, StackError> {
        let path = self.output_path(child);
        let mut options = OpenOptions::new();
        let file = private(options.create(true).append(true), &path).and_then(|file| {
            if fresh {
                file.set_len(0).map(|()| file)
            } else {
                Ok(file)
            }
        });
        file.map_err(|error| StackError::fault(path.display().to_string(), error))
    }

    pub(super) fn output_path(&self, child: &str) -> PathBuf {
        self.path.join(format!("{child}.log"))
    }

    /// Writes a file that holds a secret, atomically.
    pub(super) fn write(&self, path: &Path, content: &[u8]) -> Result<(), StackError> {
        let draft = path.with_extension("draft");
        let written = private(
            OpenOptions::new().create(true).write(true).truncate(true),
            &draft,
        )
        .and_then(|mut file| file.write_all(content))
        .and_then(|()| fs::rename(&draft, path));
        written.map_err(|error| StackError::fault(path.display().to_string(), error))
    }

    /// Removes the stack file and the server's configuration.
    pub(super) fn remove_stack_files(&self) {
        for file in [self.stack_file(), self.server_file()] {
            // Absent is fine; any other error shows when the file is written.
            let _ = fs::remove_file(file);
        }
    }
}

/// Opens a file that only its owner may read; refuses symbolic links.
fn private(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let file = options
        .mode(0o600)
        .custom_flags(libc::O_NOFOLLOW)
        .open(path)?;
    file.set_permissions(Permissions::from_mode(0o600))?;
    Ok(file)
}

/// A secret of 32 random bytes, in hex.
pub(super) fn secret() -> Result<String, StackError> {
    let mut bytes = [0; 32];
    File::open("/dev/urandom")
        .and_then(|mut source| source.read_exact(&mut bytes))
        .map_err(|error| StackError::fault("/dev/urandom", error))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
