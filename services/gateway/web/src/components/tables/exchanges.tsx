// The first exchanges of a run, as its plan requests them with --debug-requests: heads only.

import type { ExchangeSeen, Report } from "../../api/_generated/report";
import { bytes, count, latency } from "../../format/numbers";
import { outcome, spaced } from "../../format/labels";

export function ExchangeList({ report }: { report: Pick<Report, "exchanges" | "run"> }) {
  const unit = report.run.users == null ? "arrival" : "user";
  return (
    <ol class="exchanges">
      {(report.exchanges ?? []).map((one, i) => (
        <li key={i}>
          <details open={i === 0}>
            <summary>
              {unit} {count(one.arrival)}: {outcome(one.outcome)}
              {one.cause && ` (${spaced(one.cause)})`} after {latency(one.response_us)}
            </summary>
            <ExchangeText one={one} />
          </details>
        </li>
      ))}
    </ol>
  );
}

/** Request and answer as text. */
export function ExchangeText({ one }: { one: ExchangeSeen }) {
  return (
    <pre>
      {one.request.map((line) => `> ${line}\n`)}
      {`> (${bytes(one.request_body_bytes)} of body)\n`}
      {one.answer.map((line) => `< ${line}\n`)}
      {one.body && `<\n${one.body}\n`}
      {`< (${bytes(one.received_bytes)} received)`}
    </pre>
  );
}
