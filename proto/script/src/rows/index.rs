//! Index of a file of rows: the offsets of some rows, at limited distances.

/// Maximum number of rows between two entries.
pub const ROWS_MAX: u64 = 128;
/// Distance in bytes from the last entry at which the next row gets an entry, too.
pub const BYTES: u64 = 64 << 10;

/// Where some of the rows of a file begin. An entry has 16 bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Index {
    /// Row and offset, ascending.
    entries: Vec<(u64, u64)>,
    rows: u64,
    /// End of the last row.
    end: u64,
}

/// A range of bytes that begins with a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    /// Number of rows before it.
    pub first: u64,
    /// Offset in the file.
    pub from: u64,
    /// Number of bytes.
    pub bytes: u64,
}

impl Index {
    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is no row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Adds the next row, from one offset to another.
    pub(super) fn add(&mut self, from: u64, to: u64) {
        let is_due =
            |(row, offset): &(u64, u64)| self.rows - row >= ROWS_MAX || from - offset >= BYTES;
        if self.entries.last().is_none_or(is_due) {
            self.entries.push((self.rows, from));
        }
        self.rows += 1;
        self.end = to;
    }

    /// The number of the block that contains a row, and the block; `None` if there are fewer rows.
    #[must_use]
    pub fn block(&self, row: u64) -> Option<(usize, Block)> {
        if row >= self.rows {
            return None;
        }
        let next = self.entries.partition_point(|(first, _)| *first <= row);
        let number = next.checked_sub(1)?;
        let (first, from) = *self.entries.get(number)?;
        let to = self.entries.get(next).map_or(self.end, |(_, from)| *from);
        let bytes = to - from;
        Some((number, Block { first, from, bytes }))
    }
}
