// The page of one run, in progress or ended: header, tabs, and the selected time and part.

import { useEffect, useMemo, useState } from "preact/hooks";
import type { Report } from "../../api/_generated/report";
import type { Series, WhatIf } from "../../api/answers";
import { post, queryString } from "../../api/http";
import { useLive } from "../../api/live";
import { type Resource, useQuery, useResource } from "../../api/resource";
import { Link, changeView } from "../../app/navigation";
import { NO_FILTER, type Route, TABS, type Tab, type View, runRoute } from "../../app/route";
import { me } from "../../app/session";
import { Badge, Icon } from "../../components/layout/icons";
import { Copy, Failed, Loading } from "../../components/layout/panel";
import { Scrubber } from "../../components/controls/scrubber";
import { useSettled } from "../../components/controls/throttle";
import { rangeText, wholeBuckets } from "../../data/time_range";
import { dateTime } from "../../format/numbers";
import { upToPresent } from "../../data/running_series";
import { isOver, spaced, runStatus } from "../../format/labels";
import { Tags } from "../tags";
import { RunNotice } from "./notice";
import { Steering } from "./steering";
import { AgentsTab } from "./agents";
import { LatencyTab } from "./latency";
import { Overview } from "./overview";
import { TimelineTab } from "./timeline";
import { TasksTab } from "./tasks";
import type { TabProps } from "./tab";
import { WhatIfTab } from "./what_if";

const LIVE_REFRESH_MS = 2000;
const RUNS: Route = { page: "runs", filter: NO_FILTER };

export function Run({ run, view }: { run: string; view: View }) {
  const path = `/runs/${encodeURIComponent(run)}`;
  const asOf = view.asOf;
  // Whether the run has ended is a matter of its newest state, not of the selected second.
  const [over, setOver] = useState(false);
  const newest = useResource<Report>(path + queryString({ ticks: "false" }), {
    every: over ? 0 : LIVE_REFRESH_MS,
  });
  useEffect(() => {
    if (newest.data) setOver(isOver(newest.data.run.state));
  }, [newest.data]);
  const live = useLive(run, newest.data !== null && !isOver(newest.data.run.state));
  const every = over || asOf !== null ? 0 : LIVE_REFRESH_MS;
  const past = useResource<Report>(
    asOf === null ? null : path + queryString({ as_of_us: asOf, ticks: "false" }),
  );
  // The report as of a second replaces the newest once it is loaded.
  const report = newest.data && ((asOf === null ? null : past.data) ?? newest.data);
  // While a slider is dragged only the report follows; what it is beside follows when it rests.
  const { asOf: restedAsOf, from, to } = useSettled({ asOf, from: view.from, to: view.to });
  const slice = queryString({
    from_us: from,
    to_us: to,
    as_of_us: restedAsOf,
    tasks: view.task,
    steps: view.step,
    agents: view.agent,
  });
  const wholeSeries = useResource<Series>(started(report) ? `${path}/series${slice}` : null, {
    every,
  });
  const ends = report !== null && isOver(report.run.state);
  const data = useMemo(
    () => (wholeSeries.data === null || ends ? wholeSeries.data : upToPresent(wholeSeries.data)),
    [wholeSeries.data, ends],
  );
  const loading = wholeSeries.loading || restedAsOf !== asOf;
  const series: Resource<Series> = { ...wholeSeries, loading, data };
  const verdictOverTime = useQuery<WhatIf>(
    report && report.verdict.thresholds.length > 0 && started(report)
      ? `${run} ${restedAsOf} ${over} ${report.requests_total}`
      : null,
    (signal) =>
      post<WhatIf>(
        `${path}/verdict`,
        restedAsOf === null ? {} : { as_of_us: restedAsOf },
        {},
        signal,
      ),
  );

  useEffect(() => {
    if (live.sealed) newest.reload();
  }, [live.sealed]);
  useEffect(() => {
    document.title = report ? `${report.scenario} · LoadPilot` : "LoadPilot";
  }, [report?.scenario]);

  if (!report) {
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
    series,
    firstBreachUs: verdictOverTime.data?.broke_at_us ?? null,
    live,
    over,
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
  const reload = () => [newest, past, wholeSeries].forEach((one) => one.reload());
  return (
    <>
      <RunHeader report={report} over={over} />
      <RunNotice
        {...{ live, over }}
        problems={[newest.problem, asOf === null ? null : past.problem, series.problem]}
        again={reload}
      />
      <TabBar tab={tab} newest={newest.data!} />
      <ActiveFilters view={view} />
      <TabBody {...tab} />
    </>
  );
}

function started(report: Report | null): boolean {
  return report?.run.start_at !== null && report?.run.start_at !== undefined;
}

function RunHeader({ report, over }: { report: Report; over: boolean }) {
  const { run } = report;
  const status = runStatus(run.state, run.ending);
  const again = me.value?.can_start && over;
  return (
    <div class="title split">
      <div class="name">
        <Link to={RUNS} class="back">
          <Icon name="back" />
          <span class="visually-hidden">All runs</span>
        </Link>
        <h1>{report.scenario}</h1>
        <Badge tone={status.tone}>{status.text}</Badge>
        {run.users != null && <span class="pill">closed loop, {run.users} users</span>}
        {(run.steered?.length ?? 0) > 0 && <span class="pill">steered</span>}
        <Tags tags={run.tags} />
      </div>
      <p class="facts">
        <code>{report.target_url}</code>
        <span>{dateTime(run.start_at ?? run.created_at)}</span>
        <span>{spaced(run.shape)}</span>
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
        {!over && <Steering report={report} />}
      </div>
    </div>
  );
}

const TAB_LABELS: Record<Tab, string> = {
  overview: "Overview",
  latency: "Latency",
  tasks: "Tasks",
  agents: "Agents",
  timeline: "Timeline",
  "what-if": "What if",
};

function TabBar({ tab, newest }: { tab: TabProps; newest: Report }) {
  const { view, run, report, over } = tab;
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
      {over && started(newest) && (
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

/** The filters of the charts, each with a button to remove it. */
function ActiveFilters({ view }: { view: View }) {
  const filters = [
    view.from !== null || view.to !== null
      ? { label: rangeText(view.from, view.to), undo: { from: null, to: null } }
      : null,
    view.task !== null
      ? {
          label: `task ${view.task}${view.step === null ? "" : `, call ${view.step}`}`,
          undo: { task: null, step: null },
        }
      : null,
    view.agent !== null ? { label: `agent ${view.agent}`, undo: { agent: null } } : null,
  ].filter((filter) => filter !== null);
  if (filters.length === 0) return null;
  return (
    <p class="active-filters">
      Charts filtered by
      {filters.map(({ label, undo }) => (
        <button
          key={label}
          type="button"
          onClick={() => changeView(undo)}
          aria-label={`Remove filter ${label}`}
        >
          {label} <Icon name="close" />
        </button>
      ))}
    </p>
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
    case "agents":
      return <AgentsTab {...tab} />;
    case "timeline":
      return <TimelineTab {...tab} />;
    case "what-if":
      return <WhatIfTab {...tab} />;
  }
}
