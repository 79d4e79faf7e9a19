// The verdict of a run by other limits, another warm-up or another window. The gateway computes it
// from the log; this page sends the request and shows the answer.

import { useEffect, useMemo, useState } from "preact/hooks";
import type { ThresholdResult } from "../../api/_generated/report";
import type { WhatIf } from "../../api/answers";
import { post } from "../../api/http";
import { useQuery } from "../../api/resource";
import { changeView } from "../../app/navigation";
import { Thresholds } from "../../components/tables/thresholds";
import { VerdictBanner } from "../../components/verdict/verdict";
import { PercentileTable, serverLatency } from "../../components/tables/percentiles";
import { LatencyChart } from "../../components/charts/latency_chart";
import { latencyLimits } from "../../components/charts/limit_lines";
import { Copy, Failed, Panel } from "../../components/layout/panel";
import { Icon } from "../../components/layout/icons";
import { useSettled } from "../../components/controls/throttle";
import { rangeText } from "../../data/time_range";
import { TimeSlider } from "../../components/controls/time_slider";
import { clock, count, latency, percent, perSecond } from "../../format/numbers";
import {
  type Limits,
  OPERATORS,
  formatValue,
  thresholdFlags,
  formatLimit,
  limitsOfResults,
  metricOf,
  operatorSign,
  parseLimit,
  unit,
} from "../../format/thresholds";
import type { TabProps } from "./tab";

const OFFERED_METRICS = [
  "p50_ms",
  "p95_ms",
  "p99_ms",
  "p99_9_ms",
  "max_ms",
  "mean_ms",
  "error_rate",
  "task_errors",
  "dropped_rate",
  "shortfall",
  "achieved_rps",
];
const clockOfUs = (us: number) => clock(us / 1e6);

export function WhatIfTab(tab: TabProps) {
  // The window belongs to the what-if: the verdict that it is compared with covers the whole run.
  const { run, whole: report, view, series, over, goTo, onZoom } = tab;
  const closedLoop = report.run.users != null;
  const planned = useMemo(() => limitsOfResults(report.verdict.thresholds), [report]);
  const limits = view.limits ?? planned;
  const warmUp = view.warmUp ?? report.warm_up.warm_up_us;
  const question = useSettled({
    thresholds: limits,
    warm_up_us: warmUp,
    ...(view.from === null ? {} : { from_us: view.from }),
    ...(view.to === null ? {} : { to_us: view.to }),
    ...(view.asOf === null ? {} : { as_of_us: view.asOf }),
  });
  const key = JSON.stringify(question);
  const { data, problem, loading } = useQuery<WhatIf>(
    run + key + (over ? "" : report.digest),
    (signal) => post<WhatIf>(`/runs/${encodeURIComponent(run)}/verdict`, question, {}, signal),
  );
  const changed =
    view.limits !== null || view.warmUp !== null || view.from !== null || view.to !== null;
  const reset = () => changeView({ limits: null, warmUp: null, from: null, to: null });
  return (
    <div class="grid">
      {data && (
        <VerdictBanner
          report={{ ...report, ...data }}
          firstBreachUs={data.broke_at_us}
          onGoTo={goTo}
        >
          <p class="part">
            As it would have been judged, {rangeText(view.from, view.to)}; not the verdict of the
            run
          </p>
        </VerdictBanner>
      )}
      {problem && !series.problem && <Failed problem={problem} />}
      <Panel
        title="Settings"
        note="the stored verdict does not change"
        busy={loading}
        aside={
          <button type="button" disabled={!changed} onClick={reset}>
            Reset to plan
          </button>
        }
      >
        <ThresholdList limits={limits} results={data?.verdict.thresholds ?? []} />
        <AddThreshold limits={limits} tasks={report.tasks.map((task) => task.name)} />
        <Times tab={tab} warmUp={warmUp} />
        <p class="flags">
          <code>{thresholdFlags(limits, warmUp) || "no thresholds"}</code>
          <Copy text={thresholdFlags(limits, warmUp)} label="Copy as flags of loadpilot run" />
        </p>
      </Panel>
      <Panel title="Result" note={data ? resultNote(data) : ""} busy={loading}>
        {data && (
          <Thresholds
            results={data.verdict.thresholds}
            own={report.metrics}
            firstBreachUs={data.broke_at_us}
            onGoTo={goTo}
          />
        )}
        {data && <Compared before={tab} after={data} />}
      </Panel>
      <Panel title="Response time" note="drag to select the window" busy={series.loading}>
        {series.data && (
          <LatencyChart
            series={series.data}
            limits={latencyLimits(data?.verdict.thresholds ?? [])}
            onZoom={onZoom}
            height={240}
          />
        )}
      </Panel>
      <Panel title="Response time of the window" busy={loading}>
        {data && <PercentileTable {...serverLatency(data.latency)} closedLoop={closedLoop} />}
      </Panel>
    </div>
  );
}

function resultNote(data: WhatIf): string {
  const requests = count(data.requests_total);
  const calls = `${requests} requests, ${count(data.errors_total)} failed requests`;
  const { rules, rules_of_run: own } = data;
  return rules === own ? calls : `${calls}; by rules ${rules}; the report is by rules ${own}`;
}

function change(limits: Limits, key: string, text: string | null): void {
  const next = { ...limits };
  if (text === null) delete next[key];
  else next[key] = text;
  changeView({ limits: next }, true);
}

function ThresholdList({ limits, results }: { limits: Limits; results: ThresholdResult[] }) {
  const keys = Object.keys(limits);
  if (keys.length === 0) return <p class="quiet">No thresholds are set.</p>;
  return (
    <ul class="threshold-inputs">
      {keys.map((key) => (
        <ThresholdRow
          key={key}
          name={key}
          limits={limits}
          result={results.find((r) => r.key === key)}
        />
      ))}
    </ul>
  );
}

interface ThresholdRowProps {
  name: string;
  limits: Limits;
  result: ThresholdResult | undefined;
}

function ThresholdRow({ name, limits, result }: ThresholdRowProps) {
  const { operator, limit } = parseLimit(limits[name]!) ?? { operator: "<=", limit: 0 };
  const metric = metricOf(name);
  // The end of the slider does not move while it is dragged.
  const [most, setMost] = useState(0);
  const actual = result?.actual ?? null;
  useEffect(() => {
    setMost((was) => Math.max(was, sliderEnd(Math.max(limit, actual ?? 0), metric)));
  }, [actual]);
  const end = Math.max(most, sliderEnd(limit, metric));
  const set = (value: number) => change(limits, name, formatLimit(operator, value));
  return (
    <li class={result ? (result.passed ? "good" : "bad") : ""}>
      <code>{name}</code>
      <select
        value={operator}
        aria-label={`Operator of ${name}`}
        onChange={(event) => change(limits, name, formatLimit(event.currentTarget.value, limit))}
      >
        {OPERATORS.map((o) => (
          <option key={o} value={o}>
            {operatorSign(o)}
          </option>
        ))}
      </select>
      <input
        type="range"
        min={0}
        max={end}
        step={end / 500}
        value={limit}
        aria-label={`Limit of ${name}`}
        aria-valuetext={formatValue(limit, metric)}
        onInput={(event) => set(threeDigits(Number(event.currentTarget.value)))}
      />
      <label class="with-unit">
        <input
          type="number"
          min={0}
          step="any"
          value={limit}
          aria-label={`Limit of ${name} as a number`}
          onChange={(event) => set(Math.max(0, Number(event.currentTarget.value) || 0))}
        />
        {unit(metric)}
      </label>
      <small>measured {formatValue(actual, metric)}</small>
      <button
        type="button"
        class="ghost"
        aria-label={`Remove ${name}`}
        onClick={() => change(limits, name, null)}
      >
        <Icon name="close" />
      </button>
    </li>
  );
}

function sliderEnd(value: number, metric: string): number {
  if (unit(metric) === " %") return value > 20 ? 100 : Math.max(5, value * 2);
  return Math.max(1, value * 2);
}

/** A slider sets three significant digits. */
function threeDigits(value: number): number {
  return Number(value.toPrecision(3));
}

function AddThreshold({ limits, tasks }: { limits: Limits; tasks: string[] }) {
  const keys = [
    ...OFFERED_METRICS,
    ...tasks.flatMap((task) => [`${task}:p95_ms`, `${task}:p99_ms`]),
  ].filter((key) => !(key in limits));
  return (
    <label class="add">
      <Icon name="plus" />
      <select
        value=""
        aria-label="Add a threshold"
        onChange={(event) => {
          const key = event.currentTarget.value;
          if (key) change(limits, key, key === "achieved_rps" ? ">= 1" : "<= 1");
        }}
      >
        <option value="">Add a threshold</option>
        {keys.map((key) => (
          <option key={key} value={key}>
            {key}
          </option>
        ))}
      </select>
    </label>
  );
}

function Times({ tab, warmUp }: { tab: TabProps; warmUp: number }) {
  const { view, whole: report } = tab;
  const tick = report.run.tick_us;
  const end = Math.ceil((report.run.stopped_at_us ?? report.run.profile_us) / tick) * tick;
  return (
    <>
      <TimeSlider
        label="warm-up"
        format={clockOfUs}
        max={end}
        step={tick}
        value={warmUp}
        onMove={(us) => changeView({ warmUp: us }, true)}
      />
      <TimeSlider
        label="from"
        format={clockOfUs}
        max={end}
        step={tick}
        value={view.from ?? 0}
        onMove={(us) =>
          changeView({ from: us === 0 ? null : Math.min(us, (view.to ?? end) - tick) }, true)
        }
      />
      <TimeSlider
        label="to"
        format={clockOfUs}
        max={end}
        step={tick}
        value={view.to ?? end}
        onMove={(us) =>
          changeView({ to: us >= end ? null : Math.max(us, (view.from ?? 0) + tick) }, true)
        }
      />
    </>
  );
}

function Compared({ before: { whole: report }, after }: { before: TabProps; after: WhatIf }) {
  const rows: [string, string, string][] = [
    ["p50", latency(report.latency.response?.p50_us), latency(after.latency.response?.p50_us)],
    ["p95", latency(report.latency.response?.p95_us), latency(after.latency.response?.p95_us)],
    ["p99", latency(report.latency.response?.p99_us), latency(after.latency.response?.p99_us)],
    ["achieved rate", perSecond(report.rates.achieved_rps), perSecond(after.rates.achieved_rps)],
    ["failed requests", percent(report.error_rate_pct), percent(after.error_rate_pct)],
    ["measurement quality", report.certificate.grade, after.certificate.grade],
  ];
  return (
    <table class="verdict-comparison">
      <thead>
        <tr>
          <th>
            <span class="visually-hidden">figure</span>
          </th>
          <th class="n">as planned</th>
          <th class="n">what if</th>
        </tr>
      </thead>
      <tbody>
        {rows.map(([name, was, is]) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td class="n">{was}</td>
            <td class={was === is ? "n" : "n strong"}>{is}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
