// One run: while it runs as it happens, afterwards judged; any second of it, any part of it.

import { useEffect, useMemo, useState } from "preact/hooks";
import type { Report } from "../../api/_generated/report";
import type { Series, WhatIf } from "../../api/answers";
import { post, query } from "../../api/http";
import { type Live, useLive } from "../../api/live";
import { type Resource, useAsked, useResource } from "../../api/resource";
import { Link, look } from "../../app/navigation";
import { NO_FILTER, type Route, TABS, type Tab, type View, runRoute } from "../../app/route";
import { me } from "../../app/session";
import { Badge, Icon } from "../../components/layout/icons";
import { Copy, Failed, Loading } from "../../components/layout/panel";
import { Scrubber } from "../../components/controls/scrubber";
import { span, spanWords } from "../../components/charts/load_chart";
import { instant } from "../../format/numbers";
import { soFar } from "../../data/running_series";
import { isOver, plain, standing } from "../../format/labels";
import { Tags } from "../runs";
import { Steering } from "./steering";
import { AgentsTab } from "./agents";
import { LatencyTab } from "./latency";
import { Overview } from "./overview";
import { StoryTab } from "./timeline";
import { TasksTab } from "./tasks";
import { WhatIfTab } from "./what_if";

const LIVE_MS = 2000;
const RUNS: Route = { page: "runs", filter: NO_FILTER };

/** What every tab of a run is given. */
export interface Shown {
  run: string;
  view: View;
  report: Report;
  series: Resource<Series>;
  broke: (number | null)[] | null;
  live: Live;
  over: boolean;
  /** How often what a tab asks for is asked for again; 0: once. */
  every: number;
  /** The part of the address that slices have in common. */
  slice: string;
  onZoom: ((from: number, to: number) => void) | undefined;
  goTo: (us: number) => void;
}

export function Run({ run, view }: { run: string; view: View }) {
  const path = `/runs/${encodeURIComponent(run)}`;
  const asOf = view.asOf;
  // Whether the run is over is its newest state, not that of the second that is looked at.
  const [over, setOver] = useState(false);
  const newest = useResource<Report>(path, { every: over ? 0 : LIVE_MS });
  useEffect(() => {
    if (newest.data) setOver(isOver(newest.data.run.state));
  }, [newest.data]);
  const live = useLive(run, newest.data !== null && !isOver(newest.data.run.state));
  const every = over || asOf !== null ? 0 : LIVE_MS;
  const past = useResource<Report>(asOf === null ? null : path + query({ as_of_us: asOf }));
  // Whichever comes first: nothing is shown before the run itself is known.
  const report = newest.data && ((asOf === null ? null : past.data) ?? newest.data);
  const slice = query({
    from_us: view.from,
    to_us: view.to,
    as_of_us: asOf,
    tasks: view.task,
    steps: view.step,
    agents: view.agent,
  });
  const asked = useResource<Series>(started(report) ? `${path}/series${slice}` : null, { every });
  const ends = report !== null && isOver(report.run.state);
  const data = useMemo(
    () => (asked.data === null || ends ? asked.data : soFar(asked.data)),
    [asked.data, ends],
  );
  const series: Resource<Series> = { ...asked, data };
  const broke = useAsked<WhatIf>(
    report && report.verdict.thresholds.length > 0 && started(report)
      ? `${run} ${asOf} ${over} ${report.requests_total}`
      : null,
    (signal) =>
      post<WhatIf>(`${path}/verdict`, asOf === null ? {} : { as_of_us: asOf }, {}, signal),
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
      <Loading what="Reading the log of the run" />
    );
  }
  const shown: Shown = {
    run,
    view,
    report,
    series,
    broke: broke.data?.broke_at_us ?? null,
    live,
    over,
    every,
    slice,
    onZoom: series.data
      ? (from, to) => {
          const [first, last] = span(series.data!, from, to);
          look({ from: first, to: last });
        }
      : undefined,
    goTo: (us) => look({ asOf: Math.ceil(us / report.run.tick_us) * report.run.tick_us }),
  };
  return (
    <>
      <Head report={report} over={over} />
      {live.fault && <p class="notice bad">The gateway cannot follow this run: {live.fault}</p>}
      {live.unstored && <p class="notice bad">Log unavailable: {live.unstored}</p>}
      {!over && !live.connected && live.snapshot && (
        <p class="notice">The connection to the gateway is lost; it comes back by itself.</p>
      )}
      {asOf !== null && past.problem && <Failed problem={past.problem} again={past.reload} />}
      <TabBar shown={shown} newest={newest.data!} />
      <Part shown={shown} />
      <TabBody {...shown} />
    </>
  );
}

function started(report: Report | null): boolean {
  return report?.run.start_at !== null && report?.run.start_at !== undefined;
}

function Head({ report, over }: { report: Report; over: boolean }) {
  const { run } = report;
  const said = standing(run.state, run.ending);
  const again = me.value?.can_start && over;
  return (
    <div class="title">
      <Link to={RUNS} class="back">
        <Icon name="back" />
        <span class="unseen">All runs</span>
      </Link>
      <h1>{report.scenario}</h1>
      <Badge tone={said.tone}>{said.text}</Badge>
      {run.users != null && <span class="pill">closed loop, {run.users} users</span>}
      {(run.steered?.length ?? 0) > 0 && <span class="pill">steered</span>}
      <Tags tags={run.tags} />
      <p class="facts">
        <code>{report.target_url}</code>
        <span>{instant(run.start_at ?? run.created_at)}</span>
        <span>{plain(run.shape)}</span>
        <span>
          <code class="id">{run.id}</code>
          <Copy text={run.id} label="Copy the run's id" />
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

const NAMES: Record<Tab, string> = {
  overview: "Overview",
  latency: "Latency",
  tasks: "Tasks",
  agents: "Agents",
  story: "Story",
  "what-if": "What if",
};

function TabBar({ shown, newest }: { shown: Shown; newest: Report }) {
  const { view, run, report, over } = shown;
  const end = newest.run.stopped_at_us ?? newest.run.profile_us;
  // The marks are those of the whole run, also where an earlier second is looked at.
  const story = useMemo(() => newest.story, [newest]);
  return (
    <div class="tabbar">
      <nav class="tabs" aria-label="Parts of the run">
        {TABS.map((tab) => (
          <Link key={tab} current={view.tab === tab} to={runRoute(run, { ...view, tab })}>
            {NAMES[tab]}
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
          onMove={(us) => look({ asOf: us }, true)}
        />
      )}
    </div>
  );
}

/** Which part is shown, when it is not all, and the way back. */
function Part({ shown: { view } }: { shown: Shown }) {
  const parts = [
    view.from !== null || view.to !== null
      ? { say: spanWords(view.from, view.to), undo: { from: null, to: null } }
      : null,
    view.task !== null
      ? {
          say: `task ${view.task}${view.step === null ? "" : `, call ${view.step}`}`,
          undo: { task: null, step: null },
        }
      : null,
    view.agent !== null ? { say: `agent ${view.agent}`, undo: { agent: null } } : null,
  ].filter((part) => part !== null);
  if (parts.length === 0) return null;
  return (
    <p class="part">
      Charts show
      {parts.map(({ say, undo }) => (
        <button key={say} type="button" onClick={() => look(undo)} aria-label={`Not only ${say}`}>
          {say} <Icon name="close" />
        </button>
      ))}
    </p>
  );
}

function TabBody(shown: Shown) {
  switch (shown.view.tab) {
    case "overview":
      return <Overview {...shown} />;
    case "latency":
      return <LatencyTab {...shown} />;
    case "tasks":
      return <TasksTab {...shown} />;
    case "agents":
      return <AgentsTab {...shown} />;
    case "story":
      return <StoryTab {...shown} />;
    case "what-if":
      return <WhatIfTab {...shown} />;
  }
}
