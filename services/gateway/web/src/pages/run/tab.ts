// Properties of a tab of a run.

import type { Report } from "../../api/_generated/report";
import type { Series } from "../../api/answers";
import type { Live } from "../../api/live";
import type { Resource } from "../../api/resource";
import type { View } from "../../app/route";
import type { Mark } from "../../data/marks";

export interface TabProps {
  run: string;
  view: View;
  /** Of the selected time and range. */
  report: Report;
  /** Of the selected time, not narrowed to the selected range. */
  whole: Report;
  /** Changes during the run. */
  marks: Mark[];
  series: Resource<Series>;
  firstBreachUs: (number | null)[] | null;
  live: Live;
  over: boolean;
  /** Refresh interval of a tab's own requests, in ms; 0: load once. */
  every: number;
  /** Query string of the selected part, for requests of slices. */
  slice: string;
  onZoom: ((from: number, to: number) => void) | undefined;
  goTo: (us: number) => void;
}

/** Lines of the live stream; until it has caught up, those of the report. */
export function timelineLines({ live, whole, view }: TabProps) {
  const streamed = view.asOf === null && live.story.length >= whole.story.length;
  return streamed ? live.story : whole.story;
}
