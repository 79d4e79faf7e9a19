// A slider over the time of a run: shows the run as of a second. Marks below it are events.

import { useEffect, useState } from "preact/hooks";
import type { StoryLine } from "../../api/_generated/report";
import { clock } from "../../format/numbers";
import { Icon } from "../layout/icons";
import { useThrottled } from "./throttle";

interface ScrubberProps {
  endUs: number;
  tickUs: number;
  /** Null: the whole run. */
  asOf: number | null;
  story: StoryLine[];
  startAt: number | null | undefined;
  onMove: (us: number | null) => void;
}

const STEP_MS = 500;

export function Scrubber({ endUs, tickUs, asOf, story, startAt, onMove }: ScrubberProps) {
  const [playing, setPlaying] = useState(false);
  const [moved, ask] = useThrottled(onMove);
  const last = Math.max(1, Math.ceil(endUs / tickUs));
  // The slider moves at once; the page follows it a few times a second.
  const us = moved ? moved.value : asOf;
  const at = us === null ? last : Math.min(last, Math.round(us / tickUs));
  const move = (tick: number) => ask(tick >= last ? null : Math.max(0, tick) * tickUs);

  useEffect(() => {
    if (!playing) return;
    if (at >= last) {
      setPlaying(false);
      return;
    }
    // A replay takes at most 120 steps, however long the run is.
    const stride = Math.max(1, Math.round(last / 120));
    const timer = setTimeout(() => move(at + stride), STEP_MS);
    return () => clearTimeout(timer);
  }, [playing, at, last]);

  const play = () => {
    if (!playing && at >= last) move(0);
    setPlaying(!playing);
  };
  const shown = us === null ? `whole run, ${clock(endUs / 1e6)}` : `as of ${clock(us / 1e6)}`;
  return (
    <div class={us === null ? "scrubber" : "scrubber moved"}>
      <button
        type="button"
        class="ghost"
        onClick={play}
        aria-label={playing ? "Pause replay" : "Replay the run"}
      >
        <Icon name={playing ? "pause" : "play"} />
      </button>
      <div class="track">
        <input
          type="range"
          min={0}
          max={last}
          value={at}
          aria-label="Show the run as of"
          aria-valuetext={shown}
          onInput={(event) => {
            setPlaying(false);
            move(Number(event.currentTarget.value));
          }}
        />
        <EventMarks {...{ story, startAt, endUs }} />
      </div>
      <output>{shown}</output>
      <button type="button" disabled={us === null} onClick={() => ask(null)}>
        Whole run
      </button>
    </div>
  );
}

type EventMarksProps = Pick<ScrubberProps, "story" | "startAt" | "endUs">;

function EventMarks({ story, startAt, endUs }: EventMarksProps) {
  if (!startAt) return null;
  const places = story
    .map((line) => (line.at - startAt) / endUs)
    .filter((part) => part > 0 && part < 1);
  return (
    <svg viewBox="0 0 1000 6" preserveAspectRatio="none" aria-hidden="true">
      {places.map((part, i) => (
        <rect key={i} x={part * 1000 - 1} width="2" height="6" />
      ))}
    </svg>
  );
}
