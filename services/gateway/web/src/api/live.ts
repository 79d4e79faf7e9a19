// A run as it happens: server-sent events, story lines by their sequence, the newest snapshot.
// The browser's EventSource comes back by itself and names the last line that it has.

import { useEffect, useState } from "preact/hooks";
import type { StoryLine } from "./_generated/report";
import type { Snapshot } from "./_generated/snapshot";

export interface Live {
  snapshot: Snapshot | null;
  story: StoryLine[];
  sealed: boolean;
  fault: string | null;
  /** Why the log stores nothing at the moment. */
  unstored: string | null;
  connected: boolean;
}

const NOTHING: Live = {
  snapshot: null,
  story: [],
  sealed: false,
  fault: null,
  unstored: null,
  connected: false,
};
const STORY_LINES_MAX = 2000;

export function useLive(run: string, wanted: boolean): Live {
  const [live, setLive] = useState<Live>(NOTHING);
  useEffect(() => {
    setLive(NOTHING);
    if (!wanted) return;
    const source = new EventSource(`/api/v1/runs/${encodeURIComponent(run)}/live`);
    const change = (next: (was: Live) => Partial<Live>) =>
      setLive((was) => ({ ...was, ...next(was) }));
    const on = (name: string, take: (data: string) => (was: Live) => Partial<Live>) =>
      source.addEventListener(name, (event) => change(take((event as MessageEvent<string>).data)));

    source.onopen = () => change(() => ({ connected: true, fault: null }));
    source.onerror = () => change(() => ({ connected: false }));
    on("snapshot", (data) => {
      const snapshot = JSON.parse(data) as Snapshot;
      return () => ({ snapshot, connected: true });
    });
    on("story", (data) => {
      const line = JSON.parse(data) as StoryLine;
      return (was) => ({ story: withLine(was.story, line), unstored: null });
    });
    on("unstored", (data) => () => ({ unstored: JSON.parse(data) as string }));
    on("sealed", () => {
      source.close();
      return () => ({ sealed: true, connected: false });
    });
    on("fault", (data) => () => ({ fault: wordsOf(data) }));
    return () => source.close();
  }, [run, wanted]);
  return live;
}

/** A line once, in order, whatever a reconnect repeats. */
export function withLine(story: StoryLine[], line: StoryLine): StoryLine[] {
  const last = story.at(-1);
  if (last && line.seq <= last.seq) return story;
  return [...story, line].slice(-STORY_LINES_MAX);
}

function wordsOf(data: string): string {
  try {
    const told = JSON.parse(data) as { detail?: string; title?: string };
    return told.detail ?? told.title ?? data;
  } catch {
    return data;
  }
}
