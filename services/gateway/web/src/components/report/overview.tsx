// Load, requests and arrivals; latency, thresholds and measurement quality: the first panels of a
// report.

import type { ComponentChildren } from "preact";
import type { Report } from "../../api/_generated/report";
import type { Series } from "../../api/answers";
import { RESPONSE, isOver } from "../../format/labels";
import { bytes, compact, count, duration } from "../../format/numbers";
import { LatencyChart } from "../charts/latency_chart";
import { latencyLimits, rateLimits } from "../charts/limit_lines";
import { LoadChart, OutcomesChart } from "../charts/load_chart";
import { Figure } from "../layout/figures";
import { Panel } from "../layout/panel";
import { ArrivalTable, DataGaps } from "../tables/accounting";
import { raisesText } from "../tables/failures";
import { LatencyNotes, PercentileTable, omission, serverLatency } from "../tables/percentiles";
import { OutcomeTable } from "../tables/tasks";
import { type FirstBreachUs, Thresholds } from "../tables/thresholds";
import { CertificateFindings } from "../verdict/certificate";

export interface OverviewProps {
  report: Report;
  /** Null: not loaded yet, or not known. */
  series: Series | null;
  loading?: boolean;
  /** The part of the run that the figures are of. */
  part: string;
  firstBreachUs: FirstBreachUs;
  /** Advice where no thresholds are set. */
  hint?: string;
  onZoom?: ((from: number, to: number) => void) | undefined;
  onGoTo?: ((us: number) => void) | undefined;
  /** Further panels on the left. */
  children?: ComponentChildren;
}

export function OverviewPanels(props: OverviewProps) {
  const { report, series, loading = false, children, onZoom } = props;
  const closedLoop = report.run.users != null;
  const { thresholds } = report.verdict;
  const busy = loading && series !== null;
  const isCharted = loading || series !== null;
  return (
    <>
      <div class="stack left">
        {isCharted && (
          <Panel title="Load" note={loadNote(closedLoop)} busy={busy}>
            {series && (
              <LoadChart {...{ series, onZoom, closedLoop }} limits={rateLimits(thresholds)} />
            )}
          </Panel>
        )}
        <Panel title="Requests" note="per second, by the time they were due" busy={busy}>
          {series && <OutcomesChart series={series} onZoom={onZoom} height={160} />}
          <OutcomeTable calls={report.calls} status={report.status} />
          <RequestFacts report={report} />
        </Panel>
        <Panel title="Arrivals" note="warm-up included">
          <ArrivalTable report={report} />
          <DataGaps report={report} />
        </Panel>
        {children}
      </div>
      <div class="stack right">
        {isCharted && (
          <Panel
            title="Response time"
            note={closedLoop ? "not counted from a schedule" : "including waiting"}
            busy={busy}
          >
            {series && <LatencyChart {...{ series, onZoom }} limits={latencyLimits(thresholds)} />}
          </Panel>
        )}
        <JudgementPanels {...props} />
      </div>
    </>
  );
}

/** Thresholds, percentiles and measurement quality. */
function JudgementPanels({ report, part, firstBreachUs, hint, onGoTo }: OverviewProps) {
  const closedLoop = report.run.users != null;
  const times = serverLatency(report.latency);
  const factor = omission(report.latency);
  return (
    <>
      <Panel title="Thresholds" note={`of ${part}`}>
        <Thresholds
          of="verdict.thresholds"
          own={report.metrics}
          results={report.verdict.thresholds}
          {...{ firstBreachUs, hint, onGoTo }}
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
            CO factor {factor.value}: {factor.note}.
          </p>
        )}
      </Panel>
      <Panel title="Measurement quality" note="do the figures describe the target?">
        <CertificateFindings certificate={report.certificate} over={isOver(report.run.state)} />
      </Panel>
    </>
  );
}

function loadNote(closedLoop: boolean): string {
  return closedLoop ? "arrivals started per second" : "planned and started arrivals per second";
}

export function WarmUpNote({ report: { warm_up: warmUp } }: { report: Report }) {
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
  const { redirects: followed = 0, redirects_not_followed: left = 0 } = generator;
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
      {followed + left > 0 && (
        <div>
          <dt>redirects</dt>
          <dd>
            <Figure of="generator.redirects" text={count(followed)} /> followed;{" "}
            <Figure of="generator.redirects_not_followed" text={count(left)} /> not followed: beyond
            the limit or to another origin
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
