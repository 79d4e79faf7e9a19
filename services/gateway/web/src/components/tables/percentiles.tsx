// Percentiles of corrected and uncorrected latency side by side.

import type { Latency } from "../../api/_generated/report";
import type { Percentiles } from "../../api/answers";
import { NOT_MEASURED, count, latency } from "../../format/numbers";

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

/** Each row has one bar per latency on a logarithmic scale. */
export function PercentileTable({ response, service }: { response: Maybe; service: Maybe }) {
  if (!response) return <p class="quiet">No calls in the measured time.</p>;
  const most = Math.log1p(response.max_us);
  const bar = (us: number) => (most === 0 ? 0 : (Math.log1p(us) / most) * 100);
  return (
    <table class="percentiles">
      <thead>
        <tr>
          <th>
            <span class="visually-hidden">figure</span>
          </th>
          <th
            class="n"
            title="From the due time of the call: includes the time it waited to be sent"
          >
            corrected
          </th>
          <th class="n" title="From dispatch: without the time the call waited to be sent">
            uncorrected
          </th>
          <th>
            <span class="visually-hidden">as bars</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {PERCENTILES_SHOWN.map(([name, key]) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td class="n strong">{latency(response[key])}</td>
            <td class="n">{service ? latency(service[key]) : NOT_MEASURED}</td>
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
          <th scope="row">calls</th>
          <td class="n">{count(response.count)}</td>
          <td class="n">{service ? count(service.count) : NOT_MEASURED}</td>
          <td />
        </tr>
      </tfoot>
    </table>
  );
}

/** The CO factor, and the cause of the difference between corrected and uncorrected latency. */
export function omission(latencies: Latency): { value: string; note: string; warn: boolean } {
  const factor = latencies.co_factor;
  if (factor === null || factor === undefined) {
    return {
      value: NOT_MEASURED,
      note: "not defined for a closed loop, which has no schedule",
      warn: false,
    };
  }
  const value = times(factor);
  const found = latencies.omission;
  // Reports by rules 1 hold the factor only.
  if (!found) return { value, note: "corrected p99 / uncorrected p99", warn: false };
  const most =
    found.percentile === 99 ? "" : `; largest ${times(found.factor)} at p${found.percentile}`;
  const lag = `schedule lag ${Math.round(found.schedule_lag_pct)} %`;
  const queue = `queue for a slot ${Math.round(found.queue_pct)} %`;
  const whose = {
    negligible: "less than 1 ms apart at each percentile",
    generator: `caused by a late generator (${lag}), not by the target`,
    target: `calls waited for a slow target (${queue})`,
  }[found.origin];
  return {
    value,
    note: `corrected / uncorrected p99${most}: ${whose}`,
    warn: found.origin === "target",
  };
}

function times(factor: number): string {
  return `${factor < 100 ? factor.toFixed(2) : Math.round(factor)}×`;
}
