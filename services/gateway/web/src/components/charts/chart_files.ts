// A chart as a file: its picture as PNG, its figures as CSV.

import type uPlot from "uplot";
import { type Cell, csvText } from "../../data/csv";
import { save } from "../../data/file_download";

const MARGIN_PX = 12;
const HEAD_PX = 44;

export interface ChartTable {
  head: string[];
  rows: Cell[][];
}

/** The figures that a chart draws, in the unit of its axis. */
export function chartTable(u: uPlot, timed: boolean, unit: string): ChartTable {
  const [xs, ...columns] = u.data;
  const labels = u.series.slice(1).map(({ label }) => `${String(label)} (${unit})`);
  return {
    head: [timed ? "time (s)" : "1 / (1 - share)", ...labels],
    rows: Array.from(xs, (x, i) => [x, ...columns.map((column) => column[i])]),
  };
}

export function saveCsv({ head, rows }: ChartTable, title: string): void {
  save(`${title}.csv`, new Blob([csvText(head, rows)], { type: "text/csv" }));
}

/** Saves the picture of a chart with its title and the names of its lines. */
export function savePng(u: uPlot, title: string, themeColour: (name: string) => string): void {
  const drawn = u.ctx.canvas;
  const scale = devicePixelRatio;
  const canvas = document.createElement("canvas");
  canvas.width = drawn.width + 2 * MARGIN_PX * scale;
  canvas.height = drawn.height + (HEAD_PX + MARGIN_PX) * scale;
  const ctx = canvas.getContext("2d")!;
  ctx.fillStyle = themeColour("panel");
  ctx.fillRect(0, 0, canvas.width, canvas.height);
  ctx.scale(scale, scale);
  ctx.font = "600 13px system-ui, sans-serif";
  ctx.fillStyle = themeColour("text");
  ctx.fillText(title, MARGIN_PX, 18);
  ctx.font = "11px system-ui, sans-serif";
  let left = MARGIN_PX;
  u.series.slice(1).forEach(({ label, stroke }, i) => {
    if (!u.legend.show) return;
    const colour: unknown = typeof stroke === "function" ? stroke(u, i + 1) : stroke;
    ctx.fillStyle = String(colour);
    ctx.fillRect(left, 33, 10, 3);
    ctx.fillStyle = themeColour("muted");
    ctx.fillText(String(label), left + 14, 38);
    left += ctx.measureText(String(label)).width + 28;
  });
  ctx.setTransform(1, 0, 0, 1, 0, 0);
  ctx.drawImage(drawn, MARGIN_PX * scale, HEAD_PX * scale);
  canvas.toBlob((blob) => blob && save(`${title}.png`, blob));
}
