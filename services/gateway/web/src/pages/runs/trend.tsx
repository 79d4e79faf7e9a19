// The p99 of the last runs of a scenario as a small line; the gateway chooses and reads the runs.

import type { TrendPoint } from "../../api/answers";
import { verdictLabel } from "../../format/labels";
import { latency } from "../../format/numbers";

const WIDTH = 92;
const HEIGHT = 26;
const MARGIN = 4;

export function Trend({ trend }: { trend: TrendPoint[] }) {
  if (trend.length < 2) return null;
  const dots = trendDots(trend);
  const line = dots.filter(({ kind }) => kind !== "invalid");
  return (
    <svg
      class="trend"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      width={WIDTH}
      height={HEIGHT}
      role="img"
      aria-label={trendText(trend)}
    >
      <title>{trendText(trend)}</title>
      <polyline points={line.map(({ x, y }) => `${x},${y}`).join(" ")} />
      {dots.map(({ x, y, kind }) => (
        <circle key={x} class={kind} cx={x} cy={y} r={2.6} />
      ))}
    </svg>
  );
}

/** Positions of the runs. Those that count set the scale: an invalid figure could be any size. */
export function trendDots(trend: TrendPoint[]) {
  const counting = trend.filter(({ quality }) => quality !== "INVALID");
  const scale = (counting.length > 0 ? counting : trend).map(({ p99_us }) => p99_us);
  const least = Math.min(...scale);
  const most = Math.max(...scale);
  const step = (WIDTH - 2 * MARGIN) / Math.max(1, trend.length - 1);
  return trend.map(({ p99_us, verdict, quality }, at) => {
    const share = most === least ? 0.5 : (p99_us - least) / (most - least);
    const within = Math.min(1, Math.max(0, share));
    return {
      x: Math.round((MARGIN + at * step) * 10) / 10,
      y: Math.round((HEIGHT - MARGIN - within * (HEIGHT - 2 * MARGIN)) * 10) / 10,
      kind: quality === "INVALID" ? "invalid" : verdict.toLowerCase(),
    };
  });
}

/** The figures in words, oldest first. */
export function trendText(trend: TrendPoint[]): string {
  const figures = trend.map(({ p99_us, verdict, quality }) => {
    const word = quality === "INVALID" ? quality : verdictLabel(verdict).text;
    return word === "Passed" ? latency(p99_us) : `${latency(p99_us)} (${word})`;
  });
  return `p99 of the last ${trend.length} runs: ${figures.join(", ")}`;
}
