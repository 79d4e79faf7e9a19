// Up to eight runs side by side: figures and tasks as tables, curves in common charts.

import { useEffect, useState } from "preact/hooks";
import type { Report } from "../../api/_generated/report";
import type { RunList, Series } from "../../api/answers";
import { get } from "../../api/http";
import { asProblem, useResource } from "../../api/resource";
import type { Problem } from "../../api/http";
import { Link, navigate } from "../../app/navigation";
import { COMPARED_MAX, NO_FILTER, PERCENTILES, runRoute } from "../../app/route";
import { MarkList, Marks } from "../../components/charts/mark_lines";
import { type Line, PercentileCurve } from "../../components/charts/percentile_curve";
import { Dot, Icon } from "../../components/layout/icons";
import { OverlayChart } from "../../components/charts/overlay_chart";
import { Empty, Failed, Loading, Panel } from "../../components/layout/panel";
import { decode } from "../../data/histogram";
import { type Mark, marksOf } from "../../data/marks";
import { type Compared, CompareTables, label } from "./tables";
import { dateTime } from "../../format/numbers";
import { RESPONSE, isOver } from "../../format/labels";

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
            <Dot colour={`c-${at}`} />
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
    <Marks.Provider value={marksOfAll(shown)}>
      <div class="grid">
        <CompareTables shown={shown} />
        <Panel title="Percentiles" note={RESPONSE}>
          <PercentileCurve lines={lines} />
        </Panel>
        <Panel
          title={RESPONSE}
          note={`${percentile} over time`}
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
        <Panel title="Changes during the runs" note="as marked in the charts" wide>
          {shown.map((one, at) => (
            <div key={one.report.run.id}>
              <h3>{label(one, at)}</h3>
              <MarkList marks={marksOf(one.report)} />
              {marksOf(one.report).length === 0 && <p class="quiet">None.</p>}
            </div>
          ))}
        </Panel>
      </div>
    </Marks.Provider>
  );
}

/** The marks of all runs, each with the number of its run. */
function marksOfAll(shown: Compared[]): Mark[] {
  return shown.flatMap((one, at) =>
    marksOf(one.report).map((mark) => ({ ...mark, label: `${at + 1}: ${mark.label}` })),
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
