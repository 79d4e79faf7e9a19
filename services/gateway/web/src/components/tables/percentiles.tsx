// Both latencies side by side: from the due time, and what the target alone took.

import type { Ladder, Latency } from "../../api/_generated/report";
import { NONE, count, latency } from "../../format/numbers";

const RUNGS: [string, keyof Ladder][] = [
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

type Maybe = Ladder | null | undefined;

/** Two ladders with a bar each, so that the distance between them is seen. */
export function Ladders({ response, service }: { response: Maybe; service: Maybe }) {
  if (!response) return <p class="quiet">Nothing has finished.</p>;
  const most = Math.log1p(response.max_us);
  const bar = (us: number) => (most === 0 ? 0 : (Math.log1p(us) / most) * 100);
  return (
    <table class="ladder">
      <thead>
        <tr>
          <th>
            <span class="unseen">figure</span>
          </th>
          <th class="n" title="From the moment the call was due: what users would have felt">
            corrected
          </th>
          <th class="n" title="From the moment it left the queue: what the target took">
            uncorrected
          </th>
          <th>
            <span class="unseen">as bars</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {RUNGS.map(([name, key]) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td class="n strong">{latency(response[key])}</td>
            <td class="n">{service ? latency(service[key]) : NONE}</td>
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
          <td class="n">{service ? count(service.count) : NONE}</td>
          <td />
        </tr>
      </tfoot>
    </table>
  );
}

/** The CO factor, and what made corrected differ from uncorrected. */
export function omission(latencies: Latency): { value: string; note: string; warn: boolean } {
  const factor = latencies.co_factor;
  if (factor === null || factor === undefined) {
    return { value: NONE, note: "closed loop: there is no schedule to count from", warn: false };
  }
  const value = times(factor);
  const found = latencies.omission;
  // Runs that are judged by the first rules do not say more than their factor.
  if (!found) return { value, note: "corrected p99 / uncorrected p99", warn: false };
  const most =
    found.percentile === 99 ? "" : `; largest ${times(found.factor)} at p${found.percentile}`;
  const lag = `schedule lag ${Math.round(found.schedule_lag_pct)} %`;
  const queue = `queue for a slot ${Math.round(found.queue_pct)} %`;
  const whose = {
    negligible: "less than 1 ms apart at each percentile",
    generator: `the generator was late (${lag}), not the target`,
    target: `calls waited while the target was slow (${queue})`,
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
