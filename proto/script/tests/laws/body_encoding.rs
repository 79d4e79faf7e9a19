//! Content encodings: bodies from other encoders, and bodies that no encoder would write.
//!
//! The vectors are from Python's zlib and gzip, brotli 1.2 and zstandard 0.25.

use std::io::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};

use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
use loadpilot_script::decoded;
use loadpilot_script::operation::{BODIES_BYTES_MAX, Counted, Response, reserve};
use proptest::prelude::*;

const MIB: usize = 1 << 20;
const BR: &str = "\
     1bf00168ad8a770318415f0a0a9a37ca1135e44a644fc543f20135a78f78c4ed16b2343ac5d2153a0182\
     3838d7e1d903cba894e33a60814647757779035ef7f9a53800883049d10cbb104c2895362ddb619321a4\
     d2a6653b6c2a8454dab46ca7f71e";
/// With a checksum.
const ZSTD: &str = "\
     28b52ffd64f1003d04000285101790b739d62af8ffadb35d77a169dbdab694c7c624dd1d436d69e7ffff\
     ffb76ddbb6dbb66d7b12e4308abb671a71880045a61c62419096e21976583cc4410a10165927208093d2\
     0346cc35cc08738635628e614698338c11738635628e611bd931a767589e113c737786d919a933476778\
     ce3099b35bf6dd6c8b7d9bd9b28f6d6667910cac65e566";
/// Compressed by gzip, and then by brotli.
const GZIP_IN_BR: &str = "\
     8b48801f8b08000000000002034dd03b0ec2500c44d1ad44ae83c48cf985ad203a52440828785df4f64e\
     0a24dfcad7d591bd46fb3ce7775c87683bc538c4d2e6d777db6f6b2c8f6deefb38fc5395aeccca43e5b1\
     f25479aebc544e20c8c11340411448c11450411558c1355cf34eb8866bb8866bb8866bb8869b70136ef2\
     c170136ec24db80937e1e6d4effd072b294429f101000003";
/// 70 MiB of zeros.
const BR_BOMB: &str = "\
     cbffff3ff82700e2b14020f7fe8fffff7ff04f00c4611180eefd1fffffffe09f0088c30200ddfb3ffeff\
     ffc13f0110870500baf77ffcffff837f02200e0b0074effff8ffff07ff04401c1600e8defff1ffff0ffe\
     0980382c00d0bdffe3ffff1ffc1300715800a07bff97ffff5ff82700e2b00040f7fe0b";

fn bytes(hex: &str) -> Vec<u8> {
    let pairs = hex.as_bytes().chunks(2);
    let digits = |pair: &[u8]| String::from_utf8(pair.to_vec()).expect("ASCII");
    pairs
        .map(|pair| u8::from_str_radix(&digits(pair), 16).expect("hex"))
        .collect()
}

/// The content of the vectors.
fn text() -> Vec<u8> {
    let items: Vec<String> = (0..40).map(|n| format!("{{\"id\": {n}}}")).collect();
    format!("{{\"token\": \"t-1\", \"items\": [{}]}}", items.join(", ")).into_bytes()
}

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    packed.write_all(content).expect("memory takes every write");
    packed.finish().expect("memory takes every write")
}

fn head(coding: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\nContent-Encoding: {coding}\r\n\r\n").into_bytes()
}

fn plain(coding: &str, body: &[u8]) -> Result<Vec<u8>, String> {
    decoded(&head(coding), body).map(std::borrow::Cow::into_owned)
}

/// Frames of zstd without compression: a window of 1 KiB << `log`, and blocks that repeat a zero.
fn zstd_zeros(log: u8, mib: usize) -> Vec<u8> {
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0, log << 3];
    let blocks = mib * 8;
    for number in 1..=blocks {
        let header = (128 << 10) << 3 | 1 << 1 | u32::from(number == blocks);
        frame.extend_from_slice(&header.to_le_bytes()[..3]);
        frame.push(0);
    }
    frame
}

/// Broken if a scenario reads other bytes than the server encoded.
#[test]
fn bodies_of_other_encoders_are_read() {
    let skipped = [
        &[0x50, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 7, 7][..],
        &bytes(ZSTD),
    ]
    .concat();
    for (coding, body) in [
        ("br", bytes(BR)),
        ("BR", bytes(BR)),
        ("zstd", bytes(ZSTD)),
        ("zstd", skipped),
        ("gzip, br", bytes(GZIP_IN_BR)),
        ("gzip ,identity,\tbr", bytes(GZIP_IN_BR)),
        ("gzip\r\nX: 1\r\ncontent-encoding: br", bytes(GZIP_IN_BR)),
        ("identity", text()),
    ] {
        assert_eq!(plain(coding, &body), Ok(text()), "{coding}");
    }
    let twice = [bytes(ZSTD), bytes(ZSTD)].concat();
    assert_eq!(plain("zstd", &twice), Ok([text(), text()].concat()));
    assert_eq!(plain("br", b""), Ok(Vec::new()), "as of HEAD");
    let named = b"HTTP/1.1 200 OK\r\nX-Content-Encoding: br\r\n\r\n";
    assert_eq!(decoded(named, b"x").as_deref(), Ok(&b"x"[..]));
}

/// Broken if part of a body is taken for the whole.
#[test]
fn a_body_that_is_cut_off_is_an_error() {
    for (coding, body) in [
        ("br", bytes(BR)),
        ("zstd", bytes(ZSTD)),
        ("gzip", gzip(&text())),
    ] {
        for end in 1..body.len() {
            let found = plain(coding, &body[..end]);
            let why = found.expect_err("it is cut off");
            assert!(
                why.starts_with(&format!("the answer is not {coding}: ")),
                "{why}"
            );
        }
    }
    let mut wrong = bytes(ZSTD);
    *wrong.last_mut().expect("bytes") ^= 1;
    let why = plain("zstd", &wrong).expect_err("its checksum is another");
    assert_eq!(why, "the answer is not zstd: its checksum is another");
    let cut = [0x50, 0x2a, 0x4d, 0x18, 9, 0, 0, 0, 7];
    let why = plain("zstd", &cut).expect_err("the frame is cut off");
    assert_eq!(why, "the answer is not zstd: a frame is cut off");
}

/// Broken if a small body can take all memory of an agent.
#[test]
fn a_body_that_expands_beyond_the_limit_is_an_error() {
    let zeros = gzip(&vec![0; 70 << 20]);
    for (coding, body) in [
        ("br", bytes(BR_BOMB)),
        ("zstd", zstd_zeros(10, 70)),
        ("zstd", [zstd_zeros(10, 40), zstd_zeros(10, 40)].concat()),
        ("gzip", zeros.clone()),
        ("gzip, gzip", gzip(&zeros)),
    ] {
        let why = plain(coding, &body).expect_err("it is too long");
        assert!(
            why.contains("is longer than 64 MiB when its"),
            "{coding}: {why}"
        );
    }
    let below = plain("zstd", &zstd_zeros(10, 64)).map(|content| content.len());
    assert_eq!(below, Ok(64 << 20));
    let why = plain("zstd", &zstd_zeros(14, 1)).expect_err("the window is too large");
    assert!(why.starts_with("the answer is not zstd: "), "{why}");
    // The first bits of a large window, a format other than br.
    let why = plain("br", &[0x11, 0x1e, 0, 0, 0]).expect_err("the window is too large");
    assert!(why.starts_with("the answer is not br: "), "{why}");
}

/// Broken if decoded bodies that tasks hold take more memory than an agent has for bodies.
#[test]
fn decoded_bodies_count_as_bodies_do() {
    static TOTAL: AtomicUsize = AtomicUsize::new(BODIES_BYTES_MAX - 3 * MIB);
    let counted = || {
        let mut counted = Counted::default();
        reserve(&TOTAL, 1).expect("there is room");
        counted.add(&TOTAL, 1);
        counted
    };
    let response = |body: Vec<u8>| Response {
        status: 200,
        head: head("zstd"),
        body,
        elapsed_us: 0,
        counted: counted(),
    };
    let (two, one) = (response(zstd_zeros(7, 2)), response(zstd_zeros(7, 1)));
    let held = two.decode().expect("there is room").expect("it is encoded");
    assert_eq!(held.content().len(), 2 * MIB);
    let why = one.decode().expect_err("there is no room");
    assert!(why.contains("512 MiB, its limit"), "{why}");
    drop(held);
    assert!(one.decode().is_ok());
    drop((one, two));
    assert_eq!(TOTAL.load(Ordering::Relaxed), BODIES_BYTES_MAX - 3 * MIB);
}

/// Broken if the user does not learn which encoding the target used.
#[test]
fn other_codings_are_named() {
    let why = plain("compress", b"x").expect_err("it is unknown");
    let says = "the answer is encoded as compress, which is not decoded here; gzip, deflate, br \
                and zstd are";
    assert_eq!(why, says);
    let why = plain("gzip, gzip, gzip, gzip, gzip", b"x").expect_err("they are too many");
    assert_eq!(why, "the answer has 5 content codings, the maximum is 4");
}

proptest! {
    /// Broken if content in some form is read as other content.
    #[test]
    fn what_is_deflated_is_read_again(content in prop::collection::vec(any::<u8>(), 1..2000)) {
        let mut zlib = ZlibEncoder::new(Vec::new(), Compression::fast());
        let mut raw = DeflateEncoder::new(Vec::new(), Compression::fast());
        for written in [zlib.write_all(&content), raw.write_all(&content)] {
            written.expect("memory takes every write");
        }
        let bodies = [zlib.finish().expect("memory"), raw.finish().expect("memory")];
        for body in bodies {
            prop_assert_eq!(plain("deflate", &body), Ok(content.clone()));
        }
        prop_assert_eq!(plain("x-gzip", &gzip(&content)), Ok(content));
    }
}
