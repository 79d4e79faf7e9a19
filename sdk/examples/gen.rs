//! Writes what is generated from the Rust types: `proto/schema/*.json` and `proto/README.md`.
//!
//! It lives here because nothing under `proto/` may touch a file. Must never write anything that a
//! test under `proto/` does not compare with the sources.

use std::fs;
use std::path::Path;

use loadpilot_events::wire::{catalogue, schema};

fn main() -> std::io::Result<()> {
    let proto = Path::new(env!("CARGO_MANIFEST_DIR")).join("../proto");
    fs::create_dir_all(proto.join("schema"))?;
    for (name, text) in schema::files() {
        fs::write(proto.join("schema").join(format!("{name}.json")), text)?;
    }
    fs::write(proto.join("README.md"), catalogue::markdown())
}
