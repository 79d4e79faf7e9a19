// Thresholds: measured value, limit, margin, and when a threshold first failed.

import type { MetricsReport, ThresholdResult } from "../../api/_generated/report";
import { NOT_MEASURED, clock, percent } from "../../format/numbers";
import { formatResult, margin, operatorSign } from "../../format/thresholds";
import { Badge } from "../layout/icons";
import { Figure } from "../layout/figures";
import { Scroll } from "../layout/panel";

/** For each threshold, in order, when it first failed for good; null: not known. */
export type FirstBreachUs = (number | null)[] | null;

interface ThresholdsProps {
  results: ThresholdResult[];
  firstBreachUs: FirstBreachUs;
  /** Metrics of the scenario, for their units. */
  own?: MetricsReport | null | undefined;
  /** Path of the results in the report's JSON; absent: they are of another answer. */
  of?: string;
  /** Advice where no thresholds are set. */
  hint?: string | undefined;
  onGoTo?: ((us: number) => void) | undefined;
}

export function Thresholds({ results, firstBreachUs, own, of, hint, onGoTo }: ThresholdsProps) {
  if (results.length === 0) return <p class="quiet">No thresholds are set. {hint}</p>;
  return (
    <Scroll label="Thresholds">
      <table class="thresholds">
        <thead>
          <tr>
            <th>threshold</th>
            <th class="n">measured</th>
            <th class="n">limit</th>
            <th>margin</th>
            <th class="n">first failed at</th>
          </tr>
        </thead>
        <tbody>
          {results.map((r, i) => (
            <ThresholdRow
              key={r.key + i}
              result={r}
              own={own}
              of={of && `${of}.${i}`}
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
  own: MetricsReport | null | undefined;
  of: string | undefined;
  at: number | null;
  onGoTo?: ((us: number) => void) | undefined;
}

function ThresholdRow({ result, own, of, at, onGoTo }: ThresholdRowProps) {
  const left = margin(result);
  const text = formatResult(result, own);
  const reason = result.reason ?? "Nothing was measured";
  return (
    <tr class={result.passed ? "" : "bad"}>
      <th scope="row">
        <Badge tone={result.passed ? "good" : "bad"}>{result.passed ? "passed" : "failed"}</Badge>
        <code>{result.key}</code>
        {text.actual === NOT_MEASURED && <small class="reason">{reason}</small>}
      </th>
      <td class="n">
        <Figure of={of && `${of}.actual`} text={text.actual} none={reason} />
      </td>
      <td class="n">
        {operatorSign(result.operator)} {text.limit}
      </td>
      <td>
        <MarginBar result={result} left={left} />
      </td>
      <td class="n">
        {at === null || result.passed ? (
          <span title={result.passed ? "It passed" : NO_BREACH}>{NOT_MEASURED}</span>
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

const NO_BREACH = "Known for limits on response time and failed requests only";

/** A bar up to the measured value, with a mark at the limit. */
function MarginBar({ result, left }: { result: ThresholdResult; left: number | null }) {
  if (left === null || result.actual === null || result.actual === undefined) {
    const why =
      result.limit === 0 ? "A limit of 0 has no margin in percent" : "Nothing was measured";
    return <span title={why}>{NOT_MEASURED}</span>;
  }
  const most = Math.max(result.actual, result.limit) * 1.15;
  const words = left >= 0 ? `${percent(left)} left` : `missed by ${percent(-left)}`;
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
