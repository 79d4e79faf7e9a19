// The highest rate at which the gates of a run hold, and the figures of the steps to it.

import type { HeldRate, HoldWindow } from "../../api/_generated/report";
import { clock, perSecond, plain } from "../../format/numbers";
import { Badge } from "../layout/icons";
import { Panel, Scroll } from "../layout/panel";

export function HeldRatePanel({ held }: { held: HeldRate | null | undefined }) {
  if (!held) return null;
  return (
    <Panel title="Held rate" note={held.gates.join(" and ")} wide>
      <p>{heldText(held)}</p>
      <Scroll label="Held rate">
        <table>
          <thead>
            <tr>
              <th>rate</th>
              <th>judged until</th>
              <th>gate</th>
              <th class="n">measured</th>
              <th class="n">limit</th>
              <th>outcome</th>
            </tr>
          </thead>
          <tbody>
            {held.steps.map((step) => (
              <Step key={step.from_us} step={step} />
            ))}
          </tbody>
        </table>
      </Scroll>
    </Panel>
  );
}

function Step({ step }: { step: HoldWindow }) {
  return (
    <tr>
      <th scope="row">{perSecond(step.rate / 1e6)}</th>
      <td>{clock(step.to_us / 1e6)}</td>
      <td>{step.key}</td>
      <td class="n">{step.actual === null ? "nothing" : plain(step.actual)}</td>
      <td class="n">{plain(step.limit)}</td>
      <td>
        <Badge tone={step.passed ? "good" : "bad"}>{step.passed ? "passed" : "failed"}</Badge>
      </td>
    </tr>
  );
}

function heldText({ rps, failed_rps: failed }: HeldRate): string {
  if (rps === null) return "No rate was found at which the gates hold.";
  const tooMuch = failed === null ? "" : ` ${perSecond(failed)} is too much.`;
  return `The gates hold at ${perSecond(rps)}.${tooMuch}`;
}
