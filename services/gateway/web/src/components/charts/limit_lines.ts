// Limits of thresholds in charts: dashed lines with a label each.

import type uPlot from "uplot";
import type { ThresholdResult } from "../../api/_generated/report";
import { formatResult, operatorSign } from "../../format/thresholds";

export interface Limit {
  label: string;
  /** In the unit of the chart. */
  value: number;
}

/** A limit is drawn if it is at most so many times the largest value: it must not hide the rest. */
const REACH = 8;
const FONT_PX = 10;
const LATENCY = /^(p[\d_]+|max|mean)_ms$/;

/** The limits of the whole run on latency in ms. */
export function latencyLimits(results: ThresholdResult[]): Limit[] {
  return limitsOf(results.filter(({ key, operator }) => LATENCY.test(key) && operator[0] === "<"));
}

/** The limits of the whole run on the rate of arrivals. */
export function rateLimits(results: ThresholdResult[]): Limit[] {
  return limitsOf(results.filter(({ key }) => key === "achieved_rps"));
}

function limitsOf(results: ThresholdResult[]): Limit[] {
  return results.map((one) => ({
    label: `${one.key} ${operatorSign(one.operator)} ${formatResult(one).limit}`,
    value: one.limit,
  }));
}

/** The end of a scale that holds the data and the limits near it. */
export function withLimits(max: number | null, limits: Limit[]): number | null {
  if (max === null) return null;
  return Math.max(max, ...limits.map(({ value }) => (value <= max * REACH ? value : max)));
}

/** The limits as a sentence, for the description of a chart. */
export function limitsText(limits: Limit[]): string {
  return limits.length === 0 ? "" : `. Limits: ${limits.map(({ label }) => label).join(", ")}`;
}

export function drawLimits(u: uPlot, limits: Limit[], colour: string): void {
  const { ctx, bbox } = u;
  const scale = devicePixelRatio;
  ctx.save();
  ctx.strokeStyle = ctx.fillStyle = colour;
  ctx.lineWidth = scale;
  ctx.setLineDash([6 * scale, 4 * scale]);
  ctx.font = `${FONT_PX * scale}px system-ui, sans-serif`;
  ctx.textAlign = "right";
  for (const { label, value } of limits) {
    const y = u.valToPos(value, "y", true);
    if (!(y >= bbox.top && y <= bbox.top + bbox.height)) continue;
    ctx.beginPath();
    ctx.moveTo(bbox.left, y);
    ctx.lineTo(bbox.left + bbox.width, y);
    ctx.stroke();
    // Above its line; at the top of the chart there is no room.
    const above = y - bbox.top >= (FONT_PX + 4) * scale;
    ctx.textBaseline = above ? "bottom" : "top";
    ctx.fillText(label, bbox.left + bbox.width - 3 * scale, above ? y - scale : y + 2 * scale);
  }
  ctx.restore();
}
