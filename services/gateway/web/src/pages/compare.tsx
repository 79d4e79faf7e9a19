// Up to eight runs side by side: figures as a table, curves in common charts.

import { useEffect, useState } from "preact/hooks";
import type { Report } from "../api/_generated/report";
import type { Comparison, Percentiles, RunList, Series } from "../api/answers";
import { get, queryString } from "../api/http";
import { asProblem, useResource } from "../api/resource";
import type { Problem } from "../api/http";
import { Link, navigate } from "../app/navigation";
import { COMPARED_MAX, NO_FILTER, PERCENTILES, runRoute } from "../app/route";
import { type Line, PercentileCurve } from "../components/charts/percentile_curve";
import { verdictSentence } from "../components/verdict/verdict";
import { Badge, Icon } from "../components/layout/icons";
import { OverlayChart } from "../components/charts/overlay_chart";
import { Empty, Failed, Loading, Panel, Scroll } from "../components/layout/panel";
import { type Buckets, decode } from "../data/histogram";
import {
  NOT_MEASURED,
  count,
  difference,
  dateTime,
  latency,
  percent,
  perSecond,
} from "../format/numbers";
import { grade, isOver } from "../format/labels";

export interface Compared {
  report: Report;
  series: Series;
  buckets: Buckets;
}

export function Compare({ runs, percentile }: { runs: string[]; percentile: string }) {
  const { found, problem } = useRuns(runs);
  const shown = runs.map((run) => found.get(run)).filter((one) => one !== undefined);
  const to = (next: string[]) => navigate({ page: "compare", runs: next, percentile });
  return (
    <>
      <div class="title">
        <h1>Compare</h1>
      </div>
      <ul class="chips">
        {runs.map((run, at) => (
          <li key={run}>
            <i class={`dot c-${at}`} aria-hidden="true" />
            <Link to={runRoute(run)}>{found.get(run)?.report.scenario ?? run}</Link>
            <code class="id">{run.slice(-6)}</code>
            {at > 0 ? (
              <button
                type="button"
                class="ghost"
                onClick={() => to([run, ...runs.filter((r) => r !== run)])}
              >
                Use as baseline
              </button>
            ) : (
              <small>baseline</small>
            )}
            <button
              type="button"
              class="ghost"
              aria-label={`Remove ${run}`}
              onClick={() => to(runs.filter((r) => r !== run))}
            >
              <Icon name="close" />
            </button>
          </li>
        ))}
        {runs.length < COMPARED_MAX && (
          <li>
            <AddRun runs={runs} onAdd={(run) => to([...runs, run])} />
          </li>
        )}
      </ul>
      {problem && <Failed problem={problem} />}
      {runs.length === 0 && (
        <Empty title="Select two or more runs">
          <p>
            Add them above, or select them in the{" "}
            <Link to={{ page: "runs", filter: NO_FILTER }}>list of runs</Link>.
          </p>
        </Empty>
      )}
      {shown.length < runs.length && !problem && <Loading what="Loading the runs" />}
      {shown.length > 0 && <Overlaid {...{ shown, runs, percentile }} />}
    </>
  );
}

interface OverlaidProps {
  shown: Compared[];
  runs: string[];
  percentile: string;
}

function Overlaid({ shown, runs, percentile }: OverlaidProps) {
  const lines: Line[] = shown.map((one, at) => ({
    label: label(one, at),
    colour: `c-${at}`,
    buckets: one.buckets,
  }));
  return (
    <div class="grid">
      <Panel title="Figures" note="differences to the baseline" wide>
        <Figures shown={shown} />
      </Panel>
      <Panel title="Percentiles" note="corrected, measured time">
        <PercentileCurve lines={lines} />
      </Panel>
      <Panel
        title="Response time"
        note={`${percentile} over time, corrected`}
        aside={
          <div class="choice" role="group" aria-label="Percentile">
            {PERCENTILES.map((p) => (
              <button
                key={p}
                type="button"
                aria-pressed={p === percentile}
                onClick={() => navigate({ page: "compare", runs, percentile: p }, true)}
              >
                {p}
              </button>
            ))}
          </div>
        }
      >
        <OverlayChart
          kind={percentile}
          lines={shown.map((one, at) => ({
            label: label(one, at),
            colour: `c-${at}`,
            series: one.series,
          }))}
        />
      </Panel>
      <Panel title="Load" note="arrivals started per second" wide>
        <OverlayChart
          kind="started"
          lines={shown.map((one, at) => ({
            label: label(one, at),
            colour: `c-${at}`,
            series: one.series,
          }))}
        />
      </Panel>
    </div>
  );
}

function label(one: Compared, at: number): string {
  return `${at + 1} ${one.report.scenario}`;
}

/** One row of the table: the figure, its format, and whether more of it is worse. */
interface Row {
  name: string;
  of: (report: Report) => number | null | undefined;
  format: (value: number | null | undefined) => string;
  /** Name of the figure in the gateway's differences to the first run, where it has one. */
  figure?: string;
  worse?: "more" | "less";
}

const percentileRow = (name: string, key: keyof Percentiles): Row => ({
  name,
  of: (report) => report.latency.response?.[key],
  format: latency,
  figure: `response.${key}`,
  worse: "more",
});

const ROWS: Row[] = [
  {
    name: "planned rate",
    of: (r) => r.rates.planned_rps,
    format: perSecond,
    figure: "rates.planned_rps",
  },
  {
    name: "achieved rate",
    of: (r) => r.rates.achieved_rps,
    format: perSecond,
    figure: "rates.achieved_rps",
    worse: "less",
  },
  { name: "arrivals started", of: (r) => r.arrivals.started, format: count },
  { name: "dropped", of: (r) => sum(r.arrivals.dropped), format: count },
  {
    name: "error rate",
    of: (r) => r.error_rate_pct,
    format: percent,
    figure: "error_rate_pct",
    worse: "more",
  },
  percentileRow("p50", "p50_us"),
  percentileRow("p90", "p90_us"),
  percentileRow("p95", "p95_us"),
  percentileRow("p99", "p99_us"),
  percentileRow("p99.9", "p99_9_us"),
  percentileRow("max", "max_us"),
  {
    name: "service p99",
    of: (r) => r.latency.service?.p99_us,
    format: latency,
    figure: "service.p99_us",
    worse: "more",
  },
  {
    name: "CO factor",
    of: (r) => r.latency.co_factor,
    format: (v) => v?.toFixed(2) ?? NOT_MEASURED,
    figure: "co_factor",
  },
];
const HIGHLIGHTED_PCT_MIN = 5;

function sum(parts: Record<string, number>): number {
  return Object.values(parts).reduce((a, b) => a + b, 0);
}

function Figures({ shown }: { shown: Compared[] }) {
  const runs = shown.map((one) => one.report.run.id);
  const path = runs.length > 1 ? `/compare${queryString({ run: runs })}` : null;
  const { data } = useResource<Comparison>(path);
  const differencePct = new Map(data?.differences.map((d) => [`${d.run} ${d.figure}`, d.percent]));
  return (
    <Scroll label="Figures">
      <table class="compared">
        <thead>
          <tr>
            <th>
              <span class="visually-hidden">figure</span>
            </th>
            {shown.map((one, at) => (
              <th key={one.report.run.id} class="n">
                <i class={`dot c-${at}`} aria-hidden="true" /> {label(one, at)}
                <small>{dateTime(one.report.run.created_at)}</small>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          <tr>
            <th scope="row">verdict</th>
            {shown.map(({ report: r }) => {
              const verdict = verdictSentence(r);
              return (
                <td key={r.run.id} class="n">
                  <Badge tone={verdict.tone}>{verdict.word}</Badge>
                </td>
              );
            })}
          </tr>
          <tr>
            <th scope="row">certificate</th>
            {shown.map(({ report: r }) => (
              <td key={r.run.id} class="n">
                <Badge tone={grade(r.certificate.grade).tone}>{r.certificate.grade}</Badge>
              </td>
            ))}
          </tr>
          {ROWS.map((row) => (
            <tr key={row.name}>
              <th scope="row">{row.name}</th>
              {shown.map((one, at) => (
                <Cell
                  key={one.report.run.id}
                  row={row}
                  report={one.report}
                  differencePct={
                    at > 0 && row.figure
                      ? (differencePct.get(`${one.report.run.id} ${row.figure}`) ?? null)
                      : undefined
                  }
                />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

interface CellProps {
  row: Row;
  report: Report;
  /** In percent of the first run. Null: not known; undefined: this figure has no difference. */
  differencePct: number | null | undefined;
}

function Cell({ row, report, differencePct }: CellProps) {
  const way = row.worse === "more" ? 1 : row.worse === "less" ? -1 : 0;
  const worse = (differencePct ?? 0) * way;
  const tone = Math.abs(worse) < HIGHLIGHTED_PCT_MIN ? "" : worse > 0 ? "bad" : "good";
  return (
    <td class="n">
      {row.format(row.of(report))}
      {differencePct !== undefined && <small class={tone}>{difference(differencePct)}</small>}
    </td>
  );
}

function AddRun({ runs, onAdd }: { runs: string[]; onAdd: (run: string) => void }) {
  const { data } = useResource<RunList>("/runs?limit=100");
  const offered = (data?.runs ?? []).filter((one) => !runs.includes(one.run) && isOver(one.state));
  return (
    <select
      value=""
      aria-label="Add a run"
      onChange={(event) => {
        if (event.currentTarget.value) onAdd(event.currentTarget.value);
      }}
    >
      <option value="">{offered.length > 0 ? "Add a run…" : "No other runs"}</option>
      {offered.map((one) => (
        <option key={one.run} value={one.run}>
          {one.scenario} · {dateTime(one.created_at)} · {one.run.slice(-6)}
        </option>
      ))}
    </select>
  );
}

function useRuns(runs: string[]): { found: Map<string, Compared>; problem: Problem | null } {
  const [found, setFound] = useState(new Map<string, Compared>());
  const [problem, setProblem] = useState<Problem | null>(null);
  useEffect(() => {
    const over = new AbortController();
    setProblem(null);
    for (const run of runs.filter((one) => !found.has(one))) {
      read(run, over.signal)
        .then((one) => setFound((previous) => new Map(previous).set(run, one)))
        .catch((error: unknown) => {
          if (!over.signal.aborted) setProblem(asProblem(error));
        });
    }
    return () => over.abort();
  }, [runs.join()]);
  return { found, problem };
}

async function read(run: string, signal: AbortSignal): Promise<Compared> {
  const path = `/runs/${encodeURIComponent(run)}`;
  const [report, series] = await Promise.all([
    get<Report>(path, signal),
    get<Series>(`${path}/series`, signal),
  ]);
  return { report, series, buckets: await decode(report.latency.response_histogram) };
}
