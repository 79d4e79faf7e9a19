//! The layout of a cache file: frames with length and checksum, read one at a time.
//!
//! The first frame is the fold, the others are entries of the index, and an empty one ends the
//! file.

use std::fs::{self, DirBuilder, File};
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use flate2::Crc;
use loadpilot_engine::fold::index::Index;

/// First bytes of a file; the number changes with the layout.
const MAGIC: &[u8; 21] = b"loadpilot.reading/11\n";
/// Size in bytes of each of the two words before the content of a frame: its length and its
/// checksum.
const WORD_BYTES: usize = 4;
/// Size in bytes at which a frame of entries is closed.
const FRAME_BYTES: usize = 64 << 10;
/// Access rights of the folder of caches: a log may be as secret as the tested system.
const FOLDER_MODE: u32 = 0o700;

/// A file whose fold was read.
#[derive(Debug)]
pub(super) struct UnreadIndex(BufReader<File>);

/// Opens a file and reads its fold; `None` when there is no valid one.
pub(super) fn open(path: &Path) -> Option<(Vec<u8>, UnreadIndex)> {
    let mut file = BufReader::new(File::open(path).ok()?);
    let mut magic = [0; MAGIC.len()];
    file.read_exact(&mut magic).ok()?;
    let fold = (magic == *MAGIC).then(|| frame(&mut file))??;
    Some((fold, UnreadIndex(file)))
}

impl UnreadIndex {
    /// Reads the index; `None` when it is not valid.
    pub(super) fn read(mut self) -> Option<Index> {
        let mut index = Index::default();
        loop {
            let piece = frame(&mut self.0)?;
            if piece.is_empty() {
                index.pack();
                return Some(index);
            }
            let mut entries = piece.as_slice();
            while !entries.is_empty() {
                let (entry, rest) = postcard::take_from_bytes(entries).ok()?;
                index.add_stored(entry)?;
                entries = rest;
            }
        }
    }
}

/// Writes a file completely, or leaves the existing one; returns its index. `write_fold` writes the
/// fold, which is too large to be held in memory a second time.
pub(super) fn write(
    path: &Path,
    write_fold: impl FnOnce(&mut Summed<'_>) -> io::Result<()>,
    index: &Index,
) -> io::Result<UnreadIndex> {
    if let Some(folder) = path.parent() {
        DirBuilder::new()
            .recursive(true)
            .mode(FOLDER_MODE)
            .create(folder)?;
    }
    let part = path.with_extension("part");
    let mut file = BufWriter::new(File::create(&part)?);
    file.write_all(MAGIC)?;
    let before_index = write_streamed(&mut file, write_fold)?;
    let mut piece = Vec::new();
    for entry in index.stored_entries() {
        piece = postcard::to_extend(&entry, piece).map_err(io::Error::other)?;
        if piece.len() >= FRAME_BYTES {
            write_frame(&mut file, &piece)?;
            piece.clear();
        }
    }
    if !piece.is_empty() {
        write_frame(&mut file, &piece)?;
    }
    write_frame(&mut file, &[])?;
    file.flush()?;
    drop(file);
    fs::rename(&part, path)?;
    let mut written = File::open(path)?;
    written.seek(SeekFrom::Start(before_index))?;
    Ok(UnreadIndex(BufReader::new(written)))
}

/// Writes a frame while its content is produced; returns the position of its end. Its length and
/// its checksum are known only at the end, and are then written before the content.
fn write_streamed(
    file: &mut BufWriter<File>,
    write: impl FnOnce(&mut Summed<'_>) -> io::Result<()>,
) -> io::Result<u64> {
    let place = file.stream_position()?;
    write_words(file, 0, 0)?;
    let (crc, bytes) = (Crc::new(), 0);
    let mut summed = Summed { file, crc, bytes };
    write(&mut summed)?;
    let Summed { file, crc, bytes } = summed;
    let length = u32::try_from(bytes).map_err(io::Error::other)?;
    let end = file.stream_position()?;
    file.seek(SeekFrom::Start(place))?;
    write_words(file, length, with_length(crc, bytes))?;
    file.seek(SeekFrom::Start(end))
}

/// A frame being written, with its checksum so far.
pub(super) struct Summed<'a> {
    file: &'a mut BufWriter<File>,
    crc: Crc,
    bytes: u64,
}

impl Write for Summed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write_all(bytes)?;
        self.crc.update(bytes);
        self.bytes += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

fn write_frame(file: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    let length = u32::try_from(bytes.len()).map_err(io::Error::other)?;
    write_words(file, length, checksum(bytes))?;
    file.write_all(bytes)
}

fn write_words(file: &mut impl Write, length: u32, checksum: u32) -> io::Result<()> {
    file.write_all(&length.to_le_bytes())?;
    file.write_all(&checksum.to_le_bytes())
}

/// The next frame; `None` when it is torn or damaged.
fn frame(file: &mut impl Read) -> Option<Vec<u8>> {
    let mut word = || {
        let mut word = [0; WORD_BYTES];
        file.read_exact(&mut word).ok()?;
        Some(u32::from_le_bytes(word))
    };
    let (length, crc) = (word()?, word()?);
    let mut bytes = Vec::new();
    let read = file.take(length.into()).read_to_end(&mut bytes).ok()?;
    let is_whole = u32::try_from(read) == Ok(length) && checksum(&bytes) == crc;
    is_whole.then_some(bytes)
}

/// Checksum over the bytes and the length of a frame, so that a frame with a wrong length is
/// invalid.
fn checksum(bytes: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(bytes);
    with_length(crc, bytes.len() as u64)
}

fn with_length(mut crc: Crc, bytes: u64) -> u32 {
    crc.update(&bytes.to_le_bytes());
    crc.sum()
}
