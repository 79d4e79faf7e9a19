//! Text as a cell of CSV (RFC 4180) that no spreadsheet takes for a formula.

/// Text as a cell: quoted where necessary, and never like the beginning of a formula, which is = +
/// - @ or a character that spreadsheets skip before them (OWASP, "CSV injection").
pub(super) fn cell(text: &str) -> String {
    let mut cell = text.replace('"', "\"\"");
    if text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠']) {
        cell.insert(0, '\'');
    }
    match cell.contains([',', '"', '\r', '\n', '\'']) {
        true => format!("\"{cell}\""),
        false => cell,
    }
}
