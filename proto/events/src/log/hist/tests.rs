//! Forged histograms: each is refused with its reason, before the library reads it.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::ZlibEncoder;

use super::*;

/// The header fields that a test forges; the others are valid.
#[derive(Debug, Clone)]
struct Forged {
    says_bytes: u32,
    digits: u32,
    low: u64,
    high: u64,
    counts: Vec<u8>,
}

/// A valid histogram of one call of 1 µs.
fn honest() -> Forged {
    // No zeroes, then 2 as zigzag of 1.
    let counts = vec![0, 2];
    Forged {
        says_bytes: 2,
        digits: 3,
        low: 1,
        high: 2_047,
        counts,
    }
}

impl Forged {
    fn encode(&self) -> EncodedHistogram {
        let mut v2 = V2_COOKIE.to_be_bytes().to_vec();
        v2.extend(self.says_bytes.to_be_bytes());
        v2.extend(0_u32.to_be_bytes());
        v2.extend(self.digits.to_be_bytes());
        v2.extend(self.low.to_be_bytes());
        v2.extend(self.high.to_be_bytes());
        v2.extend(1_f64.to_be_bytes());
        v2.extend(&self.counts);
        deflated(&v2)
    }
}

fn deflated(v2: &[u8]) -> EncodedHistogram {
    let mut deflate = ZlibEncoder::new(Vec::new(), Compression::best());
    deflate.write_all(v2).expect("memory takes every write");
    let deflated = deflate.finish().expect("memory takes every write");
    let mut bytes = V2_DEFLATE_COOKIE.to_be_bytes().to_vec();
    let says = u32::try_from(deflated.len()).expect("short");
    bytes.extend(says.to_be_bytes());
    bytes.extend(deflated);
    EncodedHistogram(BASE64_STANDARD.encode(bytes))
}

fn refused(text: &EncodedHistogram) -> String {
    let read = decode(text).map(|hist| hist.len());
    read.expect_err("it is forged").to_string()
}

/// The tests below would prove nothing if a header without forged fields were refused as well.
#[test]
fn a_header_without_forged_fields_is_read() {
    let hist = decode(&honest().encode()).expect("a histogram");
    assert_eq!((hist.len(), hist.max()), (1, 1));
}

/// Broken if a header of forty bytes could make a reader allocate what it claims: four gigabytes of
/// counts, or 50 MB for a range that no run has.
#[test]
fn a_forged_header_is_refused() {
    let claims = [
        (
            Forged {
                says_bytes: u32::MAX,
                ..honest()
            },
            "length of its counts",
        ),
        (
            Forged {
                says_bytes: 1,
                ..honest()
            },
            "length of its counts",
        ),
        (
            Forged {
                digits: 5,
                ..honest()
            },
            "5 significant digits; 2 or 3",
        ),
        (
            Forged {
                digits: 0,
                ..honest()
            },
            "0 significant digits; 2 or 3",
        ),
        (
            Forged {
                high: u64::MAX,
                ..honest()
            },
            "to at most 4398046511103",
        ),
        (
            Forged {
                high: HIST_US_MAX + 1,
                ..honest()
            },
            "to at most 4398046511103",
        ),
        (
            Forged {
                high: 1,
                ..honest()
            },
            "from 1 to 1",
        ),
        (Forged { low: 0, ..honest() }, "from 0 to 2047"),
        (
            Forged {
                low: 1_000,
                ..honest()
            },
            "from 1000 to 2047",
        ),
    ];
    for (forged, rule) in claims {
        let refusal = refused(&forged.encode());
        assert!(refusal.contains(rule), "{forged:?}: {refusal}");
    }
}

/// Broken if a megabyte could inflate to a gigabyte.
#[test]
fn a_bomb_is_not_inflated() {
    let bomb = vec![0; 64 << 20];
    let says_bytes = u32::try_from(bomb.len()).expect("short");
    let text = Forged {
        says_bytes,
        counts: bomb,
        ..honest()
    }
    .encode();
    assert!(text.0.len() < 100_000, "{} bytes carry it", text.0.len());
    let refusal = refused(&text);
    assert!(refusal.contains("inflates to more than"), "{refusal}");
}

/// Broken if numbers out of range make the library panic: counts after the last bucket, and the one
/// negative number without a positive counterpart.
#[test]
fn numbers_out_of_range_are_refused() {
    let mut ahead = [0xff; NUMBER_BYTES_MAX].to_vec();
    let many = vec![2; 4_000];
    for counts in [ahead.clone(), many] {
        let says_bytes = u32::try_from(counts.len()).expect("short");
        refused(
            &Forged {
                says_bytes,
                counts,
                ..honest()
            }
            .encode(),
        );
    }
    ahead.splice(0..0, [0, 2]);
    ahead.extend([0; 20]);
    let says_bytes = u32::try_from(ahead.len()).expect("short");
    let refusal = refused(
        &Forged {
            says_bytes,
            counts: ahead,
            ..honest()
        }
        .encode(),
    );
    assert!(refusal.contains("2⁶³ zeroes"), "{refusal}");
}

/// Broken if text that is cut off, has another form or has trailing bytes is read.
#[test]
fn only_the_whole_form_is_read() {
    let whole = honest().encode();
    let bytes = BASE64_STANDARD.decode(&whole.0).expect("base64");
    for length in 1..bytes.len() {
        refused(&EncodedHistogram(BASE64_STANDARD.encode(&bytes[..length])));
    }
    let more = [bytes.as_slice(), b"x"].concat();
    refused(&EncodedHistogram(BASE64_STANDARD.encode(more)));
    let v2 = inflate(&bytes).expect("it is whole");
    refused(&EncodedHistogram(BASE64_STANDARD.encode(&v2)));
    refused(&deflated(&bytes));
    refused(&deflated(&v2[..v2.len() - 1]));
    refused(&EncodedHistogram("no base64!".to_owned()));
}

/// Broken if the limits refuse what agents write: the longest time there is, and every count that a
/// histogram can contain.
#[test]
fn the_greatest_that_is_written_is_read() {
    for mut hist in [latency(), anatomy()] {
        record(&mut hist, HIST_US_MAX);
        hist.record_n(7, u64::from(u32::MAX)).expect("it grows");
        let back = decode(&encode(&hist)).expect("what was written is read");
        assert_eq!(back, hist);
        assert!(back.distinct_values() <= HIST_COUNTS_MAX);
    }
    let mut full = latency();
    record(&mut full, HIST_US_MAX);
    assert_eq!(full.distinct_values(), HIST_COUNTS_MAX);
    let values: Vec<u64> = full
        .iter_all()
        .map(|step| step.value_iterated_to())
        .collect();
    for value in values
        .into_iter()
        .filter(|value| (1..=HIST_US_MAX).contains(value))
    {
        full.record_n(value, u64::from(u32::MAX)).expect("it grows");
    }
    let back = decode(&encode(&full)).expect("what was written is read");
    assert_eq!(back, full);
}

/// The result of reading a text, by which two readers are compared: number of buckets, number of
/// values, and the sum with another histogram; or why the text is refused.
type Said = Result<(usize, u64, Vec<(u64, u64)>), String>;

fn by_library(text: &EncodedHistogram, sum: &Hist) -> Said {
    let hist = decode(text).map_err(|error| error.to_string())?;
    let mut sum = sum.clone();
    sum.add(&hist).expect("it grows");
    Ok((hist.distinct_values(), hist.len(), counts(&sum)))
}

fn by_buckets(reader: &mut HistogramReader, text: &EncodedHistogram, sum: &Hist) -> Said {
    let filled = reader.read(text).map_err(|error| error.to_string())?;
    let mut sum = sum.clone();
    filled.add_to(&mut sum);
    assert_eq!(filled.filled(), filled.values().count());
    Ok((filled.buckets(), filled.len(), counts(&sum)))
}

/// The values of a histogram and their counts, without its range: a forged header may claim another
/// range.
fn counts(hist: &Hist) -> Vec<(u64, u64)> {
    let steps = hist.iter_recorded();
    let counts = steps.map(|step| (step.value_iterated_to(), step.count_at_value()));
    counts.collect()
}

/// Broken if a fold adds up other values than the library reads, or refuses a text for another
/// reason: a report would depend on how its log was read.
#[test]
fn filled_buckets_say_what_the_library_says() {
    let mut random = 1_u64;
    let mut pick = |below: u64| {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (random >> 33) % below
    };
    let (mut reader, mut plain, mut refused_texts) = (HistogramReader::default(), 0, 0);
    for round in 0..1_500 {
        let mut hist = [latency(), anatomy()][round % 2].clone();
        for _ in 0..pick(40) {
            let bits = pick(42);
            hist.record_n(pick(1 << bits), 1 + pick(9))
                .expect("it grows");
        }
        let mut sum = [anatomy(), latency()][round / 2 % 2].clone();
        (0..pick(5)).for_each(|_| record(&mut sum, pick(1 << 20)));
        let mut text = encode(&hist);
        if round % 3 > 0 && !text.0.is_empty() {
            let mut bytes = BASE64_STANDARD.decode(&text.0).expect("base64");
            let in_v2 = round % 3 == 1;
            let mut v2 = inflate(&bytes).expect("it is whole");
            let damaged = if in_v2 { &mut v2 } else { &mut bytes };
            let at = usize::try_from(pick(damaged.len() as u64)).expect("short");
            damaged[at] ^= 1 << pick(8);
            text = match in_v2 {
                true => deflated(damaged),
                false => EncodedHistogram(BASE64_STANDARD.encode(damaged)),
            };
        }
        let expected = by_library(&text, &sum);
        refused_texts += usize::from(expected.is_err());
        plain += usize::from(reader.plain(&text.0).is_some());
        assert_eq!(by_buckets(&mut reader, &text, &sum), expected, "{text:?}");
    }
    assert!(
        plain > 500 && refused_texts > 200,
        "{plain} plain, {refused_texts} refused"
    );
}
