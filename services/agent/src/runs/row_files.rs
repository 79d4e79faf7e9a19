//! Gets the files of rows of a plan before the start: from a folder of this agent, or from the
//! object store into a file of its own. Must never use a file whose hash differs from the plan's,
//! nor a path outside of the folders.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use loadpilot_events::plan::Plan;
use loadpilot_events::plan::script;
use thiserror::Error;
use tokio::task::spawn_blocking;
use ulid::Ulid;

use super::bodies;
use crate::process::shell::Shell;
use crate::users::row_file::{self, RowFile};

/// Why a file of rows is not available.
#[derive(Debug, Error)]
pub(super) enum Fault {
    /// It is too large for the object store, and no folder has it.
    #[error(
        "the rows of {name} ({bytes} bytes, SHA-256 {sha256}) are too large for the object store: \
         put the file on this agent, and start the agent with --feeds DIR so that DIR/{name} is it\
         {found}"
    )]
    Absent {
        /// Path in the folder of the scenario.
        name: String,
        /// Size in the plan.
        bytes: u64,
        /// Hash in the plan.
        sha256: String,
        /// What the folders contain instead.
        found: String,
    },
    /// The object store lacks it.
    #[error(transparent)]
    Store(#[from] bodies::Fault),
    /// The system cannot write or read the agent's own copy.
    #[error("the rows of {name} cannot be written to {}: {error}", .folder.display())]
    Copy {
        /// Path in the folder of the scenario.
        name: String,
        /// Folder of the copy.
        folder: PathBuf,
        /// Error of the system.
        error: io::Error,
    },
    /// The content is not valid rows.
    #[error("the rows of {name} cannot be read: {why}")]
    Unreadable {
        /// Path in the folder of the scenario.
        name: String,
        /// Why.
        why: String,
    },
}

/// Opens the file of each feed of `plan` that has one.
///
/// # Errors
/// [`Fault`].
pub(super) async fn fetch(shell: &Shell, plan: &Plan) -> Result<Vec<Option<Arc<RowFile>>>, Fault> {
    let mut files = Vec::new();
    for feed in plan.feeds() {
        files.push(match &feed.file {
            Some(file) => Some(Arc::new(fetch_one(shell, file).await?)),
            None => None,
        });
    }
    Ok(files)
}

async fn fetch_one(shell: &Shell, wanted: &script::RowFile) -> Result<RowFile, Fault> {
    let mut found = String::new();
    for folder in &shell.feeds {
        let (path, file) = (folder.join(&wanted.name), wanted.clone());
        if !is_inside(&wanted.name) {
            break;
        }
        match blocking(&wanted.name, move || in_folder(&path, &file)).await? {
            Ok(file) => return Ok(file),
            Err(other) => found = format!(" ({other})"),
        }
    }
    let (name, content) = (wanted.name.clone(), &wanted.content);
    if !wanted.is_stored() {
        return Err(Fault::Absent {
            name,
            bytes: content.bytes,
            sha256: content.sha256.clone(),
            found,
        });
    }
    // Verified against its hash.
    let bytes = bodies::fetch_one(shell, content).await?;
    let folder = shell.rings.as_ref().map(|rings| rings.folder.clone());
    let folder = folder.unwrap_or_else(std::env::temp_dir);
    let (form, place) = (wanted.form, folder.clone());
    let copy = move || {
        let file = unnamed_copy(&place, &bytes)?;
        Ok::<_, io::Error>(RowFile::check(file, form))
    };
    let copied = blocking(&wanted.name, copy).await?;
    match copied {
        Err(error) => Err(Fault::Copy {
            name,
            folder,
            error,
        }),
        Ok(Ok(file)) => Ok(file),
        Ok(Err(why)) => Err(unreadable(&name, why)),
    }
}

/// The file at a path, if it is the wanted one; otherwise a description of what is there.
fn in_folder(path: &Path, wanted: &script::RowFile) -> Result<RowFile, String> {
    let shown = path.display();
    let file = File::open(path).map_err(|error| format!("{shown}: {error}"))?;
    let bytes = file.metadata().map(|metadata| metadata.len());
    if bytes.is_ok_and(|bytes| bytes != wanted.content.bytes) {
        return Err(format!("{shown} has another size"));
    }
    match RowFile::check(file, wanted.form) {
        Ok(file) if *file.content() == wanted.content => Ok(file),
        Ok(_) => Err(format!("{shown} has another content")),
        Err(row_file::Fault::Misread(misread)) => Err(format!("{shown}: {misread}")),
        Err(fault) => Err(format!("{shown} {fault}")),
    }
}

/// A copy without a name, so that none of it stays behind when the process is killed.
fn unnamed_copy(folder: &Path, bytes: &[u8]) -> io::Result<File> {
    std::fs::create_dir_all(folder)?;
    let path = folder.join(format!("{}.rows", Ulid::generate()));
    let mut options = OpenOptions::new();
    let mut file = options
        .read(true)
        .write(true)
        .create_new(true)
        .open(&path)?;
    std::fs::remove_file(&path)?;
    file.write_all(bytes)?;
    Ok(file)
}

/// Whether a path cannot leave the folder that it is joined to.
fn is_inside(name: &str) -> bool {
    let mut parts = Path::new(name).components();
    parts.all(|part| matches!(part, Component::Normal(_)))
}

async fn blocking<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Fault> {
    let done = spawn_blocking(work).await;
    done.map_err(|error| unreadable(name, error))
}

fn unreadable(name: &str, why: impl ToString) -> Fault {
    Fault::Unreadable {
        name: name.to_owned(),
        why: why.to_string(),
    }
}
