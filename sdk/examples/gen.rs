//! Writes what is generated from the Rust types: `proto/schema/*.json`, `proto/README.md` and
//! `docs/reference/metrics.md`.
//!
//! It lives here because nothing under `proto/` may touch a file. Must never write anything that no
//! test compares with the sources.

use std::fs;
use std::path::Path;

use loadpilot_client::indexed_run::metric_export::reference;
use loadpilot_coordinator::Status;
use loadpilot_events::wire::{catalogue, schema};

fn main() -> std::io::Result<()> {
    let proto = Path::new(env!("CARGO_MANIFEST_DIR")).join("../proto");
    fs::create_dir_all(proto.join("schema"))?;
    for (name, text) in schema::files() {
        fs::write(proto.join("schema").join(format!("{name}.json")), text)?;
    }
    fs::write(proto.join("README.md"), catalogue::markdown())?;
    let pages = proto.join("../docs/reference");
    fs::create_dir_all(&pages)?;
    let of_coordinator = Status::default().families();
    fs::write(pages.join("metrics.md"), reference(of_coordinator))
}
