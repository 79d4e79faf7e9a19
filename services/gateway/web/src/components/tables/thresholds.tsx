// Thresholds: measured value, limit, margin, and since when a threshold has been failing.

import type { ThresholdResult } from "../../api/_generated/report";
import { clock, percent } from "../../format/numbers";
import { formatValue, margin, metricOf, operatorSign } from "../../format/thresholds";
import { Badge } from "../layout/icons";
import { Scroll } from "../layout/panel";

/** For each threshold, in order, since when it has been failing; null: not known. */
export type FirstBreachUs = (number | null)[] | null;

interface ThresholdsProps {
  results: ThresholdResult[];
  firstBreachUs: FirstBreachUs;
  onGoTo?: (us: number) => void;
}

export function Thresholds({ results, firstBreachUs, onGoTo }: ThresholdsProps) {
  if (results.length === 0) {
    return <p class="quiet">No thresholds are set. Try some in the “What if” tab.</p>;
  }
  return (
    <Scroll label="Thresholds">
      <table class="thresholds">
        <thead>
          <tr>
            <th>threshold</th>
            <th class="n">measured</th>
            <th class="n">limit</th>
            <th>margin</th>
            <th class="n">failing since</th>
          </tr>
        </thead>
        <tbody>
          {results.map((r, i) => (
            <ThresholdRow
              key={r.key + i}
              result={r}
              at={firstBreachUs?.[i] ?? null}
              onGoTo={onGoTo}
            />
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

interface ThresholdRowProps {
  result: ThresholdResult;
  at: number | null;
  onGoTo?: ((us: number) => void) | undefined;
}

function ThresholdRow({ result, at, onGoTo }: ThresholdRowProps) {
  const metric = metricOf(result.key);
  const left = margin(result);
  return (
    <tr class={result.passed ? "" : "bad"}>
      <th scope="row">
        <Badge tone={result.passed ? "good" : "bad"}>{result.passed ? "passed" : "failed"}</Badge>
        <code>{result.key}</code>
      </th>
      <td class="n" title={result.reason ?? undefined}>
        {formatValue(result.actual, metric)}
      </td>
      <td class="n">
        {operatorSign(result.operator)} {formatValue(result.limit, metric)}
      </td>
      <td>
        <MarginBar result={result} left={left} />
      </td>
      <td class="n">
        {at === null || result.passed ? (
          "–"
        ) : onGoTo ? (
          <button type="button" class="link" onClick={() => onGoTo(at)}>
            {clock(at / 1e6)}
          </button>
        ) : (
          clock(at / 1e6)
        )}
      </td>
    </tr>
  );
}

/** A bar up to the measured value, with a mark at the limit. */
function MarginBar({ result, left }: { result: ThresholdResult; left: number | null }) {
  if (left === null || result.actual === null || result.actual === undefined) return <>–</>;
  const most = Math.max(result.actual, result.limit) * 1.15;
  const words = left >= 0 ? `${percent(left)} left` : `${percent(-left)} over`;
  return (
    <span class="margin" title={words}>
      <svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
        <rect class="track" width="100" height="8" rx="2" />
        <rect class="fill" width={(result.actual / most) * 100} height="8" rx="2" />
        <rect class="mark" x={(result.limit / most) * 100 - 0.6} width="1.2" height="8" />
      </svg>
      <small>{words}</small>
    </span>
  );
}
