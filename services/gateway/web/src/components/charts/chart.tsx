// uPlot as a Preact component: follows the size of its box, the theme and the zoom.
// Each chart has a description for screen readers.

import type { ComponentChildren } from "preact";
import { useContext, useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { useTheme } from "../../app/theme";
import type { Mark } from "../../data/marks";
import { clock } from "../../format/numbers";
import { type ChartTable, chartTable, saveCsv, savePng } from "./chart_files";
import { moveCursor, valuesText } from "./chart_keyboard";
import { wholeTime } from "../../data/time_range";
import { Marks, drawMarks, marksText } from "./mark_lines";

export type Columns = uPlot.AlignedData;
export type ThemeColour = (name: string) => string;

export interface Plot {
  /** Label and format of x in the legend; the default is the time in the run. */
  x?: uPlot.Series;
  series: uPlot.Series[];
  axes?: uPlot.Axis[];
  scales?: uPlot.Scales;
  bands?: uPlot.Band[];
  hooks?: uPlot.Hooks.Arrays;
  legend?: boolean;
  /** Unit of the figures, for files. */
  unit?: string;
  /** The figures as a table; by default those that the lines draw. */
  table?: (u: uPlot) => ChartTable;
}

interface Latest {
  props: ChartProps;
  marks: Mark[];
}

interface ChartProps {
  /** Content of the chart, in one sentence. */
  description: string;
  data: Columns;
  /** Called when `rebuildKey` or the theme changes; new data alone does not rebuild the chart. */
  plot: (themeColour: ThemeColour) => Plot;
  rebuildKey?: string;
  height?: number;
  /** Whether x is the time in the run, with its marks: the default. */
  timed?: boolean;
  /** Length of the last bucket; 0: the last x is its end. */
  bucketUs?: number;
  /** Charts with the same key share their cursor. */
  sync?: string;
  /** Called with the dragged range, in the units of x. */
  onZoom?: ((from: number, to: number) => void) | undefined;
  children?: ComponentChildren;
}

const TIME: uPlot.Series = { label: "time", value: (_, v) => (v === null ? "" : clock(v)) };
const HEIGHT = 220;
const DRAG_PX_MIN = 8;

export function Chart(props: ChartProps) {
  const { description, data, plot, rebuildKey = "", height = HEIGHT, sync, children } = props;
  const box = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot | null>(null);
  const marks = useContext(Marks);
  const latest = useRef<Latest>({ props, marks });
  latest.current = { props, marks };
  const timed = props.timed ?? true;
  const { isDark } = useTheme();

  useEffect(() => {
    const place = box.current!;
    const built = new uPlot(
      options(plot, place.clientWidth, height, sync, latest),
      latest.current.props.data,
      place,
    );
    chart.current = built;
    place.dataset.drawn = isDark ? "dark" : "light";
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
  }, [rebuildKey, height, sync, isDark]);

  useEffect(() => {
    chart.current?.setData(data);
  }, [data]);

  useEffect(() => {
    chart.current?.redraw(false);
  }, [marks]);

  const [spoken, setSpoken] = useState("");
  const onKeyDown = (event: KeyboardEvent) => {
    const u = chart.current;
    if (!u || !moveCursor(u, event, latest.current.props.onZoom)) return;
    event.preventDefault();
    setSpoken(valuesText(u));
  };
  const [xs] = data;
  const [from, to] = wholeTime(xs[0] ?? null, xs.at(-1) ?? null, props.bucketUs);
  const marked = timed ? marksText(marks, from ?? 0, to ?? 0) : "";
  return (
    <figure class="chart">
      <div
        ref={box}
        role="img"
        tabIndex={0}
        aria-label={description + marked}
        onKeyDown={onKeyDown}
      />
      <output class="visually-hidden">{spoken}</output>
      <figcaption>
        <span>{children}</span>
        <ChartFiles {...{ chart, box, plot, timed }} />
      </figcaption>
    </figure>
  );
}

interface FilesProps {
  chart: { current: uPlot | null };
  box: { current: HTMLDivElement | null };
  plot: ChartProps["plot"];
  timed: boolean;
}

/** Buttons that save a chart under the title of its panel. */
function ChartFiles({ chart, box, plot, timed }: FilesProps) {
  const onSave = (write: (u: uPlot, title: string) => void) => () => {
    const title = box.current?.closest("section")?.querySelector("h2")?.textContent;
    if (chart.current) write(chart.current, title ?? "chart");
  };
  const png = onSave((u, title) => savePng(u, title, themeColour));
  const csv = onSave((u, title) => {
    const { table, unit = "" } = plot(themeColour);
    saveCsv(table ? table(u) : chartTable(u, timed, unit), title);
  });
  return (
    <span class="chart-files">
      <button type="button" class="link" title="Save the picture" onClick={png}>
        PNG
      </button>
      <button type="button" class="link" title="Save the figures" onClick={csv}>
        CSV
      </button>
    </span>
  );
}

function options(
  plot: ChartProps["plot"],
  width: number,
  height: number,
  sync: string | undefined,
  latest: { current: Latest },
): uPlot.Options {
  const shown = plot(themeColour);
  const timed = latest.current.props.timed ?? true;
  const hooks: uPlot.Hooks.Arrays = {
    ...shown.hooks,
    draw: [
      ...(shown.hooks?.draw ?? []),
      (u) => {
        if (timed) drawMarks(u, latest.current.marks, themeColour);
      },
    ],
    setSelect: [
      (u) => {
        const { left, width: dragged } = u.select;
        const zoom = latest.current.props.onZoom;
        if (zoom && dragged >= DRAG_PX_MIN) {
          zoom(u.posToVal(left, "x"), u.posToVal(left + dragged, "x"));
        }
        u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
      },
    ],
  };
  const time: uPlot.Scale = {
    time: false,
    range: (_, min, max) => wholeTime(min, max, latest.current.props.bucketUs),
  };
  return {
    width: Math.max(width, 50),
    height,
    series: [shown.x ?? TIME, ...shown.series],
    axes: shown.axes ?? [timeAxis(themeColour)],
    scales: { x: time, ...shown.scales },
    ...(shown.bands ? { bands: shown.bands } : {}),
    padding: [10, 14, 0, 0],
    legend: { show: shown.legend ?? true, markers: { width: 0, fill: seriesColour } },
    cursor: {
      y: false,
      drag: { x: latest.current.props.onZoom !== undefined, y: false, setScale: false },
      points: { size: 6 },
      ...(sync ? { sync: { key: sync, setSeries: false } } : {}),
    },
    hooks,
  };
}

/** The legend marks a series by the colour of its line. */
function seriesColour(u: uPlot, series: number): string {
  const { stroke } = u.series[series]!;
  const colour: unknown = typeof stroke === "function" ? stroke(u, series) : stroke;
  return typeof colour === "string" ? colour : "transparent";
}

/** Resolves a colour variable of the theme to a value for the canvas. */
export function themeColour(name: string): string {
  const probe = document.createElement("i");
  probe.className = "colour-probe";
  probe.style.color = `var(--${name})`;
  document.body.append(probe);
  const colour = getComputedStyle(probe).color;
  probe.remove();
  return colour;
}

/** The colour with an alpha of 0 to 1. */
export function translucent(colour: string, alpha: number): string {
  return `color-mix(in srgb, ${colour} ${Math.round(alpha * 100)}%, transparent)`;
}

const FONT = "11px system-ui, sans-serif";

/** Intervals of ticks on a time axis, in seconds. */
const STEPS = [
  0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 21_600,
  43_200, 86_400,
];

export function timeAxis(themeColour: ThemeColour): uPlot.Axis {
  return {
    ...axis(themeColour),
    values: (_, at) => at.map((v) => clock(v)),
    space: 60,
    size: 28,
    incrs: STEPS,
  };
}

export function valueAxis(
  themeColour: ThemeColour,
  format: (value: number) => string,
  scale = "y",
): uPlot.Axis {
  return {
    ...axis(themeColour),
    scale,
    size: 58,
    values: (_, at) => at.map((v) => (v === null ? "" : format(v))),
  };
}

function axis(themeColour: ThemeColour): uPlot.Axis {
  const line = themeColour("grid");
  return {
    stroke: themeColour("muted"),
    font: FONT,
    grid: { stroke: line, width: 1 },
    ticks: { show: false },
    gap: 6,
  };
}
