//! Files of rows on disk: checked, hashed and indexed in one pass; afterwards rows are read when
//! they are needed, by position. Must never hold more of a file in memory than a few blocks of its
//! index.

use std::cell::RefCell;
use std::fs::{File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::Arc;

use loadpilot_events::plan::script::RowForm;
use loadpilot_events::plan::{Object, hex};
use loadpilot_script::rows::checker::{Checker, Contents};
use loadpilot_script::rows::index::Block;
use loadpilot_script::rows::{Misread, Row, RowReader, row_in};
use ring::digest::{Context, SHA256};
use thiserror::Error;

/// Number of bytes that are checked at a time.
const CHUNK_BYTES: usize = 256 << 10;
/// Number of blocks that a reader keeps.
const BLOCKS: usize = 4;

/// A file whose rows are all well formed.
#[derive(Debug)]
pub struct RowFile {
    file: File,
    stamp: Stamp,
    contents: Contents,
    content: Object,
}

/// Why a file of rows cannot be used.
#[derive(Debug, Error)]
pub enum Fault {
    /// The system cannot read it.
    #[error("cannot be read: {0}")]
    Io(#[from] io::Error),
    /// Its content is wrong.
    #[error("{0}")]
    Misread(Misread),
    /// The file was modified while it was read.
    #[error("was changed while it was read")]
    Changed,
}

/// The attributes that reveal a change of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    bytes: u64,
    modified: (i64, i64),
}

impl Stamp {
    fn of(metadata: &Metadata) -> Self {
        Self {
            bytes: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
        }
    }
}

impl RowFile {
    /// Checks an open file from its begin to its end.
    ///
    /// # Errors
    /// The first row that is wrong, or an error of the system.
    pub fn check(mut file: File, form: RowForm) -> Result<Self, Fault> {
        let stamp = Stamp::of(&file.metadata()?);
        file.seek(SeekFrom::Start(0))?;
        let (mut checker, mut hash) = (Checker::new(form), Context::new(&SHA256));
        let mut chunk = vec![0; CHUNK_BYTES];
        let mut bytes = 0;
        loop {
            let count = match file.read(&mut chunk) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error.into()),
            };
            hash.update(&chunk[..count]);
            checker.push(&chunk[..count]).map_err(Fault::Misread)?;
            bytes += count as u64;
        }
        let contents = checker.finish().map_err(Fault::Misread)?;
        if bytes != stamp.bytes || Stamp::of(&file.metadata()?) != stamp {
            return Err(Fault::Changed);
        }
        let sha256 = hex(hash.finish().as_ref());
        Ok(Self {
            file,
            stamp,
            contents,
            content: Object { sha256, bytes },
        })
    }

    /// Its columns, rows and index.
    #[must_use]
    pub fn contents(&self) -> &Contents {
        &self.contents
    }

    /// Its hash and size.
    #[must_use]
    pub fn content(&self) -> &Object {
        &self.content
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.contents.index.rows()
    }

    fn read(&self, block: Block) -> Result<Vec<u8>, String> {
        let unreadable = |error: io::Error| format!("the file of rows cannot be read: {error}");
        let metadata = self.file.metadata().map_err(unreadable)?;
        if Stamp::of(&metadata) != self.stamp {
            return Err(CHANGED.to_owned());
        }
        let bytes = usize::try_from(block.bytes).map_err(|_| CHANGED.to_owned())?;
        let mut content = vec![0; bytes];
        let read = self.file.read_exact_at(&mut content, block.from);
        read.map_err(unreadable)?;
        Ok(content)
    }
}

/// Why a row cannot be read that was well formed before.
const CHANGED: &str = "the file of rows was changed after the run began to use it";

/// Reads rows of a file for one thread.
#[derive(Debug)]
pub struct Cursor {
    file: Arc<RowFile>,
    /// The blocks read last, by their number modulo the number of places.
    blocks: RefCell<[Kept; BLOCKS]>,
}

/// A block with its bytes; `None` before the first.
type Kept = Option<(Block, Vec<u8>)>;

impl Cursor {
    /// Reads a checked file.
    #[must_use]
    pub fn new(file: Arc<RowFile>) -> Self {
        Self {
            file,
            blocks: RefCell::default(),
        }
    }

    /// The file.
    #[must_use]
    pub fn file(&self) -> &RowFile {
        &self.file
    }
}

impl RowReader for Cursor {
    fn row(&self, place: u64) -> Result<Row, String> {
        let Contents {
            form,
            columns,
            index,
            ..
        } = &self.file.contents;
        let missing = || {
            format!(
                "the file has {} rows, and row {place} is asked for",
                index.rows()
            )
        };
        let (number, block) = index.block(place).ok_or_else(missing)?;
        let mut blocks = self.blocks.borrow_mut();
        let kept = &mut blocks[number % BLOCKS];
        let content = match kept {
            Some((known, content)) if *known == block => content,
            other => {
                let content = self.file.read(block)?;
                &mut other.insert((block, content)).1
            }
        };
        let row = row_in(content, place - block.first, *form, columns.len());
        row.ok_or_else(|| CHANGED.to_owned())
    }

    fn columns(&self) -> &[String] {
        &self.file.contents.columns
    }
}
