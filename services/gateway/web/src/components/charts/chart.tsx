// uPlot in Preact: a figure that follows its box, the theme and the reader's zoom.
// What a chart shows is said in words, too, for those who cannot see it.

import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { isDark } from "../../app/theme";
import { clock } from "../../format/numbers";

export type Columns = uPlot.AlignedData;
export type Ink = (name: string) => string;

export interface Plot {
  series: uPlot.Series[];
  axes?: uPlot.Axis[];
  scales?: uPlot.Scales;
  bands?: uPlot.Band[];
  hooks?: uPlot.Hooks.Arrays;
  legend?: boolean;
}

interface ChartProps {
  /** What the chart shows, in one sentence. */
  says: string;
  data: Columns;
  /** Built again when `shape` changes or the colours do; otherwise only data moves. */
  plot: (ink: Ink) => Plot;
  shape?: string;
  height?: number;
  /** Charts of one name share their cursor. */
  sync?: string;
  /** Called with the dragged span, in the units of x. */
  onZoom?: ((from: number, to: number) => void) | undefined;
  children?: ComponentChildren;
}

const HEIGHT = 220;
const DRAG_PX_MIN = 8;

export function Chart(props: ChartProps) {
  const { says, data, plot, shape = "", height = HEIGHT, sync, children } = props;
  const box = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot | null>(null);
  const latest = useRef(props);
  latest.current = props;
  const dark = isDark.value;

  useEffect(() => {
    const place = box.current!;
    const built = new uPlot(
      options(plot, place.clientWidth, height, sync, latest),
      latest.current.data,
      place,
    );
    chart.current = built;
    const resized = new ResizeObserver(() => {
      const width = Math.floor(place.clientWidth);
      if (width > 0 && width !== built.width) built.setSize({ width, height });
    });
    resized.observe(place);
    return () => {
      resized.disconnect();
      built.destroy();
      chart.current = null;
    };
  }, [shape, height, sync, dark]);

  useEffect(() => {
    chart.current?.setData(data);
  }, [data]);

  return (
    <figure class="chart">
      <div ref={box} role="img" aria-label={says} />
      {children && <figcaption>{children}</figcaption>}
    </figure>
  );
}

function options(
  plot: ChartProps["plot"],
  width: number,
  height: number,
  sync: string | undefined,
  latest: { current: ChartProps },
): uPlot.Options {
  const shown = plot(ink);
  const hooks: uPlot.Hooks.Arrays = {
    ...shown.hooks,
    setSelect: [
      (u) => {
        const { left, width: dragged } = u.select;
        const zoom = latest.current.onZoom;
        if (zoom && dragged >= DRAG_PX_MIN) {
          zoom(u.posToVal(left, "x"), u.posToVal(left + dragged, "x"));
        }
        u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
      },
    ],
  };
  return {
    width: Math.max(width, 50),
    height,
    series: [{ value: (_, v) => (v === null ? "" : clock(v)), label: "at" }, ...shown.series],
    axes: shown.axes ?? [timeAxis(ink)],
    scales: { x: { time: false }, ...shown.scales },
    ...(shown.bands ? { bands: shown.bands } : {}),
    padding: [10, 14, 0, 0],
    legend: { show: shown.legend ?? true, markers: { width: 0, fill: inkOf } },
    cursor: {
      y: false,
      drag: { x: latest.current.onZoom !== undefined, y: false, setScale: false },
      points: { size: 6 },
      ...(sync ? { sync: { key: sync, setSeries: false } } : {}),
    },
    hooks,
  };
}

/** A series is marked in the legend by the colour of its line. */
function inkOf(u: uPlot, series: number): string {
  const { stroke } = u.series[series]!;
  const colour: unknown = typeof stroke === "function" ? stroke(u, series) : stroke;
  return typeof colour === "string" ? colour : "transparent";
}

/** A colour of the theme as the canvas understands it. */
export function ink(name: string): string {
  const probe = document.createElement("i");
  probe.className = "probe";
  probe.style.color = `var(--${name})`;
  document.body.append(probe);
  const colour = getComputedStyle(probe).color;
  probe.remove();
  return colour;
}

/** The same colour, thinner. */
export function faint(colour: string, alpha: number): string {
  return `color-mix(in srgb, ${colour} ${Math.round(alpha * 100)}%, transparent)`;
}

const FONT = "11px system-ui, sans-serif";

/** Steps of a clock, in seconds. */
const STEPS = [
  0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 21_600,
  43_200, 86_400,
];

export function timeAxis(take: Ink): uPlot.Axis {
  return {
    ...axis(take),
    values: (_, at) => at.map((v) => clock(v)),
    space: 60,
    size: 28,
    incrs: STEPS,
  };
}

export function valueAxis(take: Ink, say: (value: number) => string, scale = "y"): uPlot.Axis {
  return {
    ...axis(take),
    scale,
    size: 58,
    values: (_, at) => at.map((v) => (v === null ? "" : say(v))),
  };
}

function axis(take: Ink): uPlot.Axis {
  const line = take("grid");
  return {
    stroke: take("muted"),
    font: FONT,
    grid: { stroke: line, width: 1 },
    ticks: { show: false },
    gap: 6,
  };
}
