// Marks of a run in its charts: lines and bands with a label each, and the same as text.

import { createContext } from "preact";
import type uPlot from "uplot";
import { type Mark, type MarkKind, markTime } from "../../data/marks";
import type { ThemeColour } from "./chart";

/** The marks that charts over time draw. */
export const Marks = createContext<Mark[]>([]);

const COLOURS: Record<MarkKind, string> = {
  rate: "accent",
  pause: "warn",
  stop: "warn",
  lost: "bad",
  left: "muted",
  joined: "muted",
};
const FONT_PX = 10;
const LABEL_ROWS = 3;

/** Draws the marks within the range of the x axis, which is in seconds. */
export function drawMarks(u: uPlot, marks: Mark[], themeColour: ThemeColour): void {
  const { ctx, bbox } = u;
  const scale = devicePixelRatio;
  const rowEnds = Array.from({ length: LABEL_ROWS }, () => -Infinity);
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  ctx.font = `${FONT_PX * scale}px system-ui, sans-serif`;
  ctx.textAlign = "left";
  ctx.textBaseline = "top";
  for (const mark of within(marks, u)) {
    const colour = themeColour(COLOURS[mark.kind]);
    const x = Math.round(u.valToPos(mark.atUs! / 1e6, "x", true));
    if (mark.toUs !== null) {
      const end = Math.round(u.valToPos(mark.toUs / 1e6, "x", true));
      ctx.globalAlpha = 0.13;
      ctx.fillStyle = colour;
      ctx.fillRect(x, bbox.top, Math.max(end - x, scale), bbox.height);
      ctx.globalAlpha = 1;
    }
    drawLine(u, x, colour);
    drawLabel(u, x, mark.label, colour, rowEnds, themeColour("panel"));
  }
  ctx.restore();
}

function within(marks: Mark[], u: uPlot): Mark[] {
  const { min, max } = u.scales.x!;
  if (min == null || max == null) return [];
  return marks.filter(
    (mark) => mark.atUs !== null && mark.atUs / 1e6 <= max && (mark.toUs ?? mark.atUs) / 1e6 >= min,
  );
}

function drawLine({ ctx, bbox }: uPlot, x: number, colour: string): void {
  ctx.strokeStyle = colour;
  ctx.lineWidth = devicePixelRatio;
  ctx.setLineDash([3 * devicePixelRatio, 3 * devicePixelRatio]);
  ctx.beginPath();
  ctx.moveTo(x, bbox.top);
  ctx.lineTo(x, bbox.top + bbox.height);
  ctx.stroke();
}

/** Writes a label in the first row with room. Without room it is left out: the list has it. */
function drawLabel(
  { ctx, bbox }: uPlot,
  x: number,
  label: string,
  colour: string,
  rowEnds: number[],
  background: string,
): void {
  const gap = 3 * devicePixelRatio;
  const width = ctx.measureText(label).width;
  const left = Math.max(bbox.left, Math.min(x + gap, bbox.left + bbox.width - width - gap));
  const row = rowEnds.findIndex((end) => left > end + gap);
  if (row < 0) return;
  rowEnds[row] = left + width;
  const height = (FONT_PX + 2) * devicePixelRatio;
  const top = bbox.top + row * height;
  ctx.globalAlpha = 0.8;
  ctx.fillStyle = background;
  ctx.fillRect(left - 1, top, width + 2, height);
  ctx.globalAlpha = 1;
  ctx.fillStyle = colour;
  ctx.fillText(label, left, top + devicePixelRatio);
}

/** The marks between two times as a sentence, for the description of a chart. */
export function marksText(marks: Mark[], fromSecs: number, toSecs: number): string {
  const shown = marks.filter(
    ({ atUs, toUs }) => atUs !== null && atUs / 1e6 <= toSecs && (toUs ?? atUs) / 1e6 >= fromSecs,
  );
  if (shown.length === 0) return "";
  return `. Marked: ${shown.map((mark) => `${mark.label} at ${markTime(mark)}`).join("; ")}`;
}

/** The marks of a run as a list, each with its time. */
export function MarkList({
  marks,
  onGoTo,
}: {
  marks: Mark[];
  onGoTo?: ((us: number) => void) | undefined;
}) {
  if (marks.length === 0) return null;
  return (
    <ul class="marks" aria-label="Changes during the run">
      {marks.map((mark, i) => (
        <li key={i} class={mark.kind}>
          {onGoTo && mark.atUs !== null ? (
            <button
              type="button"
              class="link"
              title="Show the run as of this time"
              onClick={() => onGoTo(mark.atUs!)}
            >
              {markTime(mark)}
            </button>
          ) : (
            <span>{markTime(mark)}</span>
          )}{" "}
          {mark.text}
        </li>
      ))}
    </ul>
  );
}
