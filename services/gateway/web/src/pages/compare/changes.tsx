// The engine's findings about compared runs: how each figure changed, and what that means.

import type { Comparison, FigureChange } from "../../api/_generated/comparison";
import type { Comparisons } from "../../api/answers";
import { Badge } from "../../components/layout/icons";
import { Panel } from "../../components/layout/panel";
import type { Tone } from "../../format/labels";
import { difference, percent, plain } from "../../format/numbers";

/** The engine's findings, by run, task and figure. */
export type Changes = Map<string, Found>;

export interface Found {
  change: FigureChange;
  comparison: Comparison;
}

export const changeKey = (run: string, task: string | null, figure: string) =>
  JSON.stringify([run, task, figure]);

export function changesOf({ comparisons }: Comparisons): Changes {
  return new Map(
    comparisons.flatMap((comparison) =>
      comparison.figures.map((change) => [
        changeKey(comparison.current, change.task ?? null, change.figure),
        { change, comparison },
      ]),
    ),
  );
}

const CHANGE_WORDS: Record<FigureChange["change"], string> = {
  equal: "equal",
  noise: "chance",
  small: "within the threshold",
  better: "better",
  worse: "worse",
  unjudged: "",
};
const CHANGE_TONES: Partial<Record<FigureChange["change"], Tone>> = {
  better: "good",
  worse: "bad",
};

/** How a figure changed from the baseline, and what that means. */
export function ChangeText({ found }: { found: Found | undefined }) {
  if (!found) return null;
  const { change } = found.change;
  const { baseline, current, change_pct: percent } = found.change;
  if (baseline == null || current == null) return null;
  const size = percent == null || change === "equal" ? "" : difference(percent);
  const text = [size, CHANGE_WORDS[change]].filter((part) => part !== "").join(", ");
  return (
    <small class={CHANGE_TONES[change] ?? ""} title={changeTitle(found)}>
      {text}
    </small>
  );
}

function changeTitle({ change, comparison }: Found): string {
  const { figure, interval } = change;
  const { name, unit } = COMPARED[figure];
  const [was, is] = [change.baseline, change.current].map((value) => `${plain(value)} ${unit}`);
  const lines = [`${name}: ${was}, now ${is}`];
  if (interval) {
    const [least, most] = interval.map((value) => `${value > 0 ? "+" : ""}${plain(value)}`);
    lines.push(`99 % of chance: ${least} to ${most} ${unit}`);
  }
  if (figure === "max_ms") lines.push("not judged: it is one request");
  if (comparison.obstacles.length > 0) {
    lines.push(`not judged: ${comparison.obstacles.join("; ")}`);
  }
  return lines.join("\n");
}

interface ConclusionsProps {
  /** Names of the runs, the baseline first. */
  labels: string[];
  comparisons: Comparison[];
}

/** The result of the comparison, a sentence for each run. */
export function Conclusions({ labels, comparisons }: ConclusionsProps) {
  return (
    <Panel title="Result" note="against the baseline" wide>
      <ul class="conclusions">
        {comparisons.map((comparison, at) => {
          const { tone, word, text } = conclusion(comparison);
          return (
            <li key={comparison.current}>
              <Badge tone={tone}>{word}</Badge> <b>{labels[at + 1]}</b> {text}
              {comparison.remarks.map((remark) => (
                <small key={remark} class="reason">
                  {remark}
                </small>
              ))}
            </li>
          );
        })}
      </ul>
    </Panel>
  );
}

function conclusion(comparison: Comparison): { tone: Tone; word: string; text: string } {
  const { obstacles, threshold_pct: threshold, figures } = comparison;
  if (obstacles.length > 0) {
    return { tone: "warn", word: "not judged", text: obstacles.join("; ") };
  }
  const beyond = `beyond ${percent(threshold)} and chance`;
  const worse = figures.filter((one) => one.change === "worse");
  if (worse.length === 0) {
    return { tone: "good", word: "no regression", text: `Nothing is worse ${beyond}.` };
  }
  const named = worse.map(
    ({ figure, task }) => COMPARED[figure].name + (task == null ? "" : ` of ${task}`),
  );
  return { tone: "bad", word: "regression", text: `Worse ${beyond}: ${named.join(", ")}.` };
}

/** Names and units of the figures of a comparison. */
const COMPARED: Record<FigureChange["figure"], { name: string; unit: string }> = {
  achieved_rps: { name: "achieved rate", unit: "/s" },
  p50_ms: { name: "p50", unit: "ms" },
  p95_ms: { name: "p95", unit: "ms" },
  p99_ms: { name: "p99", unit: "ms" },
  max_ms: { name: "max", unit: "ms" },
  error_rate_pct: { name: "share of failed requests", unit: "%" },
  held_rps: { name: "highest rate held", unit: "/s" },
};
