// What happened, line by line, at its place in the run.

import type { StoryLine } from "../../api/_generated/report";
import { clock, instant } from "../../format/numbers";

interface StoryProps {
  lines: StoryLine[];
  startAt: number | null | undefined;
  newestFirst?: boolean;
  onGoTo?: ((us: number) => void) | undefined;
}

export function Story({ lines, startAt, newestFirst, onGoTo }: StoryProps) {
  if (lines.length === 0) return <p class="quiet">Nothing has happened yet.</p>;
  const shown = newestFirst ? lines.toReversed() : lines;
  return (
    <ol class="story" tabIndex={0}>
      {shown.map((line) => {
        const us = startAt ? line.at - startAt : null;
        const place =
          us === null
            ? instant(line.at).slice(11)
            : us < 0
              ? `−${clock(-us / 1e6)}`
              : clock(Math.floor(us / 1e5) / 10);
        return (
          <li key={line.seq} class={tone(line.text)}>
            {us !== null && us >= 0 && onGoTo ? (
              <button
                type="button"
                class="link"
                title={`Show everything as of then (${instant(line.at)})`}
                onClick={() => onGoTo(us)}
              >
                {place}
              </button>
            ) : (
              <time title={instant(line.at)}>{place}</time>
            )}
            <span>{line.text}</span>
          </li>
        );
      })}
    </ol>
  );
}

/** Only a colour; the words say it all. */
function tone(text: string): string {
  if (/\b(lost|failed|refused|isolat|fenced|full|abandoned|aborted)/i.test(text)) return "bad";
  if (/\b(rate|paused|resumed|stop|reassigned|joins|leaves|leaving|changed)/i.test(text)) {
    return "warn";
  }
  return "";
}
