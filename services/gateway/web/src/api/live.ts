// A run in progress as server-sent events: timeline lines by sequence, and the newest snapshot.
// EventSource reconnects by itself after a lost connection and sends the id of the last line that
// it received. It gives up after an answer that is an error, so that the page opens another one.

import { useEffect, useState } from "preact/hooks";
import type { StoryLine } from "./_generated/report";
import type { Snapshot } from "./_generated/snapshot";

export interface Live {
  snapshot: Snapshot | null;
  story: StoryLine[];
  sealed: boolean;
  /** No process is left that could end the run. */
  killed: boolean;
  fault: string | null;
  /** Why the log cannot store events at the moment. */
  unstored: string | null;
  connected: boolean;
  /** The last answer was an error: too many live views, or a proxy whose gateway is down. */
  refused: boolean;
}

const INITIAL: Live = {
  snapshot: null,
  story: [],
  sealed: false,
  killed: false,
  fault: null,
  unstored: null,
  connected: false,
  refused: false,
};
const REOPEN_MS = 3000;
const STORY_LINES_MAX = 2000;

export function useLive(run: string, enabled: boolean): Live {
  const [live, setLive] = useState<Live>(INITIAL);
  useEffect(() => {
    setLive(INITIAL);
    if (!enabled) return;
    const url = `/api/v1/runs/${encodeURIComponent(run)}/live`;
    let source: EventSource;
    let reopening: number | undefined;
    const change = (next: (previous: Live) => Partial<Live>) =>
      setLive((previous) => ({ ...previous, ...next(previous) }));
    const on = (name: string, take: (data: string) => (previous: Live) => Partial<Live>) =>
      source.addEventListener(name, (event) => change(take((event as MessageEvent<string>).data)));

    const open = () => {
      source = new EventSource(url);
      source.onopen = () => change(() => ({ connected: true, refused: false, fault: null }));
      source.onerror = () => {
        const refused = source.readyState === EventSource.CLOSED;
        if (refused) reopening = window.setTimeout(open, REOPEN_MS);
        change(() => ({ connected: false, refused }));
      };
      on("snapshot", (data) => {
        const snapshot = JSON.parse(data) as Snapshot;
        return () => ({ snapshot, connected: true });
      });
      on("story", (data) => {
        const line = JSON.parse(data) as StoryLine;
        return (previous) => ({ story: withLine(previous.story, line), unstored: null });
      });
      on("killed", () => {
        source.close();
        return () => ({ killed: true, connected: false });
      });
      on("unstored", (data) => () => ({ unstored: JSON.parse(data) as string }));
      on("sealed", () => {
        source.close();
        return () => ({ sealed: true, connected: false });
      });
      on("fault", (data) => () => ({ fault: faultText(data) }));
    };
    open();
    return () => {
      window.clearTimeout(reopening);
      source.close();
    };
  }, [run, enabled]);
  return live;
}

/** Appends a line, unless a reconnect repeated it. */
export function withLine(story: StoryLine[], line: StoryLine): StoryLine[] {
  const last = story.at(-1);
  if (last && line.seq <= last.seq) return story;
  return [...story, line].slice(-STORY_LINES_MAX);
}

function faultText(data: string): string {
  try {
    const problem = JSON.parse(data) as { detail?: string; title?: string };
    return problem.detail ?? problem.title ?? data;
  } catch {
    return data;
  }
}
