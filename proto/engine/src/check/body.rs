//! Checks request bodies: those inside the plan and those stored beside it.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use loadpilot_events::limits;
use loadpilot_events::plan::{Body, Object, Plan};

use super::checker::Checker;

/// Number of hex digits of a SHA-256.
const HASH_DIGITS: usize = 64;

pub(super) fn body(checker: &mut Checker<'_>, field: &str, body: &Body) {
    match body {
        Body::Text(_) => {}
        Body::Base64(text) => {
            let sound = BASE64_STANDARD.decode(text).is_ok();
            let field = format!("{field}.base64");
            checker.require(sound, field, "must be base64", "not base64");
        }
        Body::Object(stored) => object(checker, &format!("{field}.object"), stored),
    }
}

pub(super) fn object(checker: &mut Checker<'_>, field: &str, object: &Object) {
    hash(checker, field, object);
    let fits = (1..=limits::BODY_BYTES_MAX).contains(&object.bytes);
    let rule = "must be 1 byte to 64 MiB";
    checker.require(fits, format!("{field}.bytes"), rule, object.bytes);
}

/// Checks the content of a file of rows, which need not fit into the object store.
pub(super) fn row_file(checker: &mut Checker<'_>, field: &str, content: &Object) {
    hash(checker, field, content);
    let fits = (1..=limits::ROW_FILE_BYTES_MAX).contains(&content.bytes);
    let rule = "must be 1 byte to 1 TiB";
    checker.require(fits, format!("{field}.bytes"), rule, content.bytes);
}

fn hash(checker: &mut Checker<'_>, field: &str, Object { sha256, .. }: &Object) {
    let is_digit = |b: u8| matches!(b, b'0'..=b'9' | b'a'..=b'f');
    let sound = sha256.len() == HASH_DIGITS && sha256.bytes().all(is_digit);
    let rule = "must be 64 hex digits in lower case";
    checker.require(sound, format!("{field}.sha256"), rule, sha256);
}

/// Checks the total size of the bodies beside the plan, and that one body has one length.
pub(super) fn objects(checker: &mut Checker<'_>, plan: &Plan) {
    let total = plan.objects_bytes();
    let rule = "must have at most 256 MiB of bodies beside the plan";
    checker.require(total <= limits::OBJECTS_BYTES_MAX, "tasks", rule, total);
    let mut sizes = BTreeMap::new();
    for object in plan.objects() {
        let first = *sizes.entry(&object.sha256).or_insert(object.bytes);
        let rule = "must give one body one length";
        checker.require(first == object.bytes, "tasks", rule, &object.sha256);
    }
}
