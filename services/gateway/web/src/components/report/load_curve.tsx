// Latency and errors by level of the load, and the highest level that the target held.

import type { LoadCurve, LoadLevel } from "../../api/_generated/report";
import { duration, latency, percent, perSecond } from "../../format/numbers";
import { Badge } from "../layout/icons";
import { Panel, Scroll } from "../layout/panel";

export function LoadLevels({ curve }: { curve: LoadCurve | null | undefined }) {
  if (!curve) return null;
  return (
    <Panel title="Load levels" note="parts of the plan with a constant rate" wide>
      <p>{kneeText(curve)}</p>
      {curve.levels.length > 0 && (
        <Scroll label="Load levels">
          <table>
            <thead>
              <tr>
                <th>planned</th>
                <th class="n">achieved</th>
                <th class="n">p50</th>
                <th class="n">p99</th>
                <th class="n">service time p99</th>
                <th class="n">failed</th>
                <th>from</th>
                <th>held</th>
              </tr>
            </thead>
            <tbody>
              {curve.levels.map((level) => (
                <tr key={level.from_us}>
                  <th scope="row">{perSecond(level.rate_rps)}</th>
                  <td class="n">{perSecond(level.achieved_rps)}</td>
                  <td class="n">{latency(level.response?.p50_us)}</td>
                  <td class="n">{latency(level.response?.p99_us)}</td>
                  <td class="n">{latency(level.service?.p99_us)}</td>
                  <td class="n">{percent(level.error_rate_pct)}</td>
                  <td>{duration(level.from_us)}</td>
                  <td>
                    <Badge tone={level.exceeded.length > 0 ? "bad" : "good"}>
                      {level.exceeded.length > 0 ? reasons(level) : "held"}
                    </Badge>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      )}
    </Panel>
  );
}

const NO_KNEE = {
  few_levels: "No knee: the run held fewer than three different rates.",
  all_held: "No knee: the target held every level.",
  lowest_broke: "No knee: the target did not hold the lowest level.",
  steered: "No knee: the run was steered, so its levels are not those of its plan.",
};

/** Where the target stopped holding the load, or why there is no such level. */
function kneeText({ knee, no_knee: noKnee, levels }: LoadCurve): string {
  if (!knee) return NO_KNEE[noKnee ?? "few_levels"];
  const [held, broke] = [levels[knee.held]!, levels[knee.broke]!];
  return `The target held ${perSecond(held.rate_rps)}, and not ${perSecond(broke.rate_rps)}.`;
}

const LIMITS = { achieved: "too few started", latency: "slow", errors: "errors" };

function reasons({ exceeded }: LoadLevel): string {
  return exceeded.map((limit) => LIMITS[limit]).join(", ");
}
