// The judgement first: did it pass, by what, when did it break, and can it be trusted at all?

import { Scroll } from "../layout/panel";
import type { Certificate, Report, ThresholdResult, Verdict } from "../../api/_generated/report";
import { clock, percent } from "../../format/numbers";
import { figure, metricOf, room, sign } from "../../format/thresholds";
import { type Tone, finding, grade, isOver } from "../../format/labels";
import { Badge } from "../layout/icons";

/** For each threshold, in order, from when on it did not hold; null: nobody asked. */
export type Broke = (number | null)[] | null;

interface Sentence {
  word: string;
  tone: Tone;
  text: string;
}

/** The verdict as a word and a sentence; VOID is a pass that cannot be trusted. */
export function judged(report: Pick<Report, "verdict" | "certificate" | "run">): Sentence {
  const { verdict, certificate, run } = report;
  if (!isOver(run.state)) return soFar(verdict);
  if (!verdict.passed) {
    const failed = verdict.thresholds.filter((t) => !t.passed);
    const why = failed.map(missed).concat(verdict.reasons);
    return { word: "FAIL", tone: "bad", text: why.join("; ") || "It did not pass." };
  }
  if (certificate.grade === "INVALID") {
    const text = "Thresholds held, but the certificate is INVALID: the figures prove nothing.";
    return { word: "VOID", tone: "warn", text };
  }
  if (run.ending === "stopped") {
    const text = "The run was cut short; what was measured until then passes.";
    return { word: "STOPPED", tone: "warn", text };
  }
  const gates = verdict.thresholds.length;
  const held = gates === 1 ? "The threshold" : `All ${gates} thresholds`;
  const text =
    gates === 0 ? "No threshold was set; load was offered and answered." : `${held} held.`;
  return { word: "PASS", tone: "good", text };
}

/** No run passes before it is over; what can be said is how its thresholds stand. */
function soFar({ thresholds }: Verdict): Sentence {
  const failed = thresholds.filter((t) => !t.passed);
  const measured = failed.filter((t) => t.actual !== null && t.actual !== undefined);
  if (measured.length > 0) {
    return { word: "FAILING", tone: "bad", text: `So far ${measured.map(missed).join("; ")}` };
  }
  if (thresholds.length === 0) {
    return { word: "RUNNING", tone: "plain", text: "No threshold was set." };
  }
  if (failed.length > 0) {
    return { word: "RUNNING", tone: "plain", text: "Not every threshold could be measured yet." };
  }
  const text = "Every threshold holds so far. The verdict is said when the run is over.";
  return { word: "PASSING", tone: "good", text };
}

function missed(result: ThresholdResult): string {
  if (result.actual === null || result.actual === undefined) {
    return `${result.key}: ${result.reason ?? "nothing was measured"}`;
  }
  const actual = figure(result.actual, metricOf(result.key));
  const limit = figure(result.limit, metricOf(result.key));
  return `${result.key} was ${actual}, the limit is ${sign(result.operator)} ${limit}`;
}

interface JudgedProps {
  report: Pick<Report, "verdict" | "certificate" | "run">;
  broke: Broke;
  onGoTo?: (us: number) => void;
}

export function Judged({ report, broke, onGoTo }: JudgedProps) {
  const { verdict, certificate, run } = report;
  const over = isOver(run.state);
  const said = judged(report);
  const first = firstBreak(verdict, broke);
  return (
    <section class={`judged ${said.tone}`} aria-label="Verdict">
      <strong>{said.word}</strong>
      <div>
        <p>{said.text}</p>
        {first && (
          <p class="broke">
            {first.key} has not held since{" "}
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

function firstBreak(verdict: Verdict, broke: Broke): { key: string; at: number } | null {
  const found = verdict.thresholds
    .map((t, i) => ({ key: t.key, passed: t.passed, at: broke?.[i] ?? null }))
    .filter((t): t is { key: string; passed: boolean; at: number } => !t.passed && t.at !== null);
  return found.sort((a, b) => a.at - b.at)[0] ?? null;
}

interface ThresholdsProps {
  results: ThresholdResult[];
  broke: Broke;
  onGoTo?: (us: number) => void;
}

export function Thresholds({ results, broke, onGoTo }: ThresholdsProps) {
  if (results.length === 0) {
    return <p class="quiet">None was set. Try some under “What if”.</p>;
  }
  return (
    <Scroll label="Thresholds">
      <table class="thresholds">
        <thead>
          <tr>
            <th>threshold</th>
            <th class="n">measured</th>
            <th class="n">limit</th>
            <th>room</th>
            <th class="n">broke at</th>
          </tr>
        </thead>
        <tbody>
          {results.map((r, i) => (
            <Gate key={r.key + i} result={r} at={broke?.[i] ?? null} onGoTo={onGoTo} />
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

interface GateProps {
  result: ThresholdResult;
  at: number | null;
  onGoTo?: ((us: number) => void) | undefined;
}

function Gate({ result, at, onGoTo }: GateProps) {
  const metric = metricOf(result.key);
  const left = room(result);
  return (
    <tr class={result.passed ? "" : "bad"}>
      <th scope="row">
        <Badge tone={result.passed ? "good" : "bad"}>{result.passed ? "held" : "missed"}</Badge>
        <code>{result.key}</code>
      </th>
      <td class="n" title={result.reason ?? undefined}>
        {figure(result.actual, metric)}
      </td>
      <td class="n">
        {sign(result.operator)} {figure(result.limit, metric)}
      </td>
      <td>
        <Room result={result} left={left} />
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

/** A bar up to what was measured, with the limit as a mark. */
function Room({ result, left }: { result: ThresholdResult; left: number | null }) {
  if (left === null || result.actual === null || result.actual === undefined) return <>–</>;
  const most = Math.max(result.actual, result.limit) * 1.15;
  const words = left >= 0 ? `${percent(left)} left` : `${percent(-left)} beyond`;
  return (
    <span class="room" title={words}>
      <svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
        <rect class="track" width="100" height="8" rx="2" />
        <rect class="fill" width={(result.actual / most) * 100} height="8" rx="2" />
        <rect class="mark" x={(result.limit / most) * 100 - 0.6} width="1.2" height="8" />
      </svg>
      <small>{words}</small>
    </span>
  );
}

interface TrustProps {
  certificate: Certificate;
  over: boolean;
}

export function Trust({ certificate, over }: TrustProps) {
  const said = grade(certificate.grade);
  // That a run is not over yet is no fault of it.
  const findings = certificate.findings.filter((f) => over || f.kind !== "unfinished");
  return (
    <div class="trust">
      {over ? (
        <p>
          <Badge tone={said.tone}>{certificate.grade}</Badge> {said.text}
        </p>
      ) : (
        <p class="quiet">The certificate is given when the run is over.</p>
      )}
      {findings.length === 0 && (
        <p class="quiet">
          Nothing was found: the generator was on time, nothing is missing, clocks agree.
        </p>
      )}
      <ul>
        {findings.map((f, i) => {
          const { title, advice } = finding(f.kind);
          return (
            <li key={i} class={grade(f.grade).tone}>
              <b>{title}</b> <small>{f.grade}</small>
              <p>{f.evidence}</p>
              {advice && <p class="quiet">{advice}</p>}
            </li>
          );
        })}
      </ul>
    </div>
  );
}
