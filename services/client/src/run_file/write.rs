//! Writes a run to a file, in one pass over its log.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufWriter, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use loadpilot_bus::{Stored, Stream};
use loadpilot_engine::report::NoReport;
use loadpilot_events::RunId;
use loadpilot_events::plan::{Object, Plan, hex};
use loadpilot_events::refusal::Problem;
use serde::Serialize;
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::redaction::Redaction;
use super::signature::sign;
use super::{
    CHECKSUM, CHECKSUM_HEX, FORMAT, Line, MANIFEST, MEMBER_BYTES, MEMBER_BYTES_MAX, Manifest,
    Member, OBJECTS, Objects, Records, SIGNATURE, VERSION,
};
use crate::session::{Session, SessionError, control_of, plans, retry_unreachable};

/// Figures of a file that was written.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Exported {
    /// Number of records in both streams.
    pub records: u64,
    /// Number of objects.
    pub objects: u64,
    /// Number of objects that the plan names and the store no longer has.
    pub objects_gone: u64,
    /// Size of the file.
    pub bytes: u64,
}

impl Session {
    /// Writes a run to `path`, replacing an existing file. With `redact`, bodies, targets and tags
    /// are removed. `seed` is the nkey seed that signs the file.
    ///
    /// # Errors
    /// When the log holds no such run, when the run is not over, or when the seed is invalid; when
    /// the file cannot be written; or a fault of the bus.
    pub async fn export(
        &self,
        run: &RunId,
        path: &Path,
        redact: bool,
        seed: Option<&str>,
    ) -> Result<Exported, SessionError> {
        let control = self.control(run).await?;
        let plan = plans(&control).last();
        let plan = plan.ok_or_else(|| NoReport::Unknown(run.to_string()))?;
        if !control.state.over {
            return Err(Problem::new("run", "must be over before it is exported", run).into());
        }
        let (bus, subjects) = self.parts();
        let redaction = redact.then(|| Redaction::of(plan));
        let (objects, objects_gone) = match redact {
            true => (Objects::new(), 0),
            false => self.objects_of(plan).await?,
        };
        let mut file = RunFile::create(path)?;
        let mut count = 0;
        for (stream, filters) in [
            (Stream::Ctl, control_of(&subjects, run)),
            (Stream::Data, vec![subjects.delta_all(run)]),
        ] {
            let mut tail = retry_unreachable(|| bus.tail(stream, filters.clone(), 1)).await?;
            while let Some(mut stored) = tail.next_stored().await? {
                if let Some(redaction) = &redaction {
                    stored.payload = redaction.record(&stored.payload).into();
                }
                file.add(stream, &stored)?;
                count += 1;
            }
            file.end_member()?;
        }
        for (sha256, content) in &objects {
            file.member(format!("{OBJECTS}{sha256}"), content, None)?;
        }
        let manifest = Manifest {
            format: FORMAT.to_owned(),
            version: VERSION,
            written_by: env!("CARGO_PKG_VERSION").to_owned(),
            run: run.clone(),
            prefix: subjects.prefix().to_owned(),
            tenant: subjects.tenant().to_owned(),
            redacted: redact,
            ctl_created_us: bus.created(Stream::Ctl).await?,
            data_created_us: bus.created(Stream::Data).await?,
            members: std::mem::take(&mut file.members),
        };
        Ok(Exported {
            records: count,
            objects: objects.len() as u64,
            objects_gone,
            bytes: file.end(&manifest, seed)?,
        })
    }

    /// The objects of a plan that can be read, and the number of the others. States of users are
    /// not included: the key that opens them is destroyed.
    async fn objects_of(&self, plan: &Plan) -> Result<(Objects, u64), SessionError> {
        let (bus, subjects) = self.parts();
        let states = plan.prepared().map(|prepared| &prepared.states);
        let wanted: BTreeSet<&Object> = plan.objects();
        let (mut found, mut gone) = (Objects::new(), 0);
        for object in wanted.into_iter().filter(|object| Some(*object) != states) {
            let name = subjects.object(&object.sha256);
            match bus.object_get(&name, MEMBER_BYTES_MAX).await? {
                Some(content) => drop(found.insert(object.sha256.clone(), content)),
                None => gone += 1,
            }
        }
        Ok((found, gone))
    }
}

/// A file that is being written.
struct RunFile {
    archive: ZipWriter<BufWriter<File>>,
    members: Vec<Member>,
    /// Lines of the open member, and the records that they contain.
    lines: Vec<u8>,
    open: Option<Records>,
}

impl RunFile {
    fn create(path: &Path) -> Result<Self, SessionError> {
        let file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .open(path)?;
        Ok(Self {
            archive: ZipWriter::new(BufWriter::new(file)),
            members: Vec::new(),
            lines: Vec::new(),
            open: None,
        })
    }

    fn add(&mut self, stream: Stream, stored: &Stored) -> Result<(), SessionError> {
        let event = one_line_of_json(&stored.payload);
        let line = Line {
            seq: stored.seq,
            at_us: stored.stored_at_us,
            subject: stored.subject.as_str().into(),
            base64: event
                .is_none()
                .then(|| BASE64_STANDARD.encode(&stored.payload)),
            event,
        };
        serde_json::to_writer(&mut self.lines, &line).map_err(std::io::Error::from)?;
        self.lines.push(b'\n');
        let records = self.open.get_or_insert(Records {
            stream: stream.into(),
            count: 0,
            first_seq: stored.seq,
            last_seq: stored.seq,
        });
        records.count += 1;
        records.last_seq = stored.seq;
        match self.lines.len() >= MEMBER_BYTES {
            true => self.end_member(),
            false => Ok(()),
        }
    }

    /// Writes the open member of records, if there is one.
    fn end_member(&mut self) -> Result<(), SessionError> {
        let Some(records) = self.open.take() else {
            return Ok(());
        };
        let of_stream = |member: &&Member| {
            let stream = member.records.map(|records| records.stream);
            stream == Some(records.stream)
        };
        let number = self.members.iter().filter(of_stream).count() + 1;
        let lines = std::mem::take(&mut self.lines);
        self.member(records.stream.member(number), &lines, Some(records))
    }

    fn member(
        &mut self,
        name: String,
        content: &[u8],
        records: Option<Records>,
    ) -> Result<(), SessionError> {
        self.write(&name, content)?;
        self.members.push(Member {
            name,
            bytes: content.len() as u64,
            sha256: hex(&Sha256::digest(content)),
            records,
        });
        Ok(())
    }

    fn write(&mut self, name: &str, content: &[u8]) -> Result<(), SessionError> {
        // The default time of a member is a constant, so that equal runs have equal files.
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .large_file(content.len() as u64 >= u64::from(u32::MAX));
        self.archive.start_file(name, options).map_err(written)?;
        Ok(self.archive.write_all(content)?)
    }

    /// Writes manifest, signature and checksum, and returns the size of the file.
    fn end(mut self, manifest: &Manifest, seed: Option<&str>) -> Result<u64, SessionError> {
        let text = serde_json::to_vec_pretty(manifest).map_err(std::io::Error::from)?;
        self.write(MANIFEST, &text)?;
        if let Some(seed) = seed {
            let signature = sign(&text, seed)?;
            let signature = serde_json::to_vec_pretty(&signature).map_err(std::io::Error::from)?;
            self.write(SIGNATURE, &signature)?;
        }
        let placeholder = format!("{CHECKSUM}{}", "0".repeat(CHECKSUM_HEX));
        self.archive.set_comment(placeholder).map_err(written)?;
        let buffered = self.archive.finish().map_err(written)?;
        let mut file = buffered
            .into_inner()
            .map_err(std::io::IntoInnerError::into_error)?;
        let size = file.stream_position()?;
        let before = size - CHECKSUM_HEX as u64;
        let checksum = super::read::checksum(&mut file, before)?;
        file.seek(SeekFrom::Start(before))?;
        file.write_all(checksum.as_bytes())?;
        file.sync_all()?;
        Ok(size)
    }
}

/// `payload` as JSON, if it is exactly one line of JSON.
fn one_line_of_json(payload: &Bytes) -> Option<&RawValue> {
    let json: &RawValue = serde_json::from_slice(payload).ok()?;
    let is_whole = json.get().len() == payload.len() && !json.get().contains(['\n', '\r']);
    is_whole.then_some(json)
}

fn written(error: zip::result::ZipError) -> std::io::Error {
    match error {
        zip::result::ZipError::Io(error) => error,
        other => std::io::Error::other(other),
    }
}
