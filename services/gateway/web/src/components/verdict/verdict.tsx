// The verdict of a run as a word and a sentence.

import type { Report, ThresholdResult, Verdict } from "../../api/_generated/report";
import { type Tone, grade, isOver } from "../../format/labels";
import { clock } from "../../format/numbers";
import { formatValue, metricOf, operatorSign } from "../../format/thresholds";
import { Badge } from "../layout/icons";
import type { FirstBreachUs } from "../tables/thresholds";

interface VerdictText {
  word: string;
  tone: Tone;
  text: string;
}

/** The verdict as a word and a sentence. VOID: thresholds passed, the certificate is INVALID. */
export function verdictSentence(
  report: Pick<Report, "verdict" | "certificate" | "run">,
): VerdictText {
  const { verdict, certificate, run } = report;
  if (!isOver(run.state)) return runningVerdict(verdict);
  if (!verdict.passed) {
    const failed = verdict.thresholds.filter((t) => !t.passed);
    const why = failed.map(missReason).concat(verdict.reasons);
    return { word: "FAIL", tone: "bad", text: why.join("; ") || "The run did not pass." };
  }
  if (certificate.grade === "INVALID") {
    const text = "All thresholds passed, but the certificate is INVALID: do not use the figures.";
    return { word: "VOID", tone: "warn", text };
  }
  if (run.ending === "stopped") {
    const text = "The run was stopped early; all thresholds passed until then.";
    return { word: "STOPPED", tone: "warn", text };
  }
  const gates = verdict.thresholds.length;
  const held = gates === 1 ? "The threshold" : `All ${gates} thresholds`;
  const text =
    gates === 0
      ? "No thresholds are set; the planned load was sent and answered."
      : `${held} passed.`;
  return { word: "PASS", tone: "good", text };
}

/** The present state of the thresholds: a run cannot pass before it has ended. */
function runningVerdict({ thresholds }: Verdict): VerdictText {
  const failed = thresholds.filter((t) => !t.passed);
  const measured = failed.filter((t) => t.actual !== null && t.actual !== undefined);
  if (measured.length > 0) {
    return {
      word: "FAILING",
      tone: "bad",
      text: `Failed so far: ${measured.map(missReason).join("; ")}`,
    };
  }
  if (thresholds.length === 0) {
    return { word: "RUNNING", tone: "plain", text: "No thresholds are set." };
  }
  if (failed.length > 0) {
    return { word: "RUNNING", tone: "plain", text: "Some thresholds have no data yet." };
  }
  const text = "All thresholds pass so far. The verdict follows when the run ends.";
  return { word: "PASSING", tone: "good", text };
}

function missReason(result: ThresholdResult): string {
  if (result.actual === null || result.actual === undefined) {
    return `${result.key}: ${result.reason ?? "not measured"}`;
  }
  const actual = formatValue(result.actual, metricOf(result.key));
  const limit = formatValue(result.limit, metricOf(result.key));
  return `${result.key} was ${actual}, the limit is ${operatorSign(result.operator)} ${limit}`;
}

interface VerdictBannerProps {
  report: Pick<Report, "verdict" | "certificate" | "run">;
  firstBreachUs: FirstBreachUs;
  onGoTo?: (us: number) => void;
}

export function VerdictBanner({ report, firstBreachUs, onGoTo }: VerdictBannerProps) {
  const { verdict, certificate, run } = report;
  const over = isOver(run.state);
  const text = verdictSentence(report);
  const first = earliestBreach(verdict, firstBreachUs);
  return (
    <section class={`verdict ${text.tone}`} aria-label="Verdict">
      <strong>{text.word}</strong>
      <div>
        <p>{text.text}</p>
        {first && (
          <p class="breach">
            {first.key} failing since{" "}
            {onGoTo ? (
              <button type="button" class="link" onClick={() => onGoTo(first.at)}>
                {clock(first.at / 1e6)}
              </button>
            ) : (
              clock(first.at / 1e6)
            )}
          </p>
        )}
      </div>
      {over && <Badge tone={grade(certificate.grade).tone}>certificate {certificate.grade}</Badge>}
    </section>
  );
}

function earliestBreach(
  verdict: Verdict,
  firstBreachUs: FirstBreachUs,
): { key: string; at: number } | null {
  const found = verdict.thresholds
    .map((t, i) => ({ key: t.key, passed: t.passed, at: firstBreachUs?.[i] ?? null }))
    .filter((t): t is { key: string; passed: boolean; at: number } => !t.passed && t.at !== null);
  return found.sort((a, b) => a.at - b.at)[0] ?? null;
}
