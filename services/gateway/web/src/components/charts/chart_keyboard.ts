// Charts by keyboard: arrows, Home and End move the cursor; with Shift they select a range, which
// Enter zooms into.

import type uPlot from "uplot";

type Zoom = ((from: number, to: number) => void) | undefined;

/** Start of the range that Shift selects, by chart. */
const anchors = new WeakMap<uPlot, number>();
const NO_RANGE = { left: 0, top: 0, width: 0, height: 0 };

/** Moves the cursor of a chart or zooms; false for a key without a meaning. */
export function moveCursor(u: uPlot, event: KeyboardEvent, onZoom: Zoom): boolean {
  const [xs] = u.data;
  const at = u.cursor.idx ?? 0;
  const anchor = anchors.get(u);
  if (event.key === "Enter" || event.key === "Escape") {
    if (anchor === undefined) return false;
    anchors.delete(u);
    u.setSelect(NO_RANGE, false);
    if (event.key === "Enter" && onZoom && anchor !== at) {
      onZoom(xs[Math.min(anchor, at)]!, xs[Math.max(anchor, at)]!);
    }
    return true;
  }
  const to = target(event.key, at, xs.length - 1);
  if (to === null || xs.length === 0) return false;
  const left = u.valToPos(xs[to]!, "x");
  u.setCursor({ left, top: u.over.clientHeight / 2 });
  if (!event.shiftKey || !onZoom) {
    anchors.delete(u);
    u.setSelect(NO_RANGE, false);
    return true;
  }
  anchors.set(u, anchor ?? at);
  const from = u.valToPos(xs[anchor ?? at]!, "x");
  const range = { left: Math.min(from, left), width: Math.abs(left - from) };
  u.setSelect({ ...range, top: 0, height: u.over.clientHeight }, false);
  return true;
}

function target(key: string, at: number, last: number): number | null {
  const places: Record<string, number> = {
    ArrowLeft: at - 1,
    ArrowRight: at + 1,
    Home: 0,
    End: last,
  };
  const to = places[key];
  return to === undefined ? null : Math.min(last, Math.max(0, to));
}

/** The values below the cursor as a sentence. */
export function valuesText(u: uPlot): string {
  const at = u.cursor.idx;
  if (at == null || !u.legend.show) return "";
  const texts = u.series.map(({ label, value }, i) => {
    const text = typeof value === "function" ? value(u, u.data[i]![at]!, i, at) : "";
    return `${String(label)} ${text === "" ? "not measured" : String(text)}`;
  });
  return texts.join(", ");
}
