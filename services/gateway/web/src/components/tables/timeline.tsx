// The events of a run as lines, each with its time in the run.

import type { StoryLine } from "../../api/_generated/report";
import { clock, dateTime, isoTime } from "../../format/numbers";

interface TimelineProps {
  lines: StoryLine[];
  startAt: number | null | undefined;
  newestFirst?: boolean;
  onGoTo?: ((us: number) => void) | undefined;
}

export function Timeline({ lines, startAt, newestFirst, onGoTo }: TimelineProps) {
  if (lines.length === 0) return <p class="quiet">No events yet.</p>;
  const shown = newestFirst ? lines.toReversed() : lines;
  return (
    <ol class="timeline" tabIndex={0}>
      {shown.map((line) => {
        const us = startAt ? line.at - startAt : null;
        const place =
          us === null
            ? dateTime(line.at).slice(11)
            : us < 0
              ? `−${clock(-us / 1e6)}`
              : clock(Math.floor(us / 1e5) / 10);
        return (
          <li key={line.seq} class={tone(line.text)}>
            {us !== null && us >= 0 && onGoTo ? (
              <button
                type="button"
                class="link"
                title={`Show the run as of this time (${dateTime(line.at)})`}
                onClick={() => onGoTo(us)}
              >
                {place}
              </button>
            ) : (
              <time title={dateTime(line.at)} dateTime={isoTime(line.at)}>
                {place}
              </time>
            )}
            <span>{line.text}</span>
          </li>
        );
      })}
    </ol>
  );
}

/** The colour of a line. It repeats what the text says. */
function tone(text: string): string {
  if (/\b(lost|failed|refused|isolat|fenced|full|abandoned|aborted)/i.test(text)) return "bad";
  if (/\b(rate|paused|resumed|stop|reassigned|joins|leaves|leaving|changed)/i.test(text)) {
    return "warn";
  }
  return "";
}
