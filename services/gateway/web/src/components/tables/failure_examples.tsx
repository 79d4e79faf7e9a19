// Requests that failed, as text: the request, and the beginning of the response.

import type { Errors } from "../../api/answers";
import { outcome, spaced } from "../../format/labels";
import { latency } from "../../format/numbers";
import { ExchangeText } from "./exchanges";

export function FailureExamples({ examples }: { examples: Errors["examples"] }) {
  return (
    <ol class="exchanges">
      {(examples ?? []).map(({ task, call, exchange }, i) => (
        <li key={i}>
          <details open={i === 0}>
            <summary>
              {call} <small>{task}</small>: {outcome(exchange.outcome)}
              {exchange.cause && ` (${spaced(exchange.cause)})`} after{" "}
              {latency(exchange.response_us)}
            </summary>
            <ExchangeText one={exchange} />
          </details>
        </li>
      ))}
    </ol>
  );
}
