// Steering a run that runs. Nothing is done at a touch: each wish is asked back first, and what is
// said afterwards is what a coordinator decided.

import { useState } from "preact/hooks";
import type { Report } from "../../api/_generated/report";
import type { Problem } from "../../api/http";
import { post } from "../../api/http";
import { asProblem } from "../../api/resource";
import { me } from "../../app/session";
import { Dialog } from "../../components/controls/dialog";
import { Icon } from "../../components/layout/icons";

type Wish = "rate" | "pause" | "resume" | "stop" | "halt";

const ASKED: Record<Wish, { title: string; yes: string; text: string; danger?: boolean }> = {
  rate: {
    title: "Change the rate",
    yes: "Change the rate",
    text: "The rest of the run is constant at the new rate, from three to four seconds ahead on.",
  },
  pause: {
    title: "Pause the run?",
    yes: "Pause",
    text: "Nothing is started; the run's time goes on, and what is due meanwhile is dropped.",
  },
  resume: {
    title: "Resume the run?",
    yes: "Resume",
    text: "Arrivals are started again. What was due meanwhile stays dropped: there is no burst.",
  },
  stop: {
    title: "Stop the run?",
    yes: "Stop",
    danger: true,
    text: "Nothing more is started. What is in flight ends, and the report stays.",
  },
  halt: {
    title: "Cut the run off?",
    yes: "Halt",
    danger: true,
    text: "The kill switch: agents cut off what is in flight at once, without a coordinator.",
  },
};

/** What the gateway says was decided: words, whatever else it brings. */
interface Decided {
  words?: string;
  told?: string;
}

export function Steering({ report }: { report: Report }) {
  const [wish, setWish] = useState<Wish | null>(null);
  const [rate, setRate] = useState("");
  const [waiting, setWaiting] = useState(false);
  const [said, setSaid] = useState<string | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  if (me.value && me.value.can_steer === false) return null;

  const begin = (next: Wish) => {
    setProblem(null);
    setWish(next);
  };
  const ask = async (name: Wish) => {
    setWaiting(true);
    try {
      const path = `/runs/${encodeURIComponent(report.run.id)}/${name}`;
      const answer = await post<Decided>(path, name === "rate" ? { rate: rated(rate) } : {});
      setSaid(answer.words ?? answer.told ?? "decided; the story has it");
      setWish(null);
    } catch (error) {
      setProblem(asProblem(error));
    }
    setWaiting(false);
  };
  const paused =
    report.run.steered?.findLast((s) => s.change.type !== "rate")?.change.type === "paused";
  return (
    <>
      {report.run.users == null && (
        <button type="button" onClick={() => begin("rate")}>
          Change rate
        </button>
      )}
      {paused ? (
        <button type="button" onClick={() => begin("resume")}>
          <Icon name="play" /> Resume
        </button>
      ) : (
        <button type="button" onClick={() => begin("pause")}>
          <Icon name="pause" /> Pause
        </button>
      )}
      <button type="button" class="danger" onClick={() => begin("stop")}>
        <Icon name="stop" /> Stop
      </button>
      <button type="button" class="danger quiet" onClick={() => begin("halt")}>
        Halt
      </button>
      <span class="decided" role="status">
        {said}
      </span>
      {wish && (
        <Dialog
          {...ASKED[wish]}
          waiting={waiting}
          onYes={() => void ask(wish)}
          onNo={() => setWish(null)}
        >
          <p>{ASKED[wish].text}</p>
          {wish === "rate" && (
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
              {problem.detail || problem.title}
              {problem.problems.map((one) => (
                <span key={one.field}> {one.rule}</span>
              ))}
            </p>
          )}
        </Dialog>
      )}
    </>
  );
}

/** A bare number is meant per second. */
export function rated(text: string): string {
  return /^\s*\d+(\.\d+)?\s*$/.test(text) ? `${text.trim()}/s` : text.trim();
}
