// Steering of a run in progress. Each action is confirmed first; the result shown afterwards is the
// decision of a coordinator.

import { useState } from "preact/hooks";
import type { Report } from "../../api/_generated/report";
import type { Problem } from "../../api/http";
import { post } from "../../api/http";
import { asProblem } from "../../api/resource";
import { me } from "../../app/session";
import { Dialog } from "../../components/controls/dialog";
import { Icon } from "../../components/layout/icons";

type Action = "rate" | "pause" | "resume" | "stop" | "halt";

const CONFIRMATIONS: Record<
  Action,
  { title: string; confirm: string; text: string; danger?: boolean }
> = {
  rate: {
    title: "Change the rate",
    confirm: "Change the rate",
    text: "The new rate takes effect in three to four seconds and holds until the run ends.",
  },
  pause: {
    title: "Pause the run?",
    confirm: "Pause",
    text: "No arrivals start; those that are due are dropped. The run's time continues.",
  },
  resume: {
    title: "Resume the run?",
    confirm: "Resume",
    text: "Arrivals start again. Those due during the pause stay dropped: there is no burst.",
  },
  stop: {
    title: "Stop the run?",
    confirm: "Stop",
    danger: true,
    text: "No further arrivals start. Requests in flight finish, and the report is kept.",
  },
  halt: {
    title: "Halt the run?",
    confirm: "Halt",
    danger: true,
    text: "Emergency stop: requests in flight are cancelled at once, without a coordinator.",
  },
};

/** The part of the gateway's answer that describes the decision. */
interface Decision {
  words?: string;
  told?: string;
}

export function Steering({ report }: { report: Report }) {
  const [action, setAction] = useState<Action | null>(null);
  const [rate, setRate] = useState("");
  const [waiting, setWaiting] = useState(false);
  const [result, setResult] = useState<string | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  if (me.value && me.value.can_steer === false) return null;

  const confirm = (next: Action) => {
    setProblem(null);
    setAction(next);
  };
  const send = async (name: Action) => {
    setWaiting(true);
    try {
      const path = `/runs/${encodeURIComponent(report.run.id)}/${name}`;
      const answer = await post<Decision>(
        path,
        name === "rate" ? { rate: rateWithUnit(rate) } : {},
      );
      setResult(answer.words ?? answer.told ?? "Accepted; see the timeline.");
      setAction(null);
    } catch (error) {
      setProblem(asProblem(error));
    }
    setWaiting(false);
  };
  const paused =
    report.run.steered?.findLast((s) => s.change.type !== "rate")?.change.type === "paused";
  return (
    <div class="steering">
      {report.run.users == null && (
        <button type="button" onClick={() => confirm("rate")}>
          Change rate
        </button>
      )}
      {paused ? (
        <button type="button" onClick={() => confirm("resume")}>
          <Icon name="play" /> Resume
        </button>
      ) : (
        <button type="button" onClick={() => confirm("pause")}>
          <Icon name="pause" /> Pause
        </button>
      )}
      <button type="button" class="danger" onClick={() => confirm("stop")}>
        <Icon name="stop" /> Stop
      </button>
      {me.value?.can_halt !== false && (
        <button type="button" class="danger quiet" onClick={() => confirm("halt")}>
          Halt
        </button>
      )}
      <p class="result" role="status">
        {result}
      </p>
      {action && (
        <Dialog
          {...CONFIRMATIONS[action]}
          waiting={waiting}
          onConfirm={() => void send(action)}
          onCancel={() => setAction(null)}
        >
          <p>{CONFIRMATIONS[action].text}</p>
          {action === "rate" && (
            <label>
              New rate
              <input
                autoFocus
                required
                value={rate}
                placeholder="500/s, 100/m or 500"
                onInput={(event) => setRate(event.currentTarget.value)}
              />
            </label>
          )}
          {problem && (
            <p class="notice bad" role="alert">
              {problemText(problem)}
            </p>
          )}
        </Dialog>
      )}
    </div>
  );
}

/** The detail of an error, and the rules that it does not hold already. */
export function problemText({ detail, title, problems }: Problem): string {
  const text = detail || title;
  return [text, ...problems.map(({ rule }) => rule).filter((rule) => !text.includes(rule))].join(
    " ",
  );
}

/** A number without a unit is per second. */
export function rateWithUnit(text: string): string {
  return /^\s*\d+(\.\d+)?\s*$/.test(text) ? `${text.trim()}/s` : text.trim();
}
