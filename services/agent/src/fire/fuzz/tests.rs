//! The laws of the fuzz targets, without a fuzzer: over the committed corpus, and over random
//! changes of it.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use proptest::sample::Index;

/// Minimum number of files of a corpus: without files a law would hold of anything.
const FILES_MIN: usize = 6;
/// Maximum bytes of a file: people read them.
const FILE_BYTES_MAX: usize = 1 << 10;

/// The files of a target by name.
fn corpus(target: &str) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fuzz/corpus")
        .join(target);
    let entries = fs::read_dir(&folder).expect("a folder for each target");
    let mut files: Vec<(String, Vec<u8>)> = entries
        .map(|entry| {
            let path = entry.expect("a file").path();
            let name = path
                .file_name()
                .expect("a name")
                .to_string_lossy()
                .into_owned();
            (name, fs::read(&path).expect("a readable file"))
        })
        .collect();
    files.sort_unstable();
    assert!(
        files.len() >= FILES_MIN,
        "{} in {}",
        files.len(),
        folder.display()
    );
    files
}

/// A change of bytes: where, which byte, which kind.
type Edit = (Index, u8, u8);

fn edits() -> impl Strategy<Value = Vec<Edit>> {
    prop::collection::vec((any::<Index>(), any::<u8>(), 0..4_u8), 0..8)
}

fn edited(mut bytes: Vec<u8>, edits: &[Edit]) -> Vec<u8> {
    for (at, byte, kind) in edits {
        let place = at.index(bytes.len() + 1);
        match kind {
            0 => bytes.insert(place, *byte),
            1 => bytes.truncate(place),
            2 => bytes.extend_from_within(place..),
            _ => {
                if let Some(there) = bytes.get_mut(place) {
                    *there = *byte;
                }
            }
        }
        bytes.truncate(2 * FILE_BYTES_MAX);
    }
    bytes
}

/// Two tests for each target.
macro_rules! targets {
    ($($name:ident)*) => {$(
        mod $name {
            use super::*;

            /// Broken if an earlier finding came back.
            #[test]
            fn holds_over_its_corpus() {
                for (file, bytes) in corpus(stringify!($name)) {
                    assert!(bytes.len() <= FILE_BYTES_MAX, "{file}: {} bytes", bytes.len());
                    eprintln!("{file}");
                    crate::fire::fuzz::$name(&bytes);
                }
            }

            proptest! {
                /// Broken if slightly changed or random bytes break the law.
                #[test]
                fn holds_over_what_chance_makes(
                    file in any::<Index>(), edits in edits(),
                    noise in prop::collection::vec(any::<u8>(), 0..200),
                ) {
                    let files = corpus(stringify!($name));
                    let (_, bytes) = files[file.index(files.len())].clone();
                    crate::fire::fuzz::$name(&edited(bytes, &edits));
                    crate::fire::fuzz::$name(&noise);
                }
            }
        }
    )*};
}

targets! { answer tokens encoding record delta histogram columns }

/// Broken if a target had no program or no test, or a corpus no target.
#[test]
fn every_target_has_its_corpus_and_its_program() {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz");
    let named = |folder: &str| {
        let entries = fs::read_dir(fuzz.join(folder)).expect("a folder");
        let mut names: Vec<String> = entries
            .map(|entry| entry.expect("a file").path())
            .map(|path| {
                path.file_stem()
                    .expect("a name")
                    .to_string_lossy()
                    .into_owned()
            })
            .collect();
        names.sort_unstable();
        names
    };
    let targets = [
        "answer",
        "columns",
        "delta",
        "encoding",
        "histogram",
        "record",
        "tokens",
    ];
    assert_eq!(named("corpus"), targets);
    assert_eq!(named("fuzz_targets"), targets);
}
