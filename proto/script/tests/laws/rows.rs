//! Files of rows: the result does not depend on where the reads of the file end, and every row is
//! found by its index.

use loadpilot_events::plan::script::RowForm;
use loadpilot_script::rows::checker::{Checker, Contents};
use loadpilot_script::rows::index::{BYTES, ROWS_MAX};
use loadpilot_script::rows::{Misread, Row, row_in};
use proptest::prelude::*;

fn checked(form: RowForm, chunks: &[&[u8]]) -> Result<Contents, Misread> {
    let mut checker = Checker::new(form);
    for chunk in chunks {
        checker.push(chunk)?;
    }
    checker.finish()
}

/// Strings that have a meaning in one of the forms, in any order.
fn content() -> impl Strategy<Value = Vec<u8>> {
    let pieces: Vec<&[u8]> = vec![
        b"a",
        b"1",
        b",",
        b",",
        b"\"",
        b"\"\"",
        b"\n",
        b"\n",
        b"\r\n",
        b"\r",
        b" ",
        b"\xef\xbb\xbf",
        b"\xc3\xa9",
        b"\xc3",
        b"\0",
        b"{\"k\":",
        b"}",
        b"[",
        b"]",
        b"\"x\"",
        b"\"\\ud800\"",
        b"NaN",
        b"\"b\n\",",
        b"\t",
    ];
    let pieces = prop::collection::vec(prop::sample::select(pieces), 0..40);
    pieces.prop_map(|pieces| pieces.concat())
}

fn forms() -> impl Strategy<Value = RowForm> {
    prop::sample::select(vec![RowForm::Csv, RowForm::JsonLines])
}

/// A row of the content, found in the same way as by an agent.
fn row(content: &[u8], contents: &Contents, place: u64) -> Option<Row> {
    let (_, block) = contents.index.block(place)?;
    let from = usize::try_from(block.from).ok()?;
    let bytes = &content[from..from + usize::try_from(block.bytes).ok()?];
    row_in(
        bytes,
        place - block.first,
        contents.form,
        contents.columns.len(),
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    /// Broken if a row, a problem or its line depends on how the system cuts its reads, or if any
    /// content makes the reader panic. 2 s.
    #[test]
    fn the_cuts_of_reads_do_not_matter(
        content in content(),
        form in forms(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(content.len() + 1)).collect();
        cuts.sort_unstable();
        let starts = std::iter::once(0).chain(cuts.iter().copied());
        let ends = cuts.iter().copied().chain([content.len()]);
        let chunks: Vec<&[u8]> = starts.zip(ends).map(|(from, to)| &content[from..to]).collect();
        let whole = checked(form, &[&content]);
        prop_assert_eq!(&checked(form, &chunks), &whole);
        let bytes: Vec<&[u8]> = content.chunks(1).collect();
        prop_assert_eq!(&checked(form, &bytes), &whole);
        if let Ok(contents) = whole {
            for place in 0..contents.index.rows() {
                prop_assert!(row(&content, &contents, place).is_some());
            }
            prop_assert_eq!(row(&content, &contents, contents.index.rows()), None);
        }
    }
}

/// Broken if the index finds another row, or grows with every row. 1 s.
#[test]
fn every_row_is_found_by_its_index() {
    let length = |n: u64| usize::try_from(n * 7919 % 300).expect("small");
    let field = |n: u64| format!("{n}é{}", "x,\n".repeat(length(n)));
    let count = 3_000;
    let mut content = "\u{feff}id\r\n".to_owned();
    for n in 0..count {
        content += &format!(
            "\"{}\"\r\n{}",
            field(n),
            ["", "\n", "\r\n\n"][(n % 3) as usize]
        );
    }
    let contents = checked(RowForm::Csv, &[content.as_bytes()]).expect("it is well formed");
    assert_eq!(contents.index.rows(), count);
    for n in 0..count {
        let found = row(content.as_bytes(), &contents, n);
        assert_eq!(found, Some(Row::Fields(vec![field(n)])));
    }
    let most = count / ROWS_MAX + content.len() as u64 / BYTES + 1;
    assert!(contents.index.len() as u64 <= most);
}

/// Broken if an unclosed quote makes the reader keep the rest of a file in memory. 1 s.
#[test]
fn a_row_without_an_end_is_refused() {
    let mut checker = Checker::new(RowForm::Csv);
    checker.push(b"a\n\"").expect("it may end");
    let chunk = vec![b'x'; 1 << 20];
    let refused = (0..32).find_map(|_| checker.push(&chunk).err());
    let refused = refused.expect("it is not held").to_string();
    assert!(
        refused.starts_with("line 2: has a row of more than 16 MiB"),
        "{refused}"
    );
}
