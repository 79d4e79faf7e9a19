// A table of a page as a CSV file: the texts that it shows.

import { csvText } from "../../data/csv";
import { save } from "../../data/file_download";

/** Arrows of a sorted column, and spaces that only lay out a cell. */
const ARROWS = /[▾▴↕]/g;
const SPACES = /\s+/g;

export function saveTable(table: HTMLTableElement, title: string): void {
  const [head = [], ...rows] = Array.from(table.rows, (row) => Array.from(row.cells, cellText));
  save(`${title}.csv`, new Blob([csvText(head, rows)], { type: "text/csv" }));
}

function cellText(cell: HTMLTableCellElement): string {
  return cell.innerText.replace(ARROWS, "").replace(SPACES, " ").trim();
}
