// Figures and tasks of compared runs as tables. The engine says what changed from the first run,
// and whether by more than chance.

import type { Report } from "../../api/_generated/report";
import type { FigureChange } from "../../api/_generated/comparison";
import type { Comparisons, Percentiles, Series } from "../../api/answers";
import { queryString } from "../../api/http";
import { useResource } from "../../api/resource";
import { Figure } from "../../components/layout/figures";
import { type Changes, ChangeText, Conclusions, changeKey, changesOf } from "./changes";
import { Explained } from "./explain";
import { Badge, Dot } from "../../components/layout/icons";
import { Failed, Panel, Scroll } from "../../components/layout/panel";
import { notStarted, total } from "../../components/tables/accounting";
import { isUnreached, serverLatency } from "../../components/tables/percentiles";
import { invalidReasons, verdictSentence } from "../../components/verdict/verdict";
import type { Buckets } from "../../data/histogram";
import { RESPONSE, grade } from "../../format/labels";
import {
  NOT_MEASURED,
  count,
  dateTime,
  latency,
  percent,
  perSecond,
  plain,
} from "../../format/numbers";

export interface Compared {
  report: Report;
  series: Series;
  buckets: Buckets;
}

/** The number of a run in the comparison, and its scenario. */
export function label(one: Compared, at: number): string {
  return `${at + 1} ${one.report.scenario}`;
}

/** One row of a table: the figure and its format. */
interface Row {
  name: string;
  /** Path of the figure in the report's JSON. */
  path: string;
  of: (report: Report) => Maybe;
  format: (value: Maybe) => string;
  /** The figure of a comparison that judges the row; absent: the row is only shown. */
  judged?: { task: string | null; figure: FigureChange["figure"] };
  /** Why a run has no such figure. */
  none: string;
}

type Maybe = number | null | undefined;

const UNFINISHED = "No request finished in the measured time";
const NO_PLAN = "A closed loop plans nothing";

const percentileRow = (
  name: string,
  key: keyof Percentiles,
  figure?: FigureChange["figure"],
): Row => ({
  name: `response time ${name}`,
  path: `latency.response.${key}`,
  of: (report) => serverLatency(report.latency).response?.[key],
  format: latency,
  ...(figure ? { judged: { task: null, figure } } : {}),
  none: "No request finished, or none reached a server",
});

const ROWS: Row[] = [
  {
    name: "planned rate",
    path: "rates.planned_rps",
    of: (r) => (r.run.users == null ? r.rates.planned_rps : null),
    format: perSecond,
    none: NO_PLAN,
  },
  {
    name: "achieved rate",
    path: "rates.achieved_rps",
    of: (r) => r.rates.achieved_rps,
    format: perSecond,
    judged: { task: null, figure: "achieved_rps" },
    none: UNFINISHED,
  },
  {
    name: "arrivals started",
    path: "arrivals.started",
    of: (r) => r.arrivals.started,
    format: count,
    none: UNFINISHED,
  },
  {
    name: "dropped or lost",
    path: "dropped_or_lost",
    of: (r) => total(notStarted(r.arrivals).dropped) + r.arrivals.lost,
    format: count,
    none: UNFINISHED,
  },
  {
    name: "called off",
    path: "called_off",
    of: (r) => total(notStarted(r.arrivals).calledOff),
    format: count,
    none: UNFINISHED,
  },
  {
    name: "requests finished",
    path: "requests_total",
    of: (r) => r.requests_total,
    format: count,
    none: UNFINISHED,
  },
  {
    name: "failed requests",
    path: "errors_total",
    of: (r) => r.errors_total,
    format: count,
    none: UNFINISHED,
  },
  {
    name: "share of failed requests",
    path: "error_rate_pct",
    of: (r) => r.error_rate_pct,
    format: percent,
    judged: { task: null, figure: "error_rate_pct" },
    none: UNFINISHED,
  },
  percentileRow("p50", "p50_us", "p50_ms"),
  percentileRow("p90", "p90_us"),
  percentileRow("p95", "p95_us", "p95_ms"),
  percentileRow("p99", "p99_us", "p99_ms"),
  percentileRow("p99.9", "p99_9_us"),
  percentileRow("max", "max_us", "max_ms"),
  {
    name: "service time p99",
    path: "latency.service.p99_us",
    of: (r) => serverLatency(r.latency).service?.p99_us,
    format: latency,
    none: UNFINISHED,
  },
  {
    name: "CO factor",
    path: "latency.co_factor",
    of: (r) => (isUnreached(r.latency) ? null : r.latency.co_factor),
    format: (v) => (v == null ? NOT_MEASURED : `${v.toFixed(2)}×`),
    none: "No request finished, or the run is a closed loop, which has no schedule",
  },
];

/** Rows that only some scenarios have: checks, streams and their own metrics. */
function measuredRows(reports: Report[]): Row[] {
  const none = "The run has no such figure";
  const rows: Row[] = [];
  const add = (name: string, path: string, format: Row["format"], of: Row["of"]) => {
    if (reports.some((report) => of(report) != null)) rows.push({ name, path, format, of, none });
  };
  add("failed checks", "checks.failed", count, (r) => r.checks?.failed);
  const firstToken = "streams.first_token.p95_us";
  add("first token p95", firstToken, latency, (r) => r.streams?.first_token?.p95_us);
  add("token gap p95", "streams.token_gap.p95_us", latency, (r) => r.streams?.token_gap?.p95_us);
  const names = (kind: "counters" | "trends" | "rates") =>
    new Set(reports.flatMap((report) => Object.keys(report.metrics?.[kind] ?? {})));
  for (const name of names("counters")) {
    const path = `metrics.counters.${name}.count`;
    add(`counter ${name}`, path, plain, (r) => r.metrics?.counters?.[name]?.count);
  }
  for (const name of names("trends")) {
    const path = `metrics.trends.${name}.p95`;
    add(`trend ${name} p95`, path, plain, (r) => r.metrics?.trends?.[name]?.p95);
  }
  for (const name of names("rates")) {
    const path = `metrics.rates.${name}.rate`;
    add(`rate ${name}`, path, percent, (r) => r.metrics?.rates?.[name]?.rate);
  }
  return rows;
}

/** Rows of a task. Its place in the report's list may differ between runs. */
function taskRows(name: string): Row[] {
  const of = (report: Report) => report.tasks.find((task) => task.name === name);
  const none = "The run has no such task, or no request of it finished";
  const percentile = (key: "p50" | "p95" | "p99"): Row => ({
    name: key,
    path: `tasks.${name}.response.${key}_us`,
    of: (report) => of(report)?.response?.[`${key}_us`],
    format: latency,
    judged: { task: name, figure: `${key}_ms` },
    none,
  });
  return [
    percentile("p50"),
    percentile("p95"),
    percentile("p99"),
    {
      name: "failed requests",
      path: `tasks.${name}.errors`,
      of: (report) => of(report)?.errors,
      format: count,
      judged: { task: name, figure: "error_rate_pct" },
      none,
    },
  ];
}

export function CompareTables({ shown }: { shown: Compared[] }) {
  const runs = shown.map((one) => one.report.run.id);
  const path = runs.length > 1 ? `/compare${queryString({ run: runs })}` : null;
  const { data, problem, reload } = useResource<Comparisons>(path);
  const found: Changes = data ? changesOf(data) : new Map();
  const reports = shown.map((one) => one.report);
  const tasks = [...new Set(reports.flatMap((report) => report.tasks.map((task) => task.name)))];
  return (
    <>
      {problem && <Failed problem={problem} again={reload} />}
      {data && path && <Conclusions labels={shown.map(label)} comparisons={data.comparisons} />}
      {data && path && <Explained labels={shown.map(label)} comparisons={data.comparisons} />}
      <Panel title="Figures" note="changes from the baseline" wide>
        <Scroll label="Figures">
          <table class="compared">
            <Head shown={shown} />
            <tbody>
              <VerdictRows reports={reports} />
              {[...ROWS, ...measuredRows(reports)].map((row) => (
                <FigureRow key={row.name} {...{ row, reports, found }} />
              ))}
            </tbody>
          </table>
        </Scroll>
      </Panel>
      <Panel title="Tasks" note={`${RESPONSE}; changes from the baseline`} wide>
        <Scroll label="Tasks">
          <table class="compared">
            <Head shown={shown} />
            {tasks.map((task) => (
              <tbody key={task}>
                <tr class="group">
                  <th scope="rowgroup" colSpan={reports.length + 1}>
                    {task}
                  </th>
                </tr>
                {taskRows(task).map((row) => (
                  <FigureRow key={row.name} {...{ row, reports, found }} />
                ))}
              </tbody>
            ))}
          </table>
        </Scroll>
      </Panel>
    </>
  );
}

function Head({ shown }: { shown: Compared[] }) {
  return (
    <thead>
      <tr>
        <th>
          <span class="visually-hidden">figure</span>
        </th>
        {shown.map((one, at) => (
          <th key={one.report.run.id} class="n">
            <Dot colour={`c-${at}`} /> {label(one, at)}
            <small>{dateTime(one.report.run.created_at)}</small>
          </th>
        ))}
      </tr>
    </thead>
  );
}

function VerdictRows({ reports }: { reports: Report[] }) {
  return (
    <>
      <tr>
        <th scope="row">verdict</th>
        {reports.map((report) => {
          const verdict = verdictSentence(report);
          return (
            <td key={report.run.id} class="n" title={verdict.text}>
              <Badge tone={verdict.tone}>{verdict.word}</Badge>
            </td>
          );
        })}
      </tr>
      <tr>
        <th scope="row">measurement quality</th>
        {reports.map((report) => (
          <td key={report.run.id} class="n">
            <Badge tone={grade(report.certificate.grade).tone}>{report.certificate.grade}</Badge>
            {invalidReasons(report).map((reason) => (
              <small key={reason} class="reason">
                do not use: {reason}
              </small>
            ))}
          </td>
        ))}
      </tr>
    </>
  );
}

interface FigureRowProps {
  row: Row;
  reports: Report[];
  found: Changes;
}

function FigureRow({ row, reports, found }: FigureRowProps) {
  return (
    <tr>
      <th scope="row">{row.name}</th>
      {reports.map((report) => {
        const { judged } = row;
        const key = judged && changeKey(report.run.id, judged.task, judged.figure);
        const [own] = invalidReasons(report);
        return (
          <td
            key={report.run.id}
            class={own === undefined ? "n" : "n invalid"}
            title={own && `INVALID: ${own}`}
          >
            <Figure of={row.path} text={row.format(row.of(report))} none={row.none} />
            {key && <ChangeText found={found.get(key)} />}
          </td>
        );
      })}
    </tr>
  );
}
