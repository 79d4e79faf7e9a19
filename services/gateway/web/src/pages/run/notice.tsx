// One message about an error of the page of a run: the first cause hides those that follow.

import { unreachable, type Problem } from "../../api/http";
import type { Live } from "../../api/live";
import { Failed } from "../../components/layout/panel";

interface NoticeProps {
  run: string;
  live: Live;
  over: boolean;
  /** Of the requests that all tabs share, the most general one first. */
  problems: (Problem | null)[];
  again: () => void;
}

export function RunNotice({ run, live, over, problems, again }: NoticeProps) {
  if (unreachable.value) return null; // the frame of the pages says so
  if (live.killed) {
    return (
      <p class="notice bad">
        The processes of this run are gone. <code>loadpilot resume {run}</code> continues it; then
        reload this page.
      </p>
    );
  }
  if (live.fault) {
    return <p class="notice bad">The gateway cannot follow this run: {live.fault}</p>;
  }
  const problem = problems.find((one) => one !== null);
  if (problem) return <Failed problem={problem} again={again} />;
  if (live.unstored) return <p class="notice bad">The log cannot store events: {live.unstored}</p>;
  if (!over && live.refused) {
    return <p class="notice">The gateway accepts no live view at the moment; asking again.</p>;
  }
  if (!over && !live.connected && live.snapshot) {
    return <p class="notice">Connection to the gateway lost; reconnecting.</p>;
  }
  return null;
}
