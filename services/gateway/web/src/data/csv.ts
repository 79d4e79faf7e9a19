// A table as CSV. Pure.

export type Cell = string | number | null | undefined;

/** Beginning of a text that a spreadsheet would take for a formula. */
const FORMULA = /^[=+\-@\t\r]/;

/** CSV by RFC 4180. No text becomes a formula; a value that was not measured is empty. */
export function csvText(head: string[], rows: Cell[][]): string {
  return [head, ...rows].map((row) => row.map(cellText).join(",")).join("\r\n") + "\r\n";
}

function cellText(cell: Cell): string {
  if (cell === null || cell === undefined) return "";
  if (typeof cell === "number") return String(cell);
  const safe = FORMULA.test(cell) ? `'${cell}` : cell;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
