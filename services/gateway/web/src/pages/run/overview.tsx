// The overview: verdict, load, outcomes, latency, thresholds and measurement quality.

import type { Report } from "../../api/_generated/report";
import { LatencyChart } from "../../components/charts/latency_chart";
import { LoadChart, OutcomesChart } from "../../components/charts/load_chart";
import { Figure } from "../../components/layout/figures";
import { Empty, Panel } from "../../components/layout/panel";
import { ArrivalTable, DataGaps } from "../../components/tables/accounting";
import { raisesText } from "../../components/tables/failures";
import {
  LatencyNotes,
  PercentileTable,
  omission,
  serverLatency,
} from "../../components/tables/percentiles";
import { OutcomeTable } from "../../components/tables/tasks";
import { Thresholds } from "../../components/tables/thresholds";
import { Timeline } from "../../components/tables/timeline";
import { CertificateFindings } from "../../components/verdict/certificate";
import { VerdictBanner } from "../../components/verdict/verdict";
import { partText } from "../../data/time_range";
import { RESPONSE, isOver } from "../../format/labels";
import { bytes, clock, compact, count, duration } from "../../format/numbers";
import { Figures } from "./figures";
import { LiveFigures } from "./live_figures";
import { type TabProps, timelineLines } from "./tab";

export function Overview(tab: TabProps) {
  const { report, series, firstBreachUs, live, over, goTo, onZoom, view, marks } = tab;
  if (!report.run.start_at) {
    const { failure, refused } = report.run;
    return failure || refused.length > 0 ? <RunFailed {...tab} /> : <NotStarted {...tab} />;
  }
  const data = series.data;
  const loading = series.loading && data !== null;
  const closedLoop = report.run.users != null;
  const times = serverLatency(report.latency);
  const part = partText(view, over);
  const isNewest = !over && view.asOf === null && view.from === null && view.to === null;
  return (
    <div class="grid">
      <VerdictBanner
        report={report}
        firstBreachUs={firstBreachUs}
        marks={marks}
        onGoTo={over ? goTo : undefined}
      >
        <PartLine tab={tab} />
      </VerdictBanner>
      {isNewest && live.snapshot ? (
        <LiveFigures snapshot={live.snapshot} report={report} />
      ) : (
        <Figures report={report} until={view.asOf === null ? null : clock(view.asOf / 1e6)} />
      )}
      <WarmUpNote report={report} />
      <div class="stack left">
        <Panel title="Load" note={loadNote(closedLoop)} busy={loading}>
          {data && <LoadChart series={data} onZoom={onZoom} closedLoop={closedLoop} />}
        </Panel>
        <Panel title="Requests" note="per second, by the time they were due" busy={loading}>
          {data && <OutcomesChart series={data} onZoom={onZoom} height={160} />}
          <OutcomeTable calls={report.calls} status={report.status} />
          <RequestFacts report={report} />
        </Panel>
        <Panel title="Arrivals" note="warm-up included">
          <ArrivalTable report={report} />
          <DataGaps report={report} />
        </Panel>
        {!over && (
          <Panel title="Timeline" note="newest first">
            <Timeline lines={timelineLines(tab)} startAt={report.run.start_at} newestFirst />
          </Panel>
        )}
      </div>
      <div class="stack right">
        <Panel
          title="Response time"
          note={closedLoop ? "not counted from a schedule" : "including waiting"}
          busy={loading}
        >
          {data && <LatencyChart series={data} onZoom={onZoom} />}
        </Panel>
        <Panel title="Thresholds" note={`of ${part}`}>
          <Thresholds
            of="verdict.thresholds"
            own={report.metrics}
            results={report.verdict.thresholds}
            firstBreachUs={firstBreachUs}
            {...(over ? { onGoTo: goTo } : {})}
          />
        </Panel>
        <Panel
          title={closedLoop ? "Response time" : `${RESPONSE} and service time`}
          note={`${compact(report.latency.response?.count ?? 0)} requests of ${part}`}
        >
          <PercentileTable of="latency" closedLoop={closedLoop} {...times} />
          <LatencyNotes times={report.latency} closedLoop={closedLoop} />
          {!closedLoop && times.response && (
            <p class="quiet">
              CO factor {omission(report.latency).value}: {omission(report.latency).note}.
            </p>
          )}
        </Panel>
        <Panel title="Measurement quality" note="do the figures describe the target?">
          <CertificateFindings certificate={report.certificate} over={isOver(report.run.state)} />
        </Panel>
      </div>
    </div>
  );
}

function loadNote(closedLoop: boolean): string {
  return closedLoop ? "arrivals started per second" : "planned and started arrivals per second";
}

/** Which part of the run is judged and shown, unless it is all of an ended run. */
function PartLine({ tab: { view, over } }: { tab: TabProps }) {
  const isWhole = over && view.asOf === null && view.from === null && view.to === null;
  return isWhole ? null : <p class="part">Verdict and figures of {partText(view, over)}</p>;
}

function WarmUpNote({ report: { warm_up: warmUp } }: { report: Report }) {
  if (warmUp.warm_up_us === 0) return null;
  return (
    <p class="quiet wide">
      The first <Figure of="warm_up.warm_up_us" text={duration(warmUp.warm_up_us)} /> (warm-up) are
      left out of thresholds, rates and percentiles:{" "}
      <Figure of="warm_up.arrivals" text={count(warmUp.arrivals)} /> arrivals,{" "}
      <Figure of="warm_up.calls" text={count(warmUp.calls)} /> requests.
    </p>
  );
}

function RequestFacts({ report }: { report: Report }) {
  const { bytes: moved, calls, generator, task_raises: raises } = report;
  return (
    <dl class="list">
      <div>
        <dt>all requests</dt>
        <dd>
          <Figure of="calls.attempted" text={count(calls.attempted)} />, warm-up included
          {calls.in_flight > 0 && (
            <>
              ; <Figure of="calls.in_flight" text={count(calls.in_flight)} /> in flight
            </>
          )}
        </dd>
      </div>
      {raises && (
        <div>
          <dt>task errors</dt>
          <dd>{raisesText(raises)}</dd>
        </div>
      )}
      {(generator.resent ?? 0) > 0 && (
        <div>
          <dt>retried on a new connection</dt>
          <dd>
            <Figure of="generator.resent" text={count(generator.resent)} /> requests: the open
            connection was closed before a response
          </dd>
        </div>
      )}
      <div>
        <dt>received</dt>
        <dd>
          <Figure of="bytes.received" text={bytes(moved.received)} />,{" "}
          <Figure of="bytes.received_per_sec" text={`${bytes(moved.received_per_sec)}/s`} />
        </dd>
      </div>
      <div>
        <dt>sent</dt>
        <dd>
          <Figure of="bytes.sent" text={bytes(moved.sent)} />,{" "}
          <Figure of="bytes.sent_per_sec" text={`${bytes(moved.sent_per_sec)}/s`} />
        </dd>
      </div>
    </dl>
  );
}

function NotStarted(tab: TabProps) {
  const { live, report } = tab;
  const waits = live.snapshot?.gathering;
  return (
    <div class="grid">
      <Empty title={isOver(report.run.state) ? "The run never started" : "Not started yet"}>
        {waits ? (
          <p>
            {waits.ready} of {waits.want} load generators are ready
            {waits.min < waits.want && <> (minimum after the wait: {waits.min})</>}. Time left:{" "}
            {clock(Math.max(0, waits.left_secs))}.
          </p>
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

function RunFailed({ report }: TabProps) {
  const { refused, failure } = report.run;
  return (
    <div class="grid">
      <Empty title={refused.length > 0 ? "The run was refused" : "The run failed"}>
        {failure && <p>{failure.reason}</p>}
        <ul>
          {refused.map((one, i) => (
            <li key={i}>
              {one.field && <code>{one.field}</code>} {one.rule}
              {one.value && (
                <>
                  {" "}
                  — found <code>{one.value}</code>
                </>
              )}
            </li>
          ))}
        </ul>
      </Empty>
      <Panel title="Timeline">
        <Timeline lines={report.story} startAt={report.run.start_at} />
      </Panel>
    </div>
  );
}
