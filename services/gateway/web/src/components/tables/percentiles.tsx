// Percentiles of response time and service time side by side, and why the two differ.

import type { Latency } from "../../api/_generated/report";
import type { Percentiles } from "../../api/answers";
import { RESPONSE, RESPONSE_TITLE, SERVICE, SERVICE_TITLE } from "../../format/labels";
import { NOT_MEASURED, count, latency } from "../../format/numbers";
import { Figure, FigureCell } from "../layout/figures";

const PERCENTILES_SHOWN: [string, keyof Percentiles][] = [
  ["min", "min_us"],
  ["p50", "p50_us"],
  ["p75", "p75_us"],
  ["p90", "p90_us"],
  ["p95", "p95_us"],
  ["p99", "p99_us"],
  ["p99.9", "p99_9_us"],
  ["p99.99", "p99_99_us"],
  ["max", "max_us"],
  ["mean", "mean_us"],
];

type Maybe = Percentiles | null | undefined;

interface PercentileTableProps {
  response: Maybe;
  service: Maybe;
  /** A closed loop has no schedule: both latencies are the same. */
  closedLoop: boolean;
  /** Path of the two in the report's JSON, `latency`; absent: they are of another answer. */
  of?: string;
  /** Heads of the two columns; by default those of the latency of requests. */
  heads?: [string, string];
  /** Why there are no percentiles. */
  none?: string;
}

export const NOTHING_FINISHED = "No request finished in the measured time.";
export const NOTHING_REACHED = "Not measured: no request reached a server.";

/** Latency that a server caused. Without one the percentiles are those of failed connects. */
export function serverLatency(latency: Latency): {
  response: Percentiles | null;
  service: Percentiles | null;
  none: string;
} {
  const { response, service } = latency;
  if (isUnreached(latency)) return { response: null, service: null, none: NOTHING_REACHED };
  return { response: response ?? null, service: service ?? null, none: NOTHING_FINISHED };
}

/** Whether requests finished, and none had a connection to a server. */
export function isUnreached({ response, unconnected = 0 }: Latency): boolean {
  return response != null && unconnected >= response.count;
}

/** Each row has one bar per latency on a logarithmic scale. */
export function PercentileTable(props: PercentileTableProps) {
  const { response, closedLoop, of, none = NOTHING_FINISHED } = props;
  const [responseHead, serviceHead] = props.heads ?? [
    closedLoop ? "Response time" : RESPONSE,
    SERVICE,
  ];
  if (!response) return <p class="quiet">{none}</p>;
  const service = closedLoop ? null : props.service;
  const most = Math.log1p(response.max_us);
  const bar = (us: number) => (most === 0 ? 0 : (Math.log1p(us) / most) * 100);
  const path = (kind: string, key: string) => of && `${of}.${kind}.${key}`;
  const cell = (kind: string, ladder: Percentiles, key: keyof Percentiles) => (
    <FigureCell
      of={path(kind, key)}
      text={key === "count" ? count(ladder.count) : latency(ladder[key])}
      strong={kind === "response" && key !== "count"}
    />
  );
  return (
    <table class="percentiles">
      <thead>
        <tr>
          <th>
            <span class="visually-hidden">figure</span>
          </th>
          <th class="n" title={closedLoop ? CLOSED_LOOP_TITLE : RESPONSE_TITLE}>
            {responseHead}
          </th>
          {service && (
            <th class="n" title={SERVICE_TITLE}>
              {serviceHead}
            </th>
          )}
          <th>logarithmic</th>
        </tr>
      </thead>
      <tbody>
        {PERCENTILES_SHOWN.map(([name, key]) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            {cell("response", response, key)}
            {service && cell("service", service, key)}
            <td class="bars">
              <svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
                <rect class="response" width={bar(response[key])} height="4" />
                {service && <rect class="service" y="5" width={bar(service[key])} height="4" />}
              </svg>
            </td>
          </tr>
        ))}
      </tbody>
      <tfoot>
        <tr>
          <th scope="row">requests</th>
          {cell("response", response, "count")}
          {service && cell("service", service, "count")}
          <td />
        </tr>
      </tfoot>
    </table>
  );
}

const CLOSED_LOOP_TITLE = "A closed loop has no schedule: a request is due when it is sent";

/** Latencies that a closed loop leaves out, and a comparison of failed requests with ok ones. */
export function LatencyNotes({ times, closedLoop }: { times: Latency; closedLoop: boolean }) {
  const { response_ok: ok, response_failed: failed, unconnected = 0 } = times;
  return (
    <div class="latency-notes">
      {closedLoop && (
        <p class="quiet">
          Not counted from a schedule: while users wait for a slow response they send nothing, and
          what they did not send is left out (coordinated omission).
        </p>
      )}
      {failed && (
        <table>
          <thead>
            <tr>
              <th>requests that were</th>
              <th class="n">requests</th>
              <th class="n">p50</th>
              <th class="n">p99</th>
            </tr>
          </thead>
          <tbody>
            <HalfRow name="ok" of="latency.response_ok" ladder={ok} />
            <HalfRow name="failed" of="latency.response_failed" ladder={failed} />
          </tbody>
        </table>
      )}
      {failed && <p class="quiet">Neither half alone is what users saw.</p>}
      {unconnected > 0 && (
        <p class="quiet">
          <Figure of="latency.unconnected" text={count(unconnected)} /> requests had no connection:
          their time is no server's.
        </p>
      )}
    </div>
  );
}

function HalfRow({ name, of, ladder }: { name: string; of: string; ladder: Maybe }) {
  const none = `No request was ${name}`;
  return (
    <tr>
      <th scope="row">{name}</th>
      <FigureCell of={`${of}.count`} text={count(ladder?.count)} none={none} />
      <FigureCell of={`${of}.p50_us`} text={latency(ladder?.p50_us)} none={none} />
      <FigureCell of={`${of}.p99_us`} text={latency(ladder?.p99_us)} none={none} strong />
    </tr>
  );
}

interface OmissionText {
  value: string;
  /** The cause in a few words. */
  short: string;
  /** The cause with its figures. */
  note: string;
  warn: boolean;
}

const ORIGINS = {
  negligible: "nothing waited for long",
  generator: "the load generator was late",
  target: "requests waited for a slow target",
};

/** The CO factor, and the cause of the difference between response time and service time. */
export function omission(latencies: Latency): OmissionText {
  const factor = latencies.co_factor;
  if (factor === null || factor === undefined) {
    const note = "not measured: no request finished, or a closed loop has no schedule";
    return { value: NOT_MEASURED, short: note, note, warn: false };
  }
  const value = times(factor);
  const found = latencies.omission;
  // Reports by rules 1 hold the factor only.
  const ratio = "p99 of response time / service time";
  if (!found) return { value, short: ratio, note: ratio, warn: false };
  const most =
    found.percentile === 99
      ? ""
      : `; largest ${times(found.factor)} at p${found.percentile} ` +
        `(${latency(found.response_us)} / ${latency(found.service_us)})`;
  const lag = `schedule lag ${Math.round(found.schedule_lag_pct)} %`;
  const queue = `queue for a slot ${Math.round(found.queue_pct)} %`;
  const whose = {
    negligible: "less than 1 ms apart at each percentile",
    generator: `caused by a late load generator (${lag}), not by the target`,
    target: `requests waited for a slow target (${queue}, ${lag})`,
  }[found.origin];
  return {
    value,
    short: ORIGINS[found.origin],
    note: `${ratio}${most}: ${whose}`,
    warn: found.origin === "target",
  };
}

function times(factor: number): string {
  return `${factor < 100 ? factor.toFixed(2) : Math.round(factor)}×`;
}
