import fc from "fast-check";
import { expect, test } from "vitest";
import { csvText } from "../src/data/csv";

test("no text is a formula for a spreadsheet, and numbers stay numbers", () => {
  const formulas = ["=1+1", "+cmd", "-2", "@SUM(A1)", "\t=1", "\r=1"];
  const [head, ...rows] = csvText(
    ["=x", "n"],
    formulas.map((text) => [text, -2.5]),
  ).split("\r\n");
  expect(head).toBe("'=x,n");
  for (const [i, text] of formulas.entries()) {
    expect(rows[i]).toMatch(/^("')|^'/);
    expect(rows[i]).toContain(`${text.trim()}`);
    expect(rows[i]!.endsWith(",-2.5")).toBe(true);
  }
});

/** Reads one row of CSV with a state machine of its own. */
function cells(text: string): string[] {
  const found = [""];
  let quoted = false;
  for (let i = 0; i < text.length; i += 1) {
    const c = text[i]!;
    if (quoted && c === '"' && text[i + 1] === '"') {
      found[found.length - 1] += '"';
      i += 1;
    } else if (c === '"') quoted = !quoted;
    else if (c === "," && !quoted) found.push("");
    else found[found.length - 1] += c;
  }
  return found;
}

test("every text is read back, with at most a quote before it", () => {
  fc.assert(
    fc.property(fc.array(fc.string(), { minLength: 2 }), (texts) => {
      const row = csvText([], [texts]).slice(2, -2);
      const back = cells(row).map((text, i) => (text === texts[i] ? text : text.slice(1)));
      expect(back).toEqual(texts);
    }),
  );
});

test("what was not measured is an empty cell, never 0", () => {
  expect(csvText(["a", "b"], [[null, 0]])).toBe("a,b\r\n,0\r\n");
});
