// The run judged again: other limits, another warm-up, another window. Every answer is the log's;
// this page moves sliders and shows what came back.

import { useEffect, useMemo, useState } from "preact/hooks";
import type { ThresholdResult } from "../../api/_generated/report";
import type { WhatIf } from "../../api/answers";
import { post } from "../../api/http";
import { useAsked } from "../../api/resource";
import { look } from "../../app/navigation";
import { Judged, Thresholds } from "../../components/verdict/verdict";
import { Ladders } from "../../components/tables/percentiles";
import { LatencyChart } from "../../components/charts/latency_chart";
import { Copy, Failed, Panel } from "../../components/layout/panel";
import { Icon } from "../../components/layout/icons";
import { Span } from "../../components/controls/time_slider";
import { clock, count, latency, percent, perSecond } from "../../format/numbers";
import {
  type Limits,
  OPERATORS,
  figure,
  flags,
  joined,
  limitsOf,
  metricOf,
  sign,
  split,
  unit,
} from "../../format/thresholds";
import type { Shown } from "./run";

const OFFERED = [
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
const REST_MS = 120;

export function WhatIfTab(shown: Shown) {
  const { run, report, view, series, over, goTo, onZoom } = shown;
  const planned = useMemo(() => limitsOf(report.verdict.thresholds), [report]);
  const limits = view.limits ?? planned;
  const warmUp = view.warmUp ?? report.warm_up.warm_up_us;
  const question = useRested({
    thresholds: limits,
    warm_up_us: warmUp,
    ...(view.from === null ? {} : { from_us: view.from }),
    ...(view.to === null ? {} : { to_us: view.to }),
    ...(view.asOf === null ? {} : { as_of_us: view.asOf }),
  });
  const key = JSON.stringify(question);
  const { data, problem, loading } = useAsked<WhatIf>(
    run + key + (over ? "" : report.digest),
    (signal) => post<WhatIf>(`/runs/${encodeURIComponent(run)}/verdict`, question, {}, signal),
  );
  const changed =
    view.limits !== null || view.warmUp !== null || view.from !== null || view.to !== null;
  const reset = () => look({ limits: null, warmUp: null, from: null, to: null });
  const latencyLimit = Object.entries(limits).find(([k]) => /^p99_ms$|^p95_ms$/.test(k));
  const limitUs = latencyLimit ? (split(latencyLimit[1])?.limit ?? 0) * 1e3 : null;
  return (
    <div class="grid">
      {data && <Judged report={{ ...report, ...data }} broke={data.broke_at_us} onGoTo={goTo} />}
      {problem && <Failed problem={problem} />}
      <Panel
        title="Ask"
        note="nothing is changed but the question"
        busy={loading}
        aside={
          <button type="button" disabled={!changed} onClick={reset}>
            As it was planned
          </button>
        }
      >
        <Gates limits={limits} results={data?.verdict.thresholds ?? []} />
        <AddGate limits={limits} tasks={report.tasks.map((task) => task.name)} />
        <Times shown={shown} warmUp={warmUp} />
        <p class="flags">
          <code>{flags(limits, warmUp) || "no threshold"}</code>
          <Copy text={flags(limits, warmUp)} label="Copy as flags of loadpilot run" />
        </p>
      </Panel>
      <Panel title="Answer" note={data ? answered(data) : ""} busy={loading}>
        {data && (
          <Thresholds results={data.verdict.thresholds} broke={data.broke_at_us} onGoTo={goTo} />
        )}
        {data && <Compared before={shown} after={data} />}
      </Panel>
      <Panel title="Response time" note="drag to choose the window" busy={series.loading}>
        {series.data && (
          <LatencyChart series={series.data} limitUs={limitUs} onZoom={onZoom} height={240} />
        )}
      </Panel>
      <Panel title="Latency of the judged time" busy={loading}>
        {data && <Ladders response={data.latency.response} service={data.latency.service} />}
      </Panel>
    </div>
  );
}

function answered(data: WhatIf): string {
  const calls = `${count(data.requests_total)} calls, ${count(data.errors_total)} not ok`;
  const { rules, rules_of_run: own } = data;
  return rules === own ? calls : `${calls}; judged by rules ${rules}, the report by rules ${own}`;
}

/** What is asked, once the hand rests: a dragged slider asks not for every pixel. */
function useRested<T>(value: T): T {
  const [rested, setRested] = useState(value);
  const key = JSON.stringify(value);
  useEffect(() => {
    const timer = setTimeout(() => setRested(value), REST_MS);
    return () => clearTimeout(timer);
  }, [key]);
  return rested;
}

function change(limits: Limits, key: string, text: string | null): void {
  const next = { ...limits };
  if (text === null) delete next[key];
  else next[key] = text;
  look({ limits: next }, true);
}

function Gates({ limits, results }: { limits: Limits; results: ThresholdResult[] }) {
  const keys = Object.keys(limits);
  if (keys.length === 0) return <p class="quiet">No threshold: only the certificate judges.</p>;
  return (
    <ul class="gates">
      {keys.map((key) => (
        <GateRow key={key} name={key} limits={limits} result={results.find((r) => r.key === key)} />
      ))}
    </ul>
  );
}

interface GateRowProps {
  name: string;
  limits: Limits;
  result: ThresholdResult | undefined;
}

function GateRow({ name, limits, result }: GateRowProps) {
  const { operator, limit } = split(limits[name]!) ?? { operator: "<=", limit: 0 };
  const metric = metricOf(name);
  // The slider's end stays where it is while it is dragged.
  const [most, setMost] = useState(0);
  const actual = result?.actual ?? null;
  useEffect(() => {
    setMost((was) => Math.max(was, roomFor(Math.max(limit, actual ?? 0), metric)));
  }, [actual]);
  const end = Math.max(most, roomFor(limit, metric));
  const set = (value: number) => change(limits, name, joined(operator, value));
  return (
    <li class={result ? (result.passed ? "good" : "bad") : ""}>
      <code>{name}</code>
      <select
        value={operator}
        aria-label={`Which side of the limit of ${name} passes`}
        onChange={(event) => change(limits, name, joined(event.currentTarget.value, limit))}
      >
        {OPERATORS.map((o) => (
          <option key={o} value={o}>
            {sign(o)}
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
        aria-valuetext={figure(limit, metric)}
        onInput={(event) => set(tidy(Number(event.currentTarget.value)))}
      />
      <label class="with-unit">
        <input
          type="number"
          min={0}
          step="any"
          value={limit}
          aria-label={`Limit of ${name}, exactly`}
          onChange={(event) => set(Math.max(0, Number(event.currentTarget.value) || 0))}
        />
        {unit(metric)}
      </label>
      <small>measured {figure(actual, metric)}</small>
      <button
        type="button"
        class="ghost"
        aria-label={`Without ${name}`}
        onClick={() => change(limits, name, null)}
      >
        <Icon name="close" />
      </button>
    </li>
  );
}

function roomFor(value: number, metric: string): number {
  if (unit(metric) === " %") return value > 20 ? 100 : Math.max(5, value * 2);
  return Math.max(1, value * 2);
}

/** Three digits are as exact as a hand is. */
function tidy(value: number): number {
  return Number(value.toPrecision(3));
}

function AddGate({ limits, tasks }: { limits: Limits; tasks: string[] }) {
  const keys = [
    ...OFFERED,
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

function Times({ shown, warmUp }: { shown: Shown; warmUp: number }) {
  const { view, report } = shown;
  const tick = report.run.tick_us;
  const end = Math.ceil((report.run.stopped_at_us ?? report.run.profile_us) / tick) * tick;
  return (
    <>
      <Span
        label="warm-up"
        says={clock(warmUp / 1e6)}
        max={end}
        step={tick}
        value={warmUp}
        onMove={(us) => look({ warmUp: us }, true)}
      />
      <Span
        label="from"
        says={clock((view.from ?? 0) / 1e6)}
        max={end}
        step={tick}
        value={view.from ?? 0}
        onMove={(us) =>
          look({ from: us === 0 ? null : Math.min(us, (view.to ?? end) - tick) }, true)
        }
      />
      <Span
        label="to"
        says={clock((view.to ?? end) / 1e6)}
        max={end}
        step={tick}
        value={view.to ?? end}
        onMove={(us) =>
          look({ to: us >= end ? null : Math.max(us, (view.from ?? 0) + tick) }, true)
        }
      />
    </>
  );
}

function Compared({ before: { report }, after }: { before: Shown; after: WhatIf }) {
  const rows: [string, string, string][] = [
    ["p50", latency(report.latency.response?.p50_us), latency(after.latency.response?.p50_us)],
    ["p95", latency(report.latency.response?.p95_us), latency(after.latency.response?.p95_us)],
    ["p99", latency(report.latency.response?.p99_us), latency(after.latency.response?.p99_us)],
    ["achieved", perSecond(report.rates.achieved_rps), perSecond(after.rates.achieved_rps)],
    ["not ok", percent(report.error_rate_pct), percent(after.error_rate_pct)],
    ["certificate", report.certificate.grade, after.certificate.grade],
  ];
  return (
    <table class="answers">
      <thead>
        <tr>
          <th>
            <span class="unseen">figure</span>
          </th>
          <th class="n">as planned</th>
          <th class="n">as asked</th>
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
