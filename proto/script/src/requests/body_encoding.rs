//! The body of an answer without its content codings (RFC 9110, section 8.4): gzip, deflate, br
//! (RFC 7932) and zstd (RFC 8878).
//!
//! Must never hold more than [`DECODED_BYTES_MAX`] of a decoded body, nor return a part of a body
//! as the whole.

use std::borrow::Cow;
use std::io::{Error, Read};

use brotli_decompressor::{BrotliDecoderParameter, Decompressor};
use flate2::read::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use memchr::memchr_iter;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use crate::operation::{Counted, Response};

/// Maximum bytes of a decoded body: a small encoded body may expand to a very large one.
const DECODED_BYTES_MAX: usize = 64 << 20;
/// Maximum number of codings of one body, each of which is decoded to its end.
const CODINGS_MAX: usize = 4;
/// Maximum window of zstd, the one that all decoders of HTTP have (RFC 9659).
const ZSTD_WINDOW_BYTES_MAX: u64 = 8 << 20;
/// Size of the input buffer of brotli.
const BUFFER_BYTES: usize = 4 << 10;

/// A decoded body, which counts as the body of a response does.
#[derive(Debug)]
pub struct Decoded {
    content: Vec<u8>,
    _counted: Counted,
}

impl Decoded {
    /// The body without its content codings.
    #[must_use]
    pub fn content(&self) -> &[u8] {
        &self.content
    }
}

impl Response {
    /// Its body without content codings; `None` if it has none.
    ///
    /// # Errors
    /// Those of [`decoded`], or the bodies that tasks hold leave no room.
    pub fn decode(&self) -> Result<Option<Decoded>, String> {
        match decoded(&self.head, &self.body)? {
            Cow::Borrowed(_) => Ok(None),
            Cow::Owned(content) => Ok(Some(Decoded {
                _counted: self.counted.more(content.len())?,
                content,
            })),
        }
    }
}

/// The body without its content codings.
///
/// # Errors
/// A coding is unknown, the body is invalid, or longer than 64 MiB when decoded.
pub fn decoded<'a>(head: &[u8], body: &'a [u8]) -> Result<Cow<'a, [u8]>, String> {
    let mut content = Cow::Borrowed(body);
    if body.is_empty() {
        // Responses to HEAD and of status 304 have no body, whatever their heads say.
        return Ok(content);
    }
    let codings = codings(head);
    if codings.len() > CODINGS_MAX {
        let count = codings.len();
        return Err(format!(
            "the answer has {count} content codings, the maximum is {CODINGS_MAX}"
        ));
    }
    // They are listed in the order in which they were applied.
    for coding in codings.iter().rev() {
        content = Cow::Owned(without(coding, &content)?);
    }
    Ok(content)
}

/// The content codings that a head names, in lower case, without `identity`.
fn codings(head: &[u8]) -> Vec<String> {
    const NAME: &[u8] = b"content-encoding:";
    let lines = memchr_iter(b'\n', head).map(|end| &head[end + 1..]);
    let values = lines.filter_map(|line| {
        let (name, rest) = line.split_at_checked(NAME.len())?;
        let value = rest.split(|&byte| byte == b'\n').next()?;
        name.eq_ignore_ascii_case(NAME)
            .then(|| String::from_utf8_lossy(value).to_ascii_lowercase())
    });
    let mut codings = Vec::new();
    for value in values {
        let named = value.split(',').map(str::trim);
        let named = named.filter(|&coding| !matches!(coding, "" | "identity"));
        codings.extend(named.map(str::to_owned));
    }
    codings
}

/// A body without one coding.
fn without(coding: &str, body: &[u8]) -> Result<Vec<u8>, String> {
    let mut content = Vec::new();
    let read = match coding {
        "gzip" | "x-gzip" => append(MultiGzDecoder::new(body), &mut content),
        // Most servers send zlib data as deflate, some raw deflate.
        "deflate" if ZlibDecoder::new(body).read(&mut [0]).is_ok() => {
            append(ZlibDecoder::new(body), &mut content)
        }
        "deflate" => append(DeflateDecoder::new(body), &mut content),
        "br" => {
            let mut plain = Decompressor::new(body, BUFFER_BYTES);
            // Windows above 16 MiB are no part of the coding br.
            let large = BrotliDecoderParameter::BROTLI_DECODER_PARAM_LARGE_WINDOW;
            plain.set_parameter(large, 0);
            append(plain, &mut content)
        }
        "zstd" => zstd(body, &mut content),
        other => {
            let known = "gzip, deflate, br and zstd are";
            return Err(format!(
                "the answer is encoded as {other}, which is not decoded here; {known}"
            ));
        }
    };
    read.map_err(|error| format!("the answer is not {coding}: {error}"))?;
    if content.len() > DECODED_BYTES_MAX {
        let limit = "is longer than 64 MiB when its";
        return Err(format!("the answer {limit} {coding} is decoded"));
    }
    Ok(content)
}

/// Appends the output of a decoder, at most one byte more than the maximum.
fn append(plain: impl Read, content: &mut Vec<u8>) -> Result<(), Error> {
    let room = (DECODED_BYTES_MAX + 1).saturating_sub(content.len());
    plain.take(room as u64).read_to_end(content).map(drop)
}

/// Appends the frames of zstd, without those that are to be skipped.
fn zstd(mut body: &[u8], content: &mut Vec<u8>) -> Result<(), Error> {
    let mut decoder = FrameDecoder::new();
    decoder.set_max_window_size(ZSTD_WINDOW_BYTES_MAX);
    while !body.is_empty() && content.len() <= DECODED_BYTES_MAX {
        match decoder.init(&mut body) {
            Ok(()) => {}
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                length,
                ..
            })) => {
                let rest = usize::try_from(length).ok().and_then(|n| body.get(n..));
                body = rest.ok_or_else(|| Error::other("a frame is cut off"))?;
                continue;
            }
            Err(error) => return Err(Error::other(error)),
        }
        frame(&mut body, &mut decoder, content)?;
    }
    Ok(())
}

/// Appends one frame of zstd, whose head was read.
fn frame(body: &mut &[u8], decoder: &mut FrameDecoder, content: &mut Vec<u8>) -> Result<(), Error> {
    while !decoder.is_finished() {
        let one = BlockDecodingStrategy::UptoBlocks(1);
        decoder
            .decode_blocks(&mut *body, one)
            .map_err(Error::other)?;
        append(&mut *decoder, content)?;
        if content.len() > DECODED_BYTES_MAX {
            return Ok(());
        }
    }
    let stated = decoder.get_checksum_from_data();
    match stated.is_some() && stated != decoder.get_calculated_checksum() {
        true => Err(Error::other("its checksum is another")),
        false => Ok(()),
    }
}
