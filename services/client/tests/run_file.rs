//! The file of a run contains its log byte for byte; any other file is refused.

use std::path::Path;

use bytes::Bytes;
use loadpilot_bus::{AppendError, Bus, Fault, Step, Stored, Stream};
use loadpilot_client::run_file::signer;
use loadpilot_client::session::{Session, SessionError};
use loadpilot_events::RunId;
use loadpilot_events::wire::subject::Subjects;
use nkeys::KeyPair;
use tempfile::TempDir;

const REQUESTED: &str = include_str!("../../../proto/golden/run-requested.v1.json");
const REFUSED: &str = include_str!("../../../proto/golden/run-refused.v1.json");
const DELTA: &str = include_str!("../../../proto/golden/delta-reported.v1.json");

fn subjects() -> Subjects {
    Subjects::new("lp", "local").expect("they are tokens")
}

fn run() -> RunId {
    RunId::parse("01m894jybkytfrm06zh1e65gz0").expect("a token")
}

/// A log with two runs; the exported one also has records that no writer of ours stores.
async fn log() -> (Bus, Session) {
    let bus = Bus::memory();
    bus.open_log().await.expect("it is new");
    let (run, other) = (run(), RunId::parse("other").expect("a token"));
    let agent = loadpilot_events::id::AgentId::parse("agent-0").expect("a token");
    let subjects = subjects();
    let (ctl, data) = (Stream::Ctl, Stream::Data);
    let records: [(Stream, String, &[u8]); 9] = [
        (ctl, subjects.req(&other), REQUESTED.as_bytes()),
        (ctl, subjects.req(&run), REQUESTED.as_bytes()),
        (ctl, subjects.ctl(&run), REFUSED.as_bytes()),
        (ctl, subjects.evt(&run, &agent), b"{\"a\": 1}"),
        (data, subjects.delta(&run, &agent), DELTA.as_bytes()),
        (data, subjects.delta(&other, &agent), DELTA.as_bytes()),
        (data, subjects.delta(&run, &agent), b""),
        (data, subjects.delta(&run, &agent), b" {\"v\":1}\n"),
        (data, subjects.delta(&run, &agent), b"\xff\x00 no text"),
    ];
    for (number, (stream, subject, payload)) in records.into_iter().enumerate() {
        let payload = Bytes::copy_from_slice(payload);
        let id = number.to_string();
        let stored = bus.append(stream, &subject, &id, payload).await;
        stored.expect("there is room");
    }
    let session = Session::on(bus.clone(), subjects);
    (bus, session)
}

async fn export(session: &Session, folder: &TempDir, seed: Option<&str>) -> std::path::PathBuf {
    let path = folder.path().join("run.lprun");
    let written = session.export(&run(), &path, false, seed).await;
    assert_eq!(written.expect("it is over").records, 7);
    path
}

async fn records(bus: &Bus, stream: Stream, from_seq: u64) -> Vec<Stored> {
    let filters = vec![subjects().everything_of(&run())];
    let mut tail = bus
        .tail(stream, filters, from_seq)
        .await
        .expect("it is there");
    let mut found = Vec::new();
    while let Step::Event(stored) = tail.next().await.expect("it can be read") {
        found.push(stored);
    }
    found
}

fn rule(error: SessionError) -> String {
    match error {
        SessionError::Refused(refusal) => refusal.problems[0].rule.clone(),
        other => panic!("not refused: {other}"),
    }
}

/// Broken if a record changes on its way: report, digest and evidence would change as well.
#[tokio::test]
async fn every_record_comes_back_byte_for_byte() {
    let folder = TempDir::new().expect("there is room");
    let (bus, session) = log().await;
    let path = export(&session, &folder, None).await;
    let first = std::fs::read(&path).expect("it was written");
    let file = Session::on_file(&path).await.expect("it is whole");
    let (of_file, _) = file.parts();
    for stream in Stream::ALL {
        for from_seq in 1..7 {
            let expected = records(&bus, stream, from_seq).await;
            assert_eq!(records(&of_file, stream, from_seq).await, expected);
        }
        let last = records(&bus, stream, 1).await.last().map(|last| last.seq);
        assert_eq!(Some(of_file.head(stream).await.expect("it is read")), last);
        let created = of_file.created(stream).await.expect("it is read");
        assert_eq!(created, bus.created(stream).await.expect("it is there"));
    }
    let list = serde_json::to_value(file.runs().await.expect("it is read")).expect("it has a form");
    let known = session.runs().await.expect("it is read");
    let known = serde_json::to_value(known).expect("it has a form");
    assert_eq!(list[0], known[0]);
    assert_eq!(
        list.as_array().map(Vec::len),
        Some(1),
        "the other run is not in it"
    );
    export(&session, &folder, None).await;
    assert!(
        std::fs::read(&path).expect("it was written") == first,
        "two exports differ"
    );
    let subject = subjects().req(&run());
    let refused = of_file.append(Stream::Ctl, &subject, "id", Bytes::new());
    assert_eq!(refused.await, Err(AppendError::Fault(Fault::ReadOnly)));
}

/// Broken if a report is made from a file that lost or changed a single bit.
#[tokio::test]
async fn a_damaged_file_is_refused_wherever_it_is_damaged() {
    let folder = TempDir::new().expect("there is room");
    let (_, session) = log().await;
    let path = export(&session, &folder, None).await;
    let whole = std::fs::read(&path).expect("it was written");
    let damaged = folder.path().join("damaged.lprun");
    let refused = async |bytes: &[u8], what: String| {
        std::fs::write(&damaged, bytes).expect("there is room");
        let opened = Session::on_file(&damaged).await;
        assert!(
            opened.is_err(),
            "{what} of {} bytes is not seen",
            whole.len()
        );
        let rule = opened.map_err(rule).expect_err("it was refused");
        assert!(rule.contains("loadpilot export"), "{rule}");
    };
    for place in 0..whole.len() {
        let mut flipped = whole.clone();
        flipped[place] ^= 1 << (place % 8);
        refused(&flipped, format!("a flipped bit at {place}")).await;
    }
    for length in (0..whole.len()).step_by(37) {
        refused(&whole[..length], format!("an end at {length}")).await;
    }
    refused(&[&*whole, b"x"].concat(), "a byte more".to_owned()).await;
}

/// Broken if a file of another program or of a later version is read as if it were ours.
#[tokio::test]
async fn foreign_and_later_files_are_refused() {
    let folder = TempDir::new().expect("there is room");
    let path = folder.path().join("other.lprun");
    let opened = async |path: &Path| Session::on_file(path).await.map(drop).map_err(rule);
    assert_eq!(
        opened(&path).await,
        Err("must be a readable file".to_owned())
    );
    for content in ["", "{}", "PK\u{3}\u{4} and no more"] {
        std::fs::write(&path, content).expect("there is room");
        let rule = opened(&path).await.expect_err(content);
        assert!(rule.contains("loadpilot export"), "{content:?}: {rule}");
    }
    for (manifest, expected) in [
        (
            r#"{"format":"loadpilot-run","version":2}"#,
            "a newer loadpilot",
        ),
        (r#"{"format":"other","version":1}"#, "`loadpilot export`"),
        (
            r#"{"format":"loadpilot-run","version":1}"#,
            "`loadpilot export`",
        ),
        ("no JSON", "`loadpilot export`"),
    ] {
        archive(&path, manifest);
        let rule = opened(&path).await.expect_err(manifest);
        assert!(rule.contains(expected), "{manifest}: {rule}");
    }
}

/// A ZIP archive with a manifest and a right checksum.
fn archive(path: &Path, manifest: &str) {
    use std::io::Write as _;

    use loadpilot_events::plan::Object;
    use zip::write::SimpleFileOptions;

    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default();
    archive
        .start_file("manifest.json", options)
        .expect("it is the first");
    archive
        .write_all(manifest.as_bytes())
        .expect("there is room");
    let comment = format!("sha256:{}", "0".repeat(64));
    archive.set_comment(comment).expect("it is short");
    let mut bytes = archive.finish().expect("it is small").into_inner();
    bytes.truncate(bytes.len() - 64);
    let checksum = Object::of(&bytes).sha256;
    bytes.extend(checksum.as_bytes());
    std::fs::write(path, bytes).expect("there is room");
}

/// Broken if a file passes for signed by a key that did not sign it.
#[tokio::test]
async fn a_signature_names_its_key() {
    let folder = TempDir::new().expect("there is room");
    let (_, session) = log().await;
    let path = export(&session, &folder, None).await;
    assert_eq!(signer(&path).expect("it is whole"), None);
    let key = KeyPair::new_user();
    let seed = key.seed().expect("it has one");
    let path = export(&session, &folder, Some(&seed)).await;
    assert_eq!(signer(&path).expect("it is whole"), Some(key.public_key()));
    let refused = session.export(&run(), &path, false, Some("SUnoseed")).await;
    let error = refused.expect_err("it is no seed").to_string();
    assert!(
        error.starts_with("--sign:") && !error.contains("SUnoseed"),
        "{error}"
    );
}

/// Broken if a run that may still change is written to a file.
#[tokio::test]
async fn only_a_run_that_is_over_is_written() {
    let folder = TempDir::new().expect("there is room");
    let (_, session) = log().await;
    let path = folder.path().join("run.lprun");
    for (name, expected) in [
        ("other", "must be over"),
        ("none", "must be a run of this log"),
    ] {
        let run = RunId::parse(name).expect("a token");
        let refused = session.export(&run, &path, false, None).await;
        let rule = rule(refused.expect_err(name));
        assert!(rule.starts_with(expected), "{rule}");
        assert!(!path.exists(), "nothing was written");
    }
}
