//! Reads a run from a file: its checksum first, then only the requested parts.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use loadpilot_bus::{Bus, Events, Fault, Records as Source, Stored, Stream};
use loadpilot_events::plan::hex;
use loadpilot_events::refusal::Problem;
use loadpilot_events::wire::subject::Subjects;
use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use zip::ZipArchive;

use super::signature::is_of;
use super::{
    CHECKSUM, CHECKSUM_HEX, FORMAT, Line, MANIFEST, MANIFEST_BYTES_MAX, MEMBER_BYTES_MAX, Manifest,
    Member, OBJECTS, SIGNATURE, Signature, StreamName, VERSION, problem,
};
use crate::session::Session;
use crate::session::session_error::SessionError;

/// Begin of every ZIP archive that has a member.
const ZIP_BEGIN: &[u8] = b"PK\x03\x04";
/// Rule for a file that is not a run file.
const FOREIGN: &str = "must be a file that `loadpilot export` wrote";
/// Rule for a file with missing or changed bytes.
const DAMAGED: &str =
    "must be whole: it was truncated or changed after `loadpilot export` wrote it";

impl Session {
    /// Opens the run in a file, to read it.
    ///
    /// # Errors
    /// When the file cannot be read, is damaged, or has a format that this version does not read.
    pub async fn on_file(path: &Path) -> Result<Session, SessionError> {
        let file = RunFile::open(path)?;
        let subjects = Subjects::new(&file.manifest.prefix, &file.manifest.tenant)?;
        Ok(Session::on(Bus::file(Arc::new(file)), subjects))
    }
}

/// The public key that signed a file; `None` without a signature.
///
/// # Errors
/// When the file cannot be opened, or the signature is not valid for its key.
pub fn signer(path: &Path) -> Result<Option<String>, SessionError> {
    let file = RunFile::open(path)?;
    let mut archive = file.archive()?;
    if archive.index_for_name(SIGNATURE).is_none() {
        return Ok(None);
    }
    let mut read = |name| {
        let content = content(&mut archive, name, MANIFEST_BYTES_MAX);
        content.map_err(|why| problem(path, DAMAGED, why))
    };
    let signature = serde_json::from_slice(&read(SIGNATURE)?);
    let signature: Signature = signature.map_err(|_| problem(path, DAMAGED, SIGNATURE))?;
    let manifest = read(MANIFEST)?;
    match is_of(&signature, &manifest) {
        true => Ok(Some(signature.key)),
        false => Err(problem(path, "must have the signature of its key", signature.key).into()),
    }
}

/// A run in a file whose checksum is right.
#[derive(Debug)]
struct RunFile {
    path: PathBuf,
    manifest: Manifest,
    /// First bytes of the checksum of the manifest, which contains the checksums of all members.
    identity: u64,
}

impl RunFile {
    fn open(path: &Path) -> Result<Self, SessionError> {
        let unreadable = |error: io::Error| problem(path, "must be a readable file", error);
        let mut file = File::open(path).map_err(unreadable)?;
        is_whole(&mut file, path)?;
        let mut archive =
            ZipArchive::new(BufReader::new(file)).map_err(|_| problem(path, DAMAGED, "archive"))?;
        let text = content(&mut archive, MANIFEST, MANIFEST_BYTES_MAX)
            .map_err(|_| problem(path, FOREIGN, "a ZIP"))?;
        let manifest = read_manifest(path, &text)?;
        let hash = Sha256::digest(&text);
        let (first, _) = hash.split_first_chunk().unwrap_or((&[0; 8], &[]));
        Ok(Self {
            path: path.to_owned(),
            manifest,
            identity: u64::from_le_bytes(*first),
        })
    }

    fn archive(&self) -> Result<ZipArchive<BufReader<File>>, Fault> {
        let file = File::open(&self.path).map_err(|error| self.broken(&error))?;
        ZipArchive::new(BufReader::new(file)).map_err(|error| self.broken(&error))
    }

    fn broken(&self, why: &dyn std::fmt::Display) -> Fault {
        Fault::Broken {
            name: self.path.display().to_string(),
            why: why.to_string(),
        }
    }

    fn members(&self, stream: Stream) -> impl Iterator<Item = (&Member, super::Records)> {
        let stream = StreamName::from(stream);
        let members = self.manifest.members.iter();
        members
            .filter_map(|member| Some((member, member.records?)))
            .filter(move |(_, records)| records.stream == stream)
    }
}

impl Source for RunFile {
    fn events(&self, stream: Stream, from_seq: u64) -> Result<Events, Fault> {
        let members: Vec<Member> = self
            .members(stream)
            .filter(|(_, records)| records.last_seq >= from_seq)
            .map(|(member, _)| member.clone())
            .collect();
        let mut archive = self.archive()?;
        let name = self.path.display().to_string();
        let read = move |member: Member| -> Vec<Result<Stored, Fault>> {
            let broken = |why: String| Fault::Broken {
                name: format!("{name} ({})", member.name),
                why,
            };
            match records_of(&mut archive, &member) {
                Ok(records) => records.into_iter().map(Ok).collect(),
                Err(why) => vec![Err(broken(why))],
            }
        };
        let events = members.into_iter().flat_map(read);
        Ok(Box::new(events.filter(move |stored| {
            stored
                .as_ref()
                .map_or(true, |stored| stored.seq >= from_seq)
        })))
    }

    fn head(&self, stream: Stream) -> u64 {
        let last = self.members(stream).map(|(_, records)| records.last_seq);
        last.max().unwrap_or(0)
    }

    fn created_us(&self, stream: Stream) -> u64 {
        match stream {
            Stream::Ctl => self.manifest.ctl_created_us,
            Stream::Data => self.manifest.data_created_us,
        }
    }

    fn identity(&self) -> u64 {
        self.identity
    }

    fn object(&self, name: &str) -> Result<Option<Bytes>, Fault> {
        let sha256 = Subjects::last_token(name);
        let wanted = format!("{OBJECTS}{sha256}");
        let mut members = self.manifest.members.iter();
        let Some(member) = members.find(|member| member.name == wanted) else {
            return Ok(None);
        };
        let content = checked(&mut self.archive()?, member);
        Ok(Some(content.map_err(|why| self.broken(&why))?.into()))
    }
}

/// Compares the bytes of a file with the checksum at its end.
fn is_whole(file: &mut File, path: &Path) -> Result<(), SessionError> {
    let mut begin = Vec::new();
    file.by_ref()
        .take(ZIP_BEGIN.len() as u64)
        .read_to_end(&mut begin)
        .map_err(|error| problem(path, "must be a readable file", error))?;
    if begin != ZIP_BEGIN {
        let bytes = match begin.is_empty() {
            true => "an empty file".to_owned(),
            false => "another kind of file".to_owned(),
        };
        return Err(problem(path, FOREIGN, bytes).into());
    }
    let end = (CHECKSUM.len() + CHECKSUM_HEX) as u64;
    let size = file.metadata()?.len();
    let mut comment = Vec::new();
    file.seek(SeekFrom::Start(size.saturating_sub(end)))?;
    file.read_to_end(&mut comment)?;
    let stated = comment.strip_prefix(CHECKSUM.as_bytes());
    let before = size.saturating_sub(CHECKSUM_HEX as u64);
    let found = checksum(file, before)?;
    file.rewind()?;
    match stated {
        Some(stated) if stated == found.as_bytes() => Ok(()),
        _ => Err(problem(path, DAMAGED, format!("checksum {found}")).into()),
    }
}

/// SHA-256 of the first `bytes` bytes of a file, in lower-case hex.
pub(super) fn checksum(file: &mut File, bytes: u64) -> io::Result<String> {
    file.rewind()?;
    let mut hash = Sha256::new();
    let mut rest = BufReader::with_capacity(1 << 16, file).take(bytes);
    let mut chunk = vec![0; 1 << 16];
    loop {
        let read = rest.read(&mut chunk)?;
        if read == 0 {
            return Ok(hex(&hash.finalize()));
        }
        hash.update(&chunk[..read]);
    }
}

fn read_manifest(path: &Path, text: &[u8]) -> Result<Manifest, Problem> {
    /// The fields that every version of the format has.
    #[derive(Deserialize)]
    struct Head {
        format: String,
        version: u32,
    }
    let head: Head = serde_json::from_slice(text).map_err(|error| problem(path, FOREIGN, error))?;
    if head.format != FORMAT {
        return Err(problem(path, FOREIGN, head.format));
    }
    if head.version > VERSION {
        let rule = format!(
            "must have a format of at most version {VERSION}: a newer loadpilot wrote it, \
             which also reads it"
        );
        return Err(problem(path, rule, head.version));
    }
    serde_json::from_slice(text).map_err(|error| problem(path, FOREIGN, error))
}

/// At most `bytes_max` bytes of the content of a member.
fn content(
    archive: &mut ZipArchive<BufReader<File>>,
    name: &str,
    bytes_max: u64,
) -> Result<Vec<u8>, String> {
    let member = archive.by_name(name).map_err(|error| error.to_string())?;
    let mut content = Vec::new();
    let read = member.take(bytes_max).read_to_end(&mut content);
    read.map_err(|error| error.to_string())?;
    Ok(content)
}

/// The content of a member, which must match the manifest.
fn checked(archive: &mut ZipArchive<BufReader<File>>, member: &Member) -> Result<Vec<u8>, String> {
    if member.bytes > MEMBER_BYTES_MAX {
        return Err(format!("it states {} bytes", member.bytes));
    }
    let content = content(archive, &member.name, member.bytes + 1)?;
    match hex(&Sha256::digest(&content)) == member.sha256 {
        true => Ok(content),
        false => Err("it is not what the manifest says".to_owned()),
    }
}

fn records_of(
    archive: &mut ZipArchive<BufReader<File>>,
    member: &Member,
) -> Result<Vec<Stored>, String> {
    let content = checked(archive, member)?;
    let lines = content.split(|byte| *byte == b'\n');
    lines.filter(|line| !line.is_empty()).map(stored).collect()
}

fn stored(line: &[u8]) -> Result<Stored, String> {
    let line: Line<'_> = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    let payload = match (line.event, line.base64) {
        (Some(event), None) => Bytes::copy_from_slice(event.get().as_bytes()),
        (None, Some(text)) => BASE64_STANDARD
            .decode(text)
            .map_err(|error| error.to_string())?
            .into(),
        _ => return Err("a record has neither `event` nor `base64`, or both".to_owned()),
    };
    Ok(Stored {
        subject: line.subject.into_owned(),
        seq: line.seq,
        stored_at_us: line.at_us,
        payload,
    })
}
