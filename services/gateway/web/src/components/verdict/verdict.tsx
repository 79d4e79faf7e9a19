// The verdict of a run in users' words: one word, a sentence, and what disturbed the run.

import type { ComponentChildren } from "preact";
import type { Report, ThresholdResult, Verdict } from "../../api/_generated/report";
import type { Mark } from "../../data/marks";
import {
  type Tone,
  finding,
  grade,
  isOver,
  runStatus,
  spaced,
  verdictLabel,
} from "../../format/labels";
import { clock, count, duration } from "../../format/numbers";
import { formatResult, operatorSign } from "../../format/thresholds";
import { MarkList } from "../charts/mark_lines";
import { Badge } from "../layout/icons";
import type { FirstBreachUs } from "../tables/thresholds";

type Judged = Pick<Report, "verdict" | "certificate" | "run"> & Pick<Partial<Report>, "metrics">;

interface VerdictText {
  word: string;
  tone: Tone;
  text: string;
}

/** The verdict as a word and a sentence. Invalid: thresholds passed, the figures prove nothing. */
export function verdictSentence(report: Judged): VerdictText {
  const { verdict, certificate, run } = report;
  if (!isOver(run.state)) return runningVerdict(report);
  const say = (word: Parameters<typeof verdictLabel>[0], text: string): VerdictText => {
    const { text: label, tone } = verdictLabel(word);
    return { word: label, tone, text };
  };
  if (!verdict.passed) {
    const failed = verdict.thresholds.filter((t) => !t.passed);
    const why = failed.map((t) => missReason(t, report)).concat(verdict.reasons);
    return say("FAIL", why.join("; ") || "The run did not pass.");
  }
  if (certificate.grade === "INVALID") {
    return say("VOID", "The thresholds held, but the measurement is INVALID: it proves nothing.");
  }
  if (run.ending === "stopped") {
    return say("STOPPED", "The run was stopped early; all thresholds passed until then.");
  }
  const gates = verdict.thresholds.length;
  const held = gates === 1 ? "The threshold" : `All ${gates} thresholds`;
  const sent =
    run.users == null ? "the planned load was sent and answered" : "the load was answered";
  return say("PASS", gates === 0 ? `No thresholds are set; ${sent}.` : `${held} passed.`);
}

/** The present state of the thresholds: a run cannot pass before it has ended. */
function runningVerdict(report: Judged): VerdictText {
  const { thresholds } = report.verdict;
  const failed = thresholds.filter((t) => !t.passed);
  const measured = failed.filter((t) => t.actual !== null && t.actual !== undefined);
  if (measured.length > 0) {
    const text = measured.map((t) => missReason(t, report)).join("; ");
    return { word: "Failing so far", tone: "bad", text };
  }
  if (thresholds.length === 0) {
    return { word: "Running", tone: "plain", text: "No thresholds are set." };
  }
  if (failed.length > 0) {
    return { word: "Running", tone: "plain", text: "Some thresholds have no data yet." };
  }
  if (invalidReasons(report).length > 0) {
    const text = "All thresholds pass so far, but the measurement is INVALID.";
    return { word: "Invalid so far", tone: "warn", text };
  }
  return { word: "Passing so far", tone: "good", text: "All thresholds pass so far." };
}

function missReason(result: ThresholdResult, { metrics }: Judged): string {
  if (result.actual === null || result.actual === undefined) {
    return `${result.key}: ${result.reason ?? "not measured"}`;
  }
  const { actual, limit } = formatResult(result, metrics);
  return `${result.key} was ${actual}, the limit is ${operatorSign(result.operator)} ${limit}`;
}

/** Findings that every run has before its end. */
const EARLY: ReadonlySet<string> = new Set(["unfinished", "coverage"]);

/** Why the figures of a run must not be used; empty: they may be. */
export function invalidReasons({
  certificate,
  run,
}: Pick<Report, "certificate" | "run">): string[] {
  if (certificate.grade !== "INVALID") return [];
  const over = isOver(run.state);
  return certificate.findings
    .filter((one) => one.grade === "INVALID" && (over || !EARLY.has(one.kind)))
    .map((one) => `${finding(one.kind).title}: ${one.evidence}`);
}

/** A warning above figures that must not be used. */
export function InvalidNotice({ report }: { report: Pick<Report, "certificate" | "run"> }) {
  const reasons = invalidReasons(report);
  if (reasons.length === 0) return null;
  return (
    <p class="notice bad invalid" role="note">
      <b>Measurement quality INVALID: do not use these figures.</b> {reasons.join("; ")}
    </p>
  );
}

interface VerdictBannerProps {
  report: Judged;
  firstBreachUs: FirstBreachUs;
  marks?: Mark[];
  /** No process of the run is left. */
  killed?: boolean;
  onGoTo?: ((us: number) => void) | undefined;
  /** Which part of the run is judged. */
  children?: ComponentChildren;
}

const MARKS_SHOWN_MAX = 8;

export function VerdictBanner(props: VerdictBannerProps) {
  const { report, firstBreachUs, marks = [], killed = false, onGoTo, children } = props;
  const { verdict, certificate, run } = report;
  const judged = verdictSentence(report);
  const text: VerdictText = killed ? { ...judged, word: "Killed", tone: "warn" } : judged;
  const first = earliestBreach(verdict, firstBreachUs);
  const quality = isOver(run.state) || invalidReasons(report).length > 0;
  return (
    <section class={`verdict ${text.tone}`} aria-label="Verdict">
      <strong>{text.word}</strong>
      <div>
        {children}
        <p>{text.text}</p>
        <Ending run={run} />
        {first && (
          <p class="breach">
            {first.key} first failed at{" "}
            {onGoTo ? (
              <button type="button" class="link" onClick={() => onGoTo(first.at)}>
                {clock(first.at / 1e6)}
              </button>
            ) : (
              clock(first.at / 1e6)
            )}
          </p>
        )}
        <MarkList marks={marks.slice(0, MARKS_SHOWN_MAX)} onGoTo={onGoTo} />
        {marks.length > MARKS_SHOWN_MAX && (
          <p class="quiet">and {marks.length - MARKS_SHOWN_MAX} more changes: see the timeline</p>
        )}
        {(run.steered?.length ?? 0) > 0 && (
          <p class="quiet">The figures are of the run as it was steered, not of its plan.</p>
        )}
      </div>
      {quality && (
        <Badge tone={grade(certificate.grade).tone}>Measurement quality {certificate.grade}</Badge>
      )}
    </section>
  );
}

/** How a run ended that did not run to its end, and why. */
function Ending({ run }: Pick<Report, "run">) {
  const { ending, stopped_at_us: stopped, rows_used_up: used, failure, unanswered } = run;
  const causes = Object.entries(unanswered?.causes ?? {});
  return (
    <>
      {ending && ending !== "completed" && (
        <p>
          Ended: {runStatus(run.state, ending).text}
          {stopped != null && ` after ${duration(stopped)}`}
        </p>
      )}
      {used && <p>No row left in feed {used.feed}</p>}
      {failure && <p class="failure">{failure.reason}</p>}
      {unanswered && (
        <p>
          No request reached a server: {count(unanswered.calls)} failed
          {causes.length > 0 &&
            `, ${causes.map(([why, n]) => `${spaced(why)} ${count(n)}`).join(", ")}`}
        </p>
      )}
    </>
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
