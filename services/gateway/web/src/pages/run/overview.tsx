// The overview: verdict, load, outcomes, latency, thresholds and measurement quality.

import { Figures } from "../../components/report/figures";
import { OverviewPanels, WarmUpNote } from "../../components/report/overview";
import { Empty, Panel } from "../../components/layout/panel";
import { Timeline } from "../../components/tables/timeline";
import { RunFailed } from "../../components/verdict/failure";
import { VerdictBanner } from "../../components/verdict/verdict";
import { reportedUntilUs } from "../../data/running_series";
import { partText } from "../../data/time_range";
import { isOver } from "../../format/labels";
import { clock } from "../../format/numbers";
import { LiveFigures } from "./live_figures";
import { Notes } from "./annotations";
import { type TabProps, timelineLines } from "./tab";

const HINT = "Try some in the “What if” tab.";

export function Overview(tab: TabProps) {
  const { report, series, firstBreachUs, live, over, goTo, onZoom, view, marks } = tab;
  const { failure, refused, start_at: startAt } = report.run;
  if (!startAt) {
    return failure || refused.length > 0 ? <RunFailed report={report} /> : <NotStarted {...tab} />;
  }
  const isNewest = !over && view.asOf === null && view.from === null && view.to === null;
  const onGoTo = over && !live.killed ? goTo : undefined;
  return (
    <div class="grid">
      <VerdictBanner {...{ report, firstBreachUs, marks, onGoTo }} killed={live.killed}>
        <PartLine tab={tab} />
      </VerdictBanner>
      {isNewest && live.snapshot ? (
        <LiveFigures snapshot={live.snapshot} report={report} />
      ) : (
        <Figures report={report} until={view.asOf === null ? null : clock(view.asOf / 1e6)} />
      )}
      <WarmUpNote report={report} />
      <OverviewPanels
        {...{ report, firstBreachUs, onZoom, onGoTo }}
        series={series.data}
        loading={series.loading}
        part={partText(view, over)}
        hint={HINT}
      >
        {(!over || live.killed) && (
          <Panel title="Timeline" note="newest first">
            <Timeline lines={timelineLines(tab)} startAt={startAt} newestFirst />
          </Panel>
        )}
        {over && !live.killed && <Notes run={report.run.id} />}
      </OverviewPanels>
    </div>
  );
}

/** Which part of the run is judged and shown, unless it is all of an ended run. */
function PartLine({ tab: { view, over, live, series } }: { tab: TabProps }) {
  const isWhole = view.asOf === null && view.from === null && view.to === null;
  const lastUs = isWhole && series.data ? reportedUntilUs(series.data) : null;
  if (isWhole && over) {
    return live.killed && lastUs !== null && <p class="part">Data until {clock(lastUs / 1e6)}</p>;
  }
  return (
    <p class="part">
      Verdict and figures of {partText(view, over)}
      {lastUs !== null && `; panels below the cards as of ${clock(lastUs / 1e6)}`}
    </p>
  );
}

function NotStarted(tab: TabProps) {
  const { live, report } = tab;
  const { queued, gathering: waits } = live.snapshot ?? {};
  return (
    <div class="grid">
      <Empty title={isOver(report.run.state) ? "The run never started" : "Not started yet"}>
        {waits ? (
          <p>
            {waits.ready} of {waits.want} load generators are ready
            {waits.min < waits.want && <> (minimum after the wait: {waits.min})</>}. Time left:{" "}
            {clock(Math.max(0, waits.left_secs))}.
          </p>
        ) : queued ? (
          <p>{queued}</p>
        ) : (
          <p>The timeline shows what the run is waiting for.</p>
        )}
      </Empty>
      <Panel title="Timeline" note="newest first">
        <Timeline lines={timelineLines(tab)} startAt={report.run.start_at} newestFirst />
      </Panel>
    </div>
  );
}
