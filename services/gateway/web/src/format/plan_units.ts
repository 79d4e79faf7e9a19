// A plan's JSON with its durations and rates in units, for reading. Lines stay as they are.

import { duration, latency } from "./numbers";

const FIELD = /^\s*"(\w+)": (\d+),?$/;
const PIECES = /^(\s*)"pieces": \[$/;
const MINUTE_US = 60_000_000;

export interface UnitLine {
  text: string;
  /** The value of the line in its unit; empty without one. */
  note: string;
}

export function planWithUnits(text: string): UnitLine[] {
  let end: string | null = null;
  return text.split("\n").map((line) => {
    const pieces = PIECES.exec(line);
    if (pieces) end = `${pieces[1]}]`;
    else if (end !== null && line.startsWith(end)) end = null;
    const field = FIELD.exec(line);
    return { text: line, note: field ? inUnit(field[1]!, Number(field[2]), end !== null) : "" };
  });
}

function inUnit(name: string, value: number, isPiece: boolean): string {
  if (name.endsWith("_us")) return value < MINUTE_US ? latency(value) : duration(value);
  if (isPiece && (name === "from" || name === "to")) return `${value / 1e6}/s`;
  if (name === "samples_ppm") return `${value / 1e4} %`;
  return "";
}
