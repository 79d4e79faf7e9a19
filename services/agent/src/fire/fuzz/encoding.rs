//! Properties of the decoders of content codings, for any bytes.

use loadpilot_script::decoded;

/// Codings by the first byte.
const CODINGS: [&str; 6] = ["gzip", "deflate", "br", "zstd", "gzip, br", "zstd, zstd"];
/// Maximum bytes of the decoded content.
const PLAIN_BYTES_MAX: usize = 64 << 20;
/// Maximum bytes of an error: people read it.
const ERROR_BYTES_MAX: usize = 400;

/// # Panics
/// A decoder panics, returns more than the maximum, or reads the same bytes in two ways.
pub fn encoding(bytes: &[u8]) {
    let Some((first, body)) = bytes.split_first() else {
        return;
    };
    let coding = CODINGS[usize::from(*first) % CODINGS.len()];
    let head = format!("HTTP/1.1 200 OK\r\nContent-Encoding: {coding}\r\n\r\n");
    let read = decoded(head.as_bytes(), body);
    match &read {
        Ok(content) => assert!(content.len() <= PLAIN_BYTES_MAX, "{} bytes", content.len()),
        Err(why) => assert!(why.len() <= ERROR_BYTES_MAX, "{why}"),
    }
    assert!(read == decoded(head.as_bytes(), body), "read in two ways");
}
