//! A run in one file (`.lprun`), which every command that takes a run reads without a server.
//!
//! The file is a ZIP archive, so that any tool can open it:
//!
//! - `ctl-00001.ndjson` …, `data-00001.ndjson` …: the records of both streams in order, one a line:
//!   `seq`, `at_us` (server's time in µs since 1970), `subject` and `event`, its stored JSON byte
//!   for byte, or `base64` where what is stored is not one line of JSON
//! - `objects/SHA256`: request bodies and source files that the plan names
//! - `manifest.json`: run, versions, and size and SHA-256 of every member above
//! - `signature.json`, if the exporter signed the manifest
//!
//! The comment of the archive is the SHA-256 of all bytes before it: a file that was truncated or
//! changed is refused before any other part of it is read. Sequences stay those of the log, so that
//! report, digest and evidence of `verify` are the same. Two exports of one log are byte-for-byte
//! equal.

mod read;
mod redaction;
mod signature;
mod write;

use std::collections::BTreeMap;
use std::path::Path;

use loadpilot_bus::Stream;
use loadpilot_events::RunId;
use loadpilot_events::refusal::Problem;
use serde::{Deserialize, Serialize};

pub use read::signer;
pub use write::Exported;

/// Value of `format` in the manifest.
const FORMAT: &str = "loadpilot-run";
/// Version of the format that is written, and the newest that is read.
const VERSION: u32 = 1;
const MANIFEST: &str = "manifest.json";
const SIGNATURE: &str = "signature.json";
const OBJECTS: &str = "objects/";
/// Begin of the comment of the archive; the checksum in lower-case hex follows.
const CHECKSUM: &str = "sha256:";
const CHECKSUM_HEX: usize = 64;

/// Size in bytes at which a member of records is closed. A reader holds one member in memory.
const MEMBER_BYTES: usize = 4 << 20;
/// Maximum uncompressed size in bytes of a member that a reader takes into memory.
const MEMBER_BYTES_MAX: u64 = 1 << 30;
/// The same for the manifest, which is read before anything is known of the file.
const MANIFEST_BYTES_MAX: u64 = 64 << 20;

/// `manifest.json`.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Manifest {
    format: String,
    version: u32,
    /// Version of the program that wrote the file.
    written_by: String,
    run: RunId,
    /// The first two tokens of all subjects.
    prefix: String,
    tenant: String,
    /// Whether bodies, targets and tags were left out.
    redacted: bool,
    /// When the streams were created that the records were read from, in µs since 1970.
    ctl_created_us: u64,
    data_created_us: u64,
    /// In the order of the file.
    members: Vec<Member>,
}

/// A member of the archive.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Member {
    name: String,
    /// Size without compression.
    bytes: u64,
    sha256: String,
    /// For a member of records: the records that it contains.
    #[serde(skip_serializing_if = "Option::is_none")]
    records: Option<Records>,
}

/// The records that a member contains.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Records {
    stream: StreamName,
    count: u64,
    first_seq: u64,
    last_seq: u64,
}

/// A stream, as manifest and members name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StreamName {
    Ctl,
    Data,
}

impl From<Stream> for StreamName {
    fn from(stream: Stream) -> Self {
        match stream {
            Stream::Ctl => Self::Ctl,
            Stream::Data => Self::Data,
        }
    }
}

impl StreamName {
    fn member(self, number: usize) -> String {
        let stream = match self {
            Self::Ctl => "ctl",
            Self::Data => "data",
        };
        format!("{stream}-{number:05}.ndjson")
    }
}

/// A line of a member of records. Exactly one of `event` and `base64` is present.
#[derive(Debug, Serialize, Deserialize)]
struct Line<'a> {
    seq: u64,
    at_us: u64,
    subject: std::borrow::Cow<'a, str>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    event: Option<&'a serde_json::value::RawValue>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    base64: Option<String>,
}

/// `signature.json`: a signature of the bytes of `manifest.json`.
#[derive(Debug, Serialize, Deserialize)]
struct Signature {
    /// Public key of the signer: an nkey.
    key: String,
    /// Ed25519 signature in standard base64.
    signature: String,
}

/// Content of objects by SHA-256.
type Objects = BTreeMap<String, bytes::Bytes>;

fn problem(path: &Path, rule: impl Into<String>, value: impl std::fmt::Display) -> Problem {
    Problem::new(path.display().to_string(), rule, value)
}
