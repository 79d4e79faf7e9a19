//! Reads the spool of a killed process.
//!
//! Pure: the bytes are an argument. Must never panic on any bytes, nor return a delta that was not
//! closed.

use std::collections::BTreeMap;

use bytes::Bytes;
use loadpilot_engine::tally::crash_recovery::Checkpoint;
use loadpilot_events::RunId;
use loadpilot_events::id::{AgentId, BootId, Holder};

use super::layout::{
    ACKED_AT, FRAME_HEAD_BYTES, HALF_AT, HEADER_BYTES, Layout, MAGIC, NAMES_AT, THREADS_AT,
    VERSION, frame_bytes,
};
use crate::crash::mmap_file::check;

/// Content of a spool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpoolContent {
    /// Id of the run.
    pub run: RunId,
    /// Agent and boot of the process.
    pub holder: Holder,
    /// Number of its firing threads.
    pub threads: u32,
    /// Last checkpoint; the default value without one.
    pub checkpoint: Checkpoint,
    /// Closed deltas without a known acknowledgement, by number.
    pub deltas: BTreeMap<u64, Bytes>,
}

/// Why bytes are not a valid spool.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpoolError {
    /// The magic number is absent.
    #[error("not a spool")]
    Foreign,
    /// The version is unknown.
    #[error("a spool of version {0}, this program reads {VERSION}")]
    Version(u32),
    /// The file is shorter than its header says.
    #[error("a spool that was cut off")]
    Short,
    /// Run or process is invalid.
    #[error("a spool without a valid owner")]
    Nameless,
}

/// Reads the bytes of a spool's file.
///
/// # Errors
/// They are not a complete spool of this version.
pub fn read(bytes: &[u8]) -> Result<SpoolContent, SpoolError> {
    let header = bytes.first_chunk::<HEADER_BYTES>();
    let header = header.filter(|header| header.starts_with(&MAGIC));
    let header = header.ok_or(SpoolError::Foreign)?;
    let version = word_u32(header, 8);
    if version != VERSION {
        return Err(SpoolError::Version(version));
    }
    let half = usize::try_from(word_u64(header, HALF_AT)).map_err(|_| SpoolError::Short)?;
    // A half longer than the file means a truncated file.
    let half = Some(half).filter(|half| *half <= bytes.len());
    let layout = Layout {
        half: half.ok_or(SpoolError::Short)?,
        ..Layout::new(word_u32(header, THREADS_AT), 0)
    };
    if bytes.len() < layout.bytes() {
        return Err(SpoolError::Short);
    }
    let (run, holder) = owner(header).ok_or(SpoolError::Nameless)?;
    let checkpoint = newest_checkpoint(bytes, &layout);
    let acked = word_u64(header, ACKED_AT);
    let mut deltas = BTreeMap::new();
    for place in 0..2 {
        let at = layout.half_at(place);
        frames(&bytes[at..at + layout.half], &mut deltas);
    }
    deltas.retain(|seq, _| *seq > acked && *seq <= checkpoint.last_seq);
    Ok(SpoolContent {
        run,
        holder,
        threads: layout.threads,
        checkpoint,
        deltas,
    })
}

/// The newest complete checkpoint.
fn newest_checkpoint(bytes: &[u8], layout: &Layout) -> Checkpoint {
    let found = (0..2).filter_map(|place| {
        let at = layout.slot_at(place);
        let (number, content) = frame(&bytes[at..at + layout.slot])?;
        Some((number, serde_json::from_slice(content).ok()?))
    });
    let newest = found.max_by_key(|(number, _)| *number);
    newest.map(|(_, checkpoint)| checkpoint).unwrap_or_default()
}

/// The deltas of a half, up to the first absent or older frame.
fn frames(mut half: &[u8], deltas: &mut BTreeMap<u64, Bytes>) {
    let mut last = 0;
    while let Some((seq, content)) = frame(half).filter(|(seq, _)| *seq > last) {
        deltas.insert(seq, Bytes::copy_from_slice(content));
        last = seq;
        half = half.get(frame_bytes(content.len())..).unwrap_or_default();
    }
}

/// Number and content of the frame at the start of the bytes.
fn frame(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let head: &[u8; FRAME_HEAD_BYTES] = bytes.first_chunk()?;
    let (found, len) = (word_u32(head, 0), word_u32(head, 4));
    let number = word_u64(head, 8);
    let content = bytes.get(FRAME_HEAD_BYTES..)?.get(..len as usize)?;
    (found == check(number, content)).then_some((number, content))
}

fn owner(header: &[u8; HEADER_BYTES]) -> Option<(RunId, Holder)> {
    let [run, agent, boot] = NAMES_AT.map(|at| {
        let len = usize::from(header[at]);
        std::str::from_utf8(&header[at + 1..=at + len]).ok()
    });
    let holder = Holder {
        agent: AgentId::parse(agent?).ok()?,
        boot_id: BootId::parse(boot?).ok()?,
    };
    Some((RunId::parse(run?).ok()?, holder))
}

fn word_u32(bytes: &[u8], at: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(word)
}

fn word_u64(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}
