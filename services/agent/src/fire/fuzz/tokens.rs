//! Property of the token counter, for any bytes, however they are cut: its count equals a count
//! over the whole text.

use loadpilot_events::plan::Stream;

use super::cuts::ways;
use crate::fire::clock::MonoTime;
use crate::fire::request::stream_tokens::Tokens;

/// # Panics
/// The count differs.
pub fn tokens(bytes: &[u8]) {
    // One counter for all cuts: what it keeps of one answer must not affect the next.
    let mut tokens = Tokens::new();
    let counts = [
        (Stream::Sse, events(bytes)),
        (Stream::Lines, lines(bytes)),
        // The ends of chunks are not part of the bytes.
        (Stream::Chunks, 0),
    ];
    for (stream, all) in counts {
        for most in [None, Some(1), Some(2)] {
            let wanted = most.map_or(all, |most| all.min(u64::from(most)));
            for parts in [vec![bytes]].into_iter().chain(ways(bytes)) {
                tokens.begin(stream, most);
                for (us, part) in (0..).zip(&parts) {
                    tokens.data(part, MonoTime::from_ns(0).plus_us(us));
                }
                let counted = u64::from(tokens.first().is_some()) + tokens.gaps().len();
                assert_eq!(counted, wanted, "{stream:?} in {} parts", parts.len());
            }
        }
    }
}

/// Lines with an end that hold more than its first half.
fn lines(bytes: &[u8]) -> u64 {
    let mut lines: Vec<&[u8]> = bytes.split(|&byte| byte == b'\n').collect();
    lines.pop();
    let said = lines
        .iter()
        .filter(|line| line.iter().any(|&byte| byte != b'\r'));
    said.count() as u64
}

/// Events with data, exactly as WHATWG HTML, section 9.2.6, defines them.
fn events(bytes: &[u8]) -> u64 {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut text = Vec::with_capacity(bytes.len());
    for (i, &byte) in bytes.iter().enumerate() {
        match byte {
            b'\n' if i > 0 && bytes[i - 1] == b'\r' => {}
            b'\r' => text.push(b'\n'),
            _ => text.push(byte),
        }
    }
    let mut lines: Vec<&[u8]> = text.split(|&byte| byte == b'\n').collect();
    lines.pop();
    let (mut events, mut has_data) = (0, false);
    for line in lines {
        match line {
            [] => events += u64::from(std::mem::take(&mut has_data)),
            b"data" => has_data = true,
            _ => has_data |= line.starts_with(b"data:"),
        }
    }
    events
}
