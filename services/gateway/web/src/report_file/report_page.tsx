// A report on one page, as `loadpilot run --report` writes it: the panels of the pages, one below
// the other.

import { useMemo, useState } from "preact/hooks";
import type { Report } from "../api/_generated/report";
import { nextTheme, useTheme } from "../app/theme";
import { HeatMap } from "../components/charts/heat_map";
import { MarkList, Marks } from "../components/charts/mark_lines";
import { Badge, Icon, Logo } from "../components/layout/icons";
import { Panel } from "../components/layout/panel";
import { GeneratorTiles, Holders } from "../components/report/agents";
import { Figures } from "../components/report/figures";
import { GaugePanels } from "../components/report/gauges";
import { CurvePanel, OmissionPanel, ServicePanel } from "../components/report/latency";
import { LoadLevels } from "../components/report/load_curve";
import { MetricPanels, hasOwnMetrics } from "../components/report/metrics";
import { OverviewPanels, WarmUpNote } from "../components/report/overview";
import { SettingsPanel } from "../components/report/settings";
import { ExchangeList } from "../components/tables/exchanges";
import { FailureExamples } from "../components/tables/failure_examples";
import { FailureTable } from "../components/tables/failures";
import { AnatomyTable, TaskTable } from "../components/tables/tasks";
import { Timeline } from "../components/tables/timeline";
import { RunFailed } from "../components/verdict/failure";
import { InvalidNotice, VerdictBanner, invalidReasons } from "../components/verdict/verdict";
import { type Mark, marksOf } from "../data/marks";
import { seriesBetween, shownSeries } from "../data/running_series";
import {
  agentsBetween,
  bucketsOf,
  heatBetween,
  partText,
  rangeText,
  wholeBuckets,
} from "../data/time_range";
import { RESPONSE, isOver, runStatus, spaced } from "../format/labels";
import { count, dateTime, duration, isoTime } from "../format/numbers";
import { closedLoopText } from "../format/plan_settings";
import type { Answers, RunData } from "./run_data";

/** The time that charts show, in µs after the start; null: all of it. */
type Range = [number, number] | null;

export function ReportPage({ data }: { data: RunData }) {
  const { report } = data;
  const marks = useMemo(() => marksOf(report), [report]);
  return (
    <>
      <main class={invalidReasons(report).length > 0 ? "unusable" : ""}>
        <Title data={data} />
        <InvalidNotice report={report} />
        <Marks.Provider value={marks}>
          {report.run.start_at ? (
            <Results data={data} marks={marks} />
          ) : (
            <RunFailed report={report} />
          )}
        </Marks.Provider>
      </main>
      <footer>
        <Logo /> Written by LoadPilot {data.version}, {dateTime(data.written_at)}. This page sends
        no request.
      </footer>
    </>
  );
}

function Title({ data: { report } }: { data: RunData }) {
  const { run } = report;
  const theme = useTheme();
  const status = runStatus(run.state, run.ending);
  const agents = new Set(run.holders.map((one) => one.holder.agent)).size;
  return (
    <header class="title">
      <h1>{report.scenario}</h1>
      <Badge tone={status.tone}>{status.text}</Badge>
      {run.users != null && <span class="pill">{closedLoopText(run)}</span>}
      {agents > 1 && <span class="pill">{count(agents)} load generators</span>}
      {(run.steered?.length ?? 0) > 0 && <span class="pill">steered</span>}
      {run.holders.some((one) => one.development) && <span class="pill">development build</span>}
      {Object.entries(run.tags ?? {}).map(([key, value]) => (
        <span key={key} class="pill">
          {key}: {value}
        </span>
      ))}
      <div class="actions">
        <button
          type="button"
          class="ghost"
          onClick={nextTheme}
          aria-label={`Theme: ${theme.choice}`}
        >
          <Icon name={theme.icon} />
        </button>
      </div>
      <p class="facts">
        <code>{report.target_url}</code>
        <time dateTime={isoTime(run.start_at ?? run.created_at)}>
          {dateTime(run.start_at ?? run.created_at)}
        </time>
        <span>
          {spaced(run.shape)}, {duration(run.profile_us)}
        </span>
        <code class="id">{run.id}</code>
      </p>
    </header>
  );
}

interface ResultsProps {
  data: RunData;
  marks: Mark[];
}

function Results({ data: { report, answers }, marks }: ResultsProps) {
  const [range, setRange] = useState<Range>(null);
  const charts = useMemo(() => answers && chartsOf(answers, report, range), [answers, range]);
  const over = isOver(report.run.state);
  const closedLoop = report.run.users != null;
  const part = partText({ from: null, to: null, asOf: null }, over);
  const series = charts?.series ?? null;
  const firstBreachUs = answers?.first_breach_us ?? null;
  const onZoom = charts
    ? (from: number, to: number) => setRange(wholeBuckets(charts.series, from, to))
    : undefined;
  return (
    <div class="grid">
      <VerdictBanner {...{ report, firstBreachUs, marks }} />
      <Figures report={report} until={null} />
      <WarmUpNote report={report} />
      {!answers && (
        <p class="notice wide">
          Charts, failures and load generators over time are missing: the command had the report of
          the run, and no access to its log.
        </p>
      )}
      {range && <ZoomNote range={range} onReset={() => setRange(null)} />}
      <div class="grid wide">
        <OverviewPanels {...{ report, series, part, firstBreachUs, onZoom }} />
      </div>
      {charts && (
        <Panel title="Heat map" note={closedLoop ? "Response time" : RESPONSE} wide>
          <HeatMap heat={charts.heat} bucketUs={charts.series.bucket_us} onZoom={onZoom} />
        </Panel>
      )}
      <CurvePanel latency={report.latency} {...{ closedLoop, part }} />
      <LoadLevels curve={report.load_curve} />
      {!closedLoop && series && <ServicePanel series={series} onZoom={onZoom} />}
      {!closedLoop && <OmissionPanel latency={report.latency} part={part} />}
      <Panel title="Tasks and their requests" note={`of ${part}, without the warm-up`} wide>
        <TaskTable report={report} />
      </Panel>
      {answers && (
        <Panel title="Failed requests" note={`of ${part}, warm-up included`} wide>
          <FailureTable errors={answers.errors} />
        </Panel>
      )}
      {(answers?.errors.examples?.length ?? 0) > 0 && (
        <Panel title="Examples of failed requests" note="secrets are masked" wide>
          <FailureExamples examples={answers!.errors.examples} />
        </Panel>
      )}
      <Panel title="Phases" note={`of each request, of ${part}`} wide>
        <AnatomyTable report={report} />
      </Panel>
      {hasOwnMetrics(report) && <MetricPanels {...{ report, series, part, onZoom }} />}
      {(report.exchanges?.length ?? 0) > 0 && (
        <Panel title="First exchanges" note="of --debug-requests, heads only" wide>
          <ExchangeList report={report} />
        </Panel>
      )}
      <GeneratorTiles generator={report.generator} />
      <Panel title="Load generators" note="processes that held shards" wide>
        <Holders report={report} data={answers?.agents ?? null} />
      </Panel>
      {charts && <GaugePanels data={charts.agents} onZoom={onZoom} />}
      <TimelinePanels {...{ report, marks }} />
    </div>
  );
}

function TimelinePanels({ report, marks }: { report: Report; marks: Mark[] }) {
  return (
    <>
      <Panel title="Timeline">
        <Timeline lines={report.story} startAt={report.run.start_at} />
      </Panel>
      <div class="stack">
        {marks.length > 0 && (
          <Panel title="Changes during the run" note="as marked in the charts">
            <MarkList marks={marks} />
          </Panel>
        )}
        <SettingsPanel report={report} />
      </div>
    </>
  );
}

function ZoomNote({ range, onReset }: { range: [number, number]; onReset: () => void }) {
  return (
    <p class="zoomed wide" role="status">
      Charts over time show {rangeText(...range)}; figures are of the whole run.
      <button type="button" onClick={onReset}>
        Whole run
      </button>
    </p>
  );
}

/** The answers that charts show, within a range. */
function chartsOf(answers: Answers, report: Report, range: Range) {
  const { state, stopped_at_us: stoppedAtUs = null } = report.run;
  const whole = shownSeries(answers.series, state, stoppedAtUs);
  const end = whole.from_us.length;
  const lastUs = whole.from_us.at(-1) ?? 0;
  const [from, to] = range ? bucketsOf(whole.from_us, range) : [0, end];
  const within: [number, number] = range ?? [0, lastUs + 1];
  return {
    series: seriesBetween(whole, from, to),
    heat: heatBetween(answers.heat, from, to),
    agents: agentsBetween(answers.agents, ...bucketsOf(answers.agents.from_us, within)),
  };
}
