// The overview: verdict, load, outcomes, latency, thresholds and certificate.

import type { Report } from "../../api/_generated/report";
import type { Snapshot } from "../../api/_generated/snapshot";
import { Thresholds } from "../../components/tables/thresholds";
import { CertificateFindings } from "../../components/verdict/certificate";
import { VerdictBanner } from "../../components/verdict/verdict";
import { PercentileTable, omission } from "../../components/tables/percentiles";
import { LatencyChart } from "../../components/charts/latency_chart";
import { LoadChart, OutcomesChart } from "../../components/charts/load_chart";
import { Empty, Panel, Tile, Tiles } from "../../components/layout/panel";
import { Timeline } from "../../components/tables/timeline";
import { OutcomeTable } from "../../components/tables/tasks";
import { clock, count, latency, perSecond, percent, compact } from "../../format/numbers";
import { dropReason, isOver } from "../../format/labels";
import { type TabProps, timelineLines } from "./tab";

export function Overview(tab: TabProps) {
  const { report, series, firstBreachUs, live, over, goTo, onZoom, view } = tab;
  if (report.run.state === "refused" || report.run.failure) return <RunFailed {...tab} />;
  if (!report.run.start_at) return <NotStarted {...tab} />;
  const data = series.data;
  const loading = series.loading && data !== null;
  return (
    <div class="grid">
      <VerdictBanner
        report={report}
        firstBreachUs={firstBreachUs}
        {...(over ? { onGoTo: goTo } : {})}
      />
      {!over && view.asOf === null ? (
        <LiveFigures snapshot={live.snapshot} report={report} />
      ) : (
        <Figures report={report} />
      )}
      <div class="stack left">
        <Panel title="Load" note="planned and started arrivals per second" busy={loading}>
          {data && <LoadChart series={data} onZoom={onZoom} />}
        </Panel>
        <Panel title="Outcomes" note="calls per second, by due time" busy={loading}>
          {data && <OutcomesChart series={data} onZoom={onZoom} height={160} />}
          <OutcomeTable calls={report.calls} status={report.status} />
        </Panel>
        {over ? (
          <Panel title="Certificate" note="can the figures be trusted?">
            <CertificateFindings certificate={report.certificate} over={isOver(report.run.state)} />
          </Panel>
        ) : (
          <Panel title="Timeline" note="newest first">
            <Timeline lines={timelineLines(tab)} startAt={report.run.start_at} newestFirst />
          </Panel>
        )}
      </div>
      <div class="stack right">
        <Panel title="Response time" note="corrected: from the due time" busy={loading}>
          {data && <LatencyChart series={data} onZoom={onZoom} />}
        </Panel>
        <Panel title="Thresholds" note={over ? "in the measured time" : "so far"}>
          <Thresholds
            results={report.verdict.thresholds}
            firstBreachUs={firstBreachUs}
            {...(over ? { onGoTo: goTo } : {})}
          />
          <DataGaps report={report} />
        </Panel>
        <Panel title="Latency" note={`${compact(report.latency.response?.count ?? 0)} calls`}>
          <PercentileTable response={report.latency.response} service={report.latency.service} />
        </Panel>
      </div>
    </div>
  );
}

function Figures({ report }: { report: Report }) {
  const { arrivals, rates, latency: times } = report;
  const factor = omission(times);
  const drops = Object.entries(arrivals.dropped).filter(([, n]) => n > 0);
  const lost = arrivals.lost > 0 ? `${count(arrivals.lost)} lost` : null;
  const missing = [...drops.map(([why, n]) => `${count(n)} ${dropReason(why)}`), lost].filter(
    Boolean,
  );
  return (
    <Tiles>
      <Tile label="achieved rate" value={perSecond(rates.achieved_rps)} note={offered(rates)} />
      <Tile
        label="arrivals"
        value={count(arrivals.started)}
        note={`of ${count(arrivals.planned)} planned`}
      />
      <Tile
        label="dropped or lost"
        tone={missing.length > 0 ? "warn" : "plain"}
        value={count(drops.reduce((n, [, v]) => n + v, 0) + arrivals.lost)}
        note={missing[0] ?? "all planned arrivals started"}
        title={missing.join("\n")}
      />
      <Tile
        label="error rate"
        tone={report.errors_total > 0 ? "bad" : "plain"}
        value={percent(report.error_rate_pct)}
        note={failed(report)}
      />
      <Tile
        label="p95"
        value={latency(times.response?.p95_us)}
        note={`uncorrected ${latency(times.service?.p95_us)}`}
      />
      <Tile
        label="p99"
        value={latency(times.response?.p99_us)}
        note={`uncorrected ${latency(times.service?.p99_us)}`}
      />
      <Tile
        label="CO factor"
        value={factor.value}
        note={factor.note}
        tone={factor.warn ? "warn" : "plain"}
      />
    </Tiles>
  );
}

/** Planned rate of the time of these arrivals, and the shortfall. */
function offered(rates: Report["rates"]): string {
  const planned = `arrivals; planned ${perSecond(rates.planned_rps)}`;
  return `${planned}, shortfall ${compact(rates.shortfall_pct)} %`;
}

/** Number of failed calls, and of tasks that raised an error. */
function failed(report: Report): string {
  const calls = `${count(report.errors_total)} of ${count(report.requests_total)} calls`;
  const raises = report.task_raises;
  if (!raises) return calls;
  const { after_ok = 0, after_failed = 0, without_call = 0 } = raises;
  return `${calls}; ${count(after_ok + after_failed + without_call)} tasks raised an error`;
}

function LiveFigures({ snapshot, report }: { snapshot: Snapshot | null; report: Report }) {
  if (!snapshot) return <Figures report={report} />;
  const s = snapshot;
  const ms = (value: number | null | undefined) =>
    latency(value === null || value === undefined ? null : value * 1e3);
  return (
    <Tiles>
      <Tile
        label={s.paused ? "paused" : "time"}
        tone={s.paused ? "warn" : "plain"}
        value={clock(s.elapsed_secs)}
        note={`of ${clock(s.duration_secs)}`}
      />
      <Tile
        label="arrivals now"
        value={perSecond(s.arrivals_per_sec)}
        note={`of ${perSecond(s.planned_per_sec)} planned; ${perSecond(s.current_rps)} calls`}
      />
      <Tile
        label="started"
        value={count(s.arrivals_started)}
        tone={s.arrivals_dropped > 0 ? "warn" : "plain"}
        note={`${count(s.arrivals_dropped)} dropped`}
      />
      <Tile
        label="p95 now"
        value={ms(s.latency.p95_ms)}
        note={`p50 ${ms(s.latency.p50_ms)}, so far ${ms(s.latency_cumulative.p95_ms)}`}
      />
      <Tile
        label="p99 now"
        value={ms(s.latency.p99_ms)}
        note={`so far ${ms(s.latency_cumulative.p99_ms)}`}
      />
      <Tile
        label="errors"
        value={count(s.errors_total)}
        tone={s.errors_total > 0 ? "bad" : "plain"}
        note={`of ${count(s.requests_total)} calls`}
      />
      <Tile
        label="in flight"
        value={count(s.in_flight)}
        note={`${count(s.waiting)} waiting, oldest ${ms(s.oldest_ms)}`}
      />
      <Tile
        label="agents"
        value={count(s.active_workers)}
        note={`${wholeNumber(s.opened_per_sec)} connections opened per s`}
      />
    </Tiles>
  );
}

function wholeNumber(value: number | null | undefined): string {
  return compact(Math.round(value ?? 0));
}

function DataGaps({ report: { gaps, run } }: { report: Report }) {
  const at = (tick: number) => clock((tick * run.tick_us) / 1e6);
  if (gaps.lost.length + gaps.quarantined.length + gaps.excess_arrivals === 0) return null;
  return (
    <ul class="gaps">
      {gaps.lost.map((gap, i) => (
        <li key={i}>
          {count(gap.arrivals)} arrivals of <code>{gap.holder.agent}</code>, due from{" "}
          {at(gap.from_tick)} to {at(gap.to_tick + 1)}, were never reported
        </li>
      ))}
      {gaps.excess_arrivals > 0 && (
        <li>{count(gaps.excess_arrivals)} arrivals were sent twice and are excluded</li>
      )}
      {gaps.quarantined.map((one) => (
        <li key={one.seq}>
          quarantined: <code>{one.subject}</code>, {one.reason}
        </li>
      ))}
    </ul>
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
            {waits.ready} of {waits.want} agents are ready
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
