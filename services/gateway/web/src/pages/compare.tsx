// Runs beside each other: their figures as a table, their curves over one another.

import { useEffect, useState } from "preact/hooks";
import type { Report } from "../api/_generated/report";
import type { RunList, Series } from "../api/answers";
import { get } from "../api/http";
import { asProblem, useResource } from "../api/resource";
import type { Problem } from "../api/http";
import { Link, go } from "../app/place";
import { COMPARED_MAX, NO_FILTER, PERCENTILES, runRoute } from "../app/route";
import { type Line, CurveChart } from "../parts/curve_chart";
import { judged } from "../parts/judged";
import { Badge, Icon } from "../parts/marks";
import { OverlayChart } from "../parts/overlay_chart";
import { Empty, Failed, Loading, Panel } from "../parts/panel";
import { type Buckets, decode } from "../say/histogram";
import { count, difference, instant, latency, percent, perSecond } from "../say/numbers";
import { grade, isOver } from "../say/words";

export interface Compared {
  report: Report;
  series: Series;
  buckets: Buckets;
}

export function Compare({ runs, percentile }: { runs: string[]; percentile: string }) {
  const { found, problem } = useRuns(runs);
  const shown = runs.map((run) => found.get(run)).filter((one) => one !== undefined);
  const to = (next: string[]) => go({ page: "compare", runs: next, percentile });
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
                measure against this
              </button>
            ) : (
              <small>the others are measured against it</small>
            )}
            <button
              type="button"
              class="ghost"
              aria-label={`Without ${run}`}
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
        <Empty title="Choose two runs or more">
          <p>
            Add them above, or mark them in the{" "}
            <Link to={{ page: "runs", filter: NO_FILTER }}>list of runs</Link>.
          </p>
        </Empty>
      )}
      {shown.length < runs.length && !problem && <Loading what="Reading the logs" />}
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
      <Panel title="Figures" note="differences are against the first" wide>
        <Figures shown={shown} />
      </Panel>
      <Panel title="Percentiles" note="corrected, of the measured time">
        <CurveChart lines={lines} />
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
                onClick={() => go({ page: "compare", runs, percentile: p }, true)}
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

/** One row of the table: how to read it, how to say it, and whether more is worse. */
interface Row {
  name: string;
  of: (report: Report) => number | null | undefined;
  say: (value: number | null | undefined) => string;
  worse?: "more" | "less";
}

const ROWS: Row[] = [
  { name: "planned rate", of: (r) => r.rates.planned_rps, say: perSecond },
  { name: "achieved rate", of: (r) => r.rates.achieved_rps, say: perSecond, worse: "less" },
  { name: "arrivals started", of: (r) => r.arrivals.started, say: count },
  { name: "dropped", of: (r) => sum(r.arrivals.dropped), say: count, worse: "more" },
  { name: "not ok", of: (r) => r.error_rate_pct, say: percent, worse: "more" },
  { name: "p50", of: (r) => r.latency.response?.p50_us, say: latency, worse: "more" },
  { name: "p90", of: (r) => r.latency.response?.p90_us, say: latency, worse: "more" },
  { name: "p95", of: (r) => r.latency.response?.p95_us, say: latency, worse: "more" },
  { name: "p99", of: (r) => r.latency.response?.p99_us, say: latency, worse: "more" },
  { name: "p99.9", of: (r) => r.latency.response?.p99_9_us, say: latency, worse: "more" },
  { name: "max", of: (r) => r.latency.response?.max_us, say: latency, worse: "more" },
  { name: "service p99", of: (r) => r.latency.service?.p99_us, say: latency, worse: "more" },
  { name: "CO factor", of: (r) => r.latency.co_factor, say: (v) => v?.toFixed(2) ?? "–" },
];
const NOTABLE_PCT = 5;

function sum(parts: Record<string, number>): number {
  return Object.values(parts).reduce((a, b) => a + b, 0);
}

function Figures({ shown }: { shown: Compared[] }) {
  const [first] = shown;
  return (
    <div class="scroll">
      <table class="compared">
        <thead>
          <tr>
            <th />
            {shown.map((one, at) => (
              <th key={one.report.run.id} class="n">
                <i class={`dot c-${at}`} aria-hidden="true" /> {label(one, at)}
                <small>{instant(one.report.run.created_at)}</small>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          <tr>
            <th scope="row">verdict</th>
            {shown.map(({ report: r }) => {
              const said = judged(r.verdict, r.certificate, isOver(r.run.state));
              return (
                <td key={r.run.id} class="n">
                  <Badge tone={said.tone}>{said.word}</Badge>
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
                  one={one.report}
                  first={at === 0 ? null : first!.report}
                />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Cell({ row, one, first }: { row: Row; one: Report; first: Report | null }) {
  const value = row.of(one);
  const base = first === null ? null : row.of(first);
  const apart =
    base && value !== null && value !== undefined ? (100 * (value - base)) / base : null;
  const worse =
    apart !== null && (row.worse === "more" ? apart : row.worse === "less" ? -apart : 0);
  const tone = worse === false || Math.abs(worse) < NOTABLE_PCT ? "" : worse > 0 ? "bad" : "good";
  return (
    <td class="n">
      {row.say(value)}
      {first !== null && <small class={tone}>{difference(apart)}</small>}
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
      <option value="">{offered.length > 0 ? "Add a run…" : "There is no other run"}</option>
      {offered.map((one) => (
        <option key={one.run} value={one.run}>
          {one.scenario} · {instant(one.created_at)} · {one.run.slice(-6)}
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
        .then((one) => setFound((was) => new Map(was).set(run, one)))
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
