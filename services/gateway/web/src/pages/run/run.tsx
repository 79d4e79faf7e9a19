// The page of one run, in progress or ended: header, tabs, and the selected time and part.

import { useEffect, useMemo, useState } from "preact/hooks";
import type { Report } from "../../api/_generated/report";
import type { RunList, Series, WhatIf } from "../../api/answers";
import { post, queryString } from "../../api/http";
import { useLive } from "../../api/live";
import { type Resource, useQuery, useResource } from "../../api/resource";
import { Link, changeView } from "../../app/navigation";
import { NO_FILTER, type Route, TABS, type Tab, type View, runRoute } from "../../app/route";
import { me } from "../../app/session";
import { Badge, Icon } from "../../components/layout/icons";
import { Copy, Failed, Loading } from "../../components/layout/panel";
import { Marks } from "../../components/charts/mark_lines";
import { InvalidNotice, invalidReasons } from "../../components/verdict/verdict";
import { Scrubber } from "../../components/controls/scrubber";
import { useSettled } from "../../components/controls/throttle";
import { marksOf } from "../../data/marks";
import { rangeText, wholeBuckets } from "../../data/time_range";
import { dateTime, duration, isoTime } from "../../format/numbers";
import { closedLoopText } from "../../format/plan_settings";
import { shownSeries } from "../../data/running_series";
import { isOver, spaced, runStatus } from "../../format/labels";
import { Tags } from "../tags";
import { Downloads } from "./downloads";
import { RunNotice } from "./notice";
import { Notify } from "./notification";
import { Steering } from "./steering";
import { AgentsTab } from "./agents";
import { LatencyTab } from "./latency";
import { Overview } from "./overview";
import { MetricsTab } from "./metrics";
import { TimelineTab } from "./timeline";
import { TasksTab } from "./tasks";
import type { TabProps } from "./tab";
import { WhatIfTab } from "./what_if";

const LIVE_REFRESH_MS = 2000;
const RUNS: Route = { page: "runs", filter: NO_FILTER };

export function Run({ run, view }: { run: string; view: View }) {
  const path = `/runs/${encodeURIComponent(run)}`;
  const asOf = view.asOf;
  // The newest state says whether the run has ended, not the state at the selected second.
  const [over, setOver] = useState(false);
  // A killed run does not change, and each request would keep `loadpilot resume` from its log.
  const [killed, setKilled] = useState(false);
  const newest = useResource<Report>(path + queryString({ ticks: "false" }), {
    every: over || killed ? 0 : LIVE_REFRESH_MS,
  });
  useEffect(() => {
    if (newest.data) setOver(isOver(newest.data.run.state));
  }, [newest.data]);
  const live = useLive(run, newest.data !== null && !isOver(newest.data.run.state));
  useEffect(() => setKilled(live.killed), [live.killed]);
  const every = over || killed || asOf !== null ? 0 : LIVE_REFRESH_MS;
  const zoomed = view.from !== null || view.to !== null;
  // While a slider is dragged only the report follows; all else follows when the slider rests.
  const shown = { from_us: view.from, to_us: view.to, as_of_us: asOf };
  const rested = useSettled(shown);
  const past = useResource<Report>(
    asOf === null ? null : path + queryString({ as_of_us: asOf, ticks: "false" }),
  );
  // The report as of a second replaces the newest report once it is loaded. The report of a range
  // replaces both.
  const selected = newest.data && ((asOf === null ? null : past.data) ?? newest.data);
  const whole = useMemo(() => asEnded(selected, killed), [selected, killed]);
  const range = useResource<Report>(
    zoomed && started(whole) ? path + queryString({ ...shown, ticks: "false" }) : null,
    { every },
  );
  const report = (zoomed ? asEnded(range.data, killed) : null) ?? whole;
  const marks = useMemo(() => (whole === null ? [] : marksOf(whole)), [whole]);
  const slice = queryString({
    ...rested,
    tasks: view.task,
    steps: view.step,
    agents: view.agent,
  });
  const wholeSeries = useResource<Series>(started(report) ? `${path}/series${slice}` : null, {
    every,
  });
  const { state = null, stopped_at_us: stoppedAtUs = null } = report?.run ?? {};
  const data = useMemo(
    () => wholeSeries.data && shownSeries(wholeSeries.data, state ?? "running", stoppedAtUs),
    [wholeSeries.data, state, stoppedAtUs],
  );
  const loading = wholeSeries.loading || queryString(rested) !== queryString(shown);
  const series: Resource<Series> = { ...wholeSeries, loading, data };
  const verdictOverTime = useQuery<WhatIf>(
    report && report.verdict.thresholds.length > 0 && started(report)
      ? `${run} ${queryString(rested)} ${over || report.requests_total}`
      : null,
    (signal) =>
      post<WhatIf>(
        `${path}/verdict`,
        Object.fromEntries(Object.entries(rested).filter(([, us]) => us !== null)),
        {},
        signal,
      ),
  );

  useEffect(() => {
    if (live.sealed || live.killed) newest.reload();
    if (live.killed) wholeSeries.reload();
  }, [live.sealed, live.killed]);
  useEffect(() => {
    document.title = report ? `${report.scenario} · LoadPilot` : "LoadPilot";
  }, [report?.scenario]);

  if (!report || !whole) {
    return newest.problem ? (
      <>
        <Failed problem={newest.problem} again={newest.reload} />
        <p>
          <Link to={RUNS}>All runs</Link>
        </p>
      </>
    ) : (
      <Loading what="Loading the run" />
    );
  }
  const tab: TabProps = {
    run,
    view,
    report,
    whole,
    marks,
    series,
    firstBreachUs: verdictOverTime.data?.broke_at_us ?? null,
    live,
    over: over || killed,
    every,
    slice,
    onZoom: series.data
      ? (from, to) => {
          const [first, last] = wholeBuckets(series.data!, from, to);
          changeView({ from: first, to: last });
        }
      : undefined,
    goTo: (us) => changeView({ asOf: Math.ceil(us / report.run.tick_us) * report.run.tick_us }),
  };
  const reload = () => [newest, past, range, wholeSeries].forEach((one) => one.reload());
  return (
    <>
      <RunHeader report={newest.data!} over={over} killed={killed} />
      <RunNotice
        {...{ run, live, over }}
        problems={[
          newest.problem,
          asOf === null ? null : past.problem,
          zoomed ? range.problem : null,
          series.problem,
        ]}
        again={reload}
      />
      <TabBar tab={tab} newest={newest.data!} sealed={over} />
      <ActiveFilters view={view} />
      <InvalidNotice report={report} />
      <Marks.Provider value={marks}>
        <div class={invalidReasons(report).length > 0 ? "unusable" : ""}>
          <TabBody {...tab} />
        </div>
      </Marks.Provider>
    </>
  );
}

/** The report of a run that was killed: it has no seal, and nothing follows. */
function asEnded(report: Report | null, killed: boolean): Report | null {
  if (!killed || report === null) return report;
  return { ...report, run: { ...report.run, state: "killed" as Report["run"]["state"] } };
}

function started(report: Report | null): boolean {
  return report?.run.start_at !== null && report?.run.start_at !== undefined;
}

function RunHeader(props: { report: Report; over: boolean; killed: boolean }) {
  const { report, over, killed } = props;
  const { run } = report;
  const status = runStatus(killed ? "killed" : run.state, run.ending);
  const again = me.value?.can_start && over;
  const { passed, baseline } = useEarlier(report, over);
  return (
    <div class="title split">
      <div class="name">
        <Link to={RUNS} class="back">
          <Icon name="back" />
          <span class="visually-hidden">All runs</span>
        </Link>
        <h1>{report.scenario}</h1>
        <Badge tone={status.tone}>{status.text}</Badge>
        {run.users != null && <span class="pill">{closedLoopText(run)}</span>}
        {(run.steered?.length ?? 0) > 0 && <span class="pill">steered</span>}
        {run.holders.some((one) => one.development) && <span class="pill">development build</span>}
        <Tags tags={run.tags} />
      </div>
      <p class="facts">
        <code>{report.target_url}</code>
        <time dateTime={isoTime(run.start_at ?? run.created_at)}>
          {dateTime(run.start_at ?? run.created_at)}
        </time>
        <span>
          {spaced(run.shape)}, {duration(run.profile_us)}
        </span>
        <span>
          <code class="id">{run.id}</code>
          <Copy text={run.id} label="Copy the run id" />
        </span>
      </p>
      <div class="actions">
        {again && (
          <Link class="button" to={{ page: "start", from: run.id }}>
            Run again
          </Link>
        )}
        {over && (
          <Link class="button" to={{ page: "compare", runs: [run.id], percentile: "p99" }}>
            Compare
          </Link>
        )}
        {passed && (
          <Link class="button" to={{ page: "compare", runs: [passed, run.id], percentile: "p99" }}>
            Compare with the last passed
          </Link>
        )}
        {baseline && (
          <Link
            class="button"
            to={{ page: "compare", runs: [baseline, run.id], percentile: "p99" }}
          >
            Compare with the baseline
          </Link>
        )}
        {started(report) && <Downloads run={run} over={over} />}
        <Notify report={report} over={over || killed} />
        {!over && !killed && <Steering report={report} />}
      </div>
    </div>
  );
}

/** The newest earlier runs of the same scenario that passed, and that is marked as a baseline;
 * null: none is known. */
function useEarlier(
  { scenario, run }: Report,
  over: boolean,
): Record<"passed" | "baseline", string | null> {
  const [every, setEvery] = useState(0);
  const query = queryString({ scenario, state: "sealed", cursor: run.id, limit: 50 });
  const { data } = useResource<RunList>(over ? `/runs${query}` : null, { every });
  const runs = data?.runs ?? [];
  // The gateway reads logs one after the other: until then a run has no outcome.
  const unread = runs.some((one) => one.outcome === null);
  useEffect(() => setEvery(unread ? LIVE_REFRESH_MS : 0), [unread]);
  return {
    passed: runs.find((one) => one.outcome?.verdict === "PASS")?.run ?? null,
    baseline: runs.find((one) => one.is_baseline)?.run ?? null,
  };
}

const TAB_LABELS: Record<Tab, string> = {
  overview: "Overview",
  latency: "Latency",
  tasks: "Tasks",
  metrics: "Metrics",
  agents: "Load generators",
  timeline: "Timeline",
  "what-if": "What if",
};

function TabBar({ tab, newest, sealed }: { tab: TabProps; newest: Report; sealed: boolean }) {
  const { view, run, report } = tab;
  const end = newest.run.stopped_at_us ?? newest.run.profile_us;
  // Marks show events of the whole run, also as of an earlier second.
  const story = useMemo(() => newest.story, [newest]);
  return (
    <div class="tabbar">
      <nav class="tabs" aria-label="Sections of the run">
        {TABS.map((name) => (
          <Link key={name} current={view.tab === name} to={runRoute(run, { ...view, tab: name })}>
            {TAB_LABELS[name]}
          </Link>
        ))}
      </nav>
      {sealed && started(newest) && (
        <Scrubber
          endUs={end}
          tickUs={report.run.tick_us}
          asOf={view.asOf}
          story={story}
          startAt={newest.run.start_at}
          onMove={(us) => changeView({ asOf: us }, true)}
        />
      )}
    </div>
  );
}

/** The selected part of the run, and a button that removes each selection. */
function ActiveFilters({ view }: { view: View }) {
  const zoomed = view.from !== null || view.to !== null;
  const filters = [
    view.task !== null
      ? {
          label: `task ${view.task}${view.step === null ? "" : `, request ${view.step}`}`,
          undo: { task: null, step: null },
        }
      : null,
    view.agent !== null ? { label: `load generator ${view.agent}`, undo: { agent: null } } : null,
  ].filter((filter) => filter !== null);
  if (filters.length === 0 && !zoomed) return null;
  return (
    <div class="active-filters">
      {zoomed && (
        <p>
          Figures, thresholds, tables and charts of
          <FilterButton label={rangeText(view.from, view.to)} undo={{ from: null, to: null }} />
        </p>
      )}
      {filters.length > 0 && (
        <p>
          Charts and failures of
          {filters.map((filter) => (
            <FilterButton key={filter.label} {...filter} />
          ))}
        </p>
      )}
    </div>
  );
}

function FilterButton({ label, undo }: { label: string; undo: Partial<View> }) {
  return (
    <button type="button" onClick={() => changeView(undo)} aria-label={`Remove filter ${label}`}>
      {label} <Icon name="close" />
    </button>
  );
}

function TabBody(tab: TabProps) {
  switch (tab.view.tab) {
    case "overview":
      return <Overview {...tab} />;
    case "latency":
      return <LatencyTab {...tab} />;
    case "tasks":
      return <TasksTab {...tab} />;
    case "metrics":
      return <MetricsTab {...tab} />;
    case "agents":
      return <AgentsTab {...tab} />;
    case "timeline":
      return <TimelineTab {...tab} />;
    case "what-if":
      return <WhatIfTab {...tab} />;
  }
}
