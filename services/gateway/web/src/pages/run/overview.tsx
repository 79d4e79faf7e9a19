// The first look: the judgement, what was offered, how it was answered, whether to believe it.

import type { Report } from "../../api/_generated/report";
import type { Snapshot } from "../../api/_generated/snapshot";
import { Judged, Thresholds, Trust } from "../../components/verdict/verdict";
import { Ladders, omission } from "../../components/tables/percentiles";
import { LatencyChart } from "../../components/charts/latency_chart";
import { LoadChart, OutcomesChart } from "../../components/charts/load_chart";
import { Empty, Failed, Panel, Tile, Tiles } from "../../components/layout/panel";
import { Story } from "../../components/tables/timeline";
import { Endings } from "../../components/tables/tasks";
import { clock, count, latency, perSecond, percent, short } from "../../format/numbers";
import { dropped, isOver } from "../../format/labels";
import type { Shown } from "./run";

export function Overview(shown: Shown) {
  const { report, series, broke, live, over, goTo, onZoom, view } = shown;
  if (report.run.state === "refused" || report.run.failure) return <NotRun {...shown} />;
  if (!report.run.start_at) return <Gathering {...shown} />;
  const data = series.data;
  const loading = series.loading && data !== null;
  return (
    <div class="grid">
      <Judged report={report} broke={broke} {...(over ? { onGoTo: goTo } : {})} />
      {!over && view.asOf === null ? (
        <Now snapshot={live.snapshot} report={report} />
      ) : (
        <Figures report={report} />
      )}
      {series.problem && <Failed problem={series.problem} again={series.reload} />}
      <div class="stack left">
        <Panel title="Offered and planned" note="arrivals per second" busy={loading}>
          {data && <LoadChart series={data} onZoom={onZoom} />}
        </Panel>
        <Panel title="How calls ended" note="per second, by due time" busy={loading}>
          {data && <OutcomesChart series={data} onZoom={onZoom} height={160} />}
          <Endings calls={report.calls} status={report.status} />
        </Panel>
        {over ? (
          <Panel title="Can it be trusted?">
            <Trust certificate={report.certificate} over={isOver(report.run.state)} />
          </Panel>
        ) : (
          <Panel title="Story" note="newest first">
            <Story lines={told(shown)} startAt={report.run.start_at} newestFirst />
          </Panel>
        )}
      </div>
      <div class="stack right">
        <Panel title="Response time" note="corrected: counted from the due time" busy={loading}>
          {data && <LatencyChart series={data} onZoom={onZoom} />}
        </Panel>
        <Panel title="Thresholds" note={over ? "in the measured time" : "so far"}>
          <Thresholds
            results={report.verdict.thresholds}
            broke={broke}
            {...(over ? { onGoTo: goTo } : {})}
          />
          <Gaps report={report} />
        </Panel>
        <Panel title="Latency" note={`${short(report.latency.response?.count ?? 0)} calls`}>
          <Ladders response={report.latency.response} service={report.latency.service} />
        </Panel>
      </div>
    </div>
  );
}

/** The story as the stream tells it; before its first line, as the report does. */
export function told({ live, report, view }: Shown) {
  const streamed = view.asOf === null && live.story.length >= report.story.length;
  return streamed ? live.story : report.story;
}

function Figures({ report }: { report: Report }) {
  const { arrivals, rates, latency: times } = report;
  const factor = omission(times);
  const drops = Object.entries(arrivals.dropped).filter(([, n]) => n > 0);
  const lost = arrivals.lost > 0 ? `${count(arrivals.lost)} lost` : null;
  const missing = [...drops.map(([why, n]) => `${count(n)} ${dropped(why)}`), lost].filter(Boolean);
  return (
    <Tiles>
      <Tile label="achieved" value={perSecond(rates.achieved_rps)} note={offered(rates)} />
      <Tile
        label="arrivals"
        value={count(arrivals.started)}
        note={`of ${count(arrivals.planned)} planned`}
      />
      <Tile
        label="dropped or lost"
        tone={missing.length > 0 ? "warn" : "plain"}
        value={count(drops.reduce((n, [, v]) => n + v, 0) + arrivals.lost)}
        note={missing[0] ?? "everything was started"}
        title={missing.join("\n")}
      />
      <Tile
        label="not ok"
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

/** How many arrivals a second were planned for the time in which these were started. */
function offered(rates: Report["rates"]): string {
  const planned = `arrivals, of ${perSecond(rates.planned_rps)} planned`;
  return `${planned}, ${short(rates.shortfall_pct)} % short`;
}

/** How many calls failed, and how many tasks raised an error. */
function failed(report: Report): string {
  const calls = `${count(report.errors_total)} of ${count(report.requests_total)} calls`;
  const raises = report.task_raises;
  if (!raises) return calls;
  const { after_ok = 0, after_failed = 0, without_call = 0 } = raises;
  return `${calls}; ${count(after_ok + after_failed + without_call)} tasks raised an error`;
}

function Now({ snapshot, report }: { snapshot: Snapshot | null; report: Report }) {
  if (!snapshot) return <Figures report={report} />;
  const s = snapshot;
  const ms = (value: number | null | undefined) =>
    latency(value === null || value === undefined ? null : value * 1e3);
  return (
    <Tiles>
      <Tile
        label={s.paused ? "paused" : "at"}
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
        label="not ok"
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
        note={`${digitsOr(s.opened_per_sec)} connections opened/s`}
      />
    </Tiles>
  );
}

function digitsOr(value: number | null | undefined): string {
  return short(Math.round(value ?? 0));
}

function Gaps({ report: { gaps, run } }: { report: Report }) {
  const at = (tick: number) => clock((tick * run.tick_us) / 1e6);
  if (gaps.lost.length + gaps.quarantined.length + gaps.excess_arrivals === 0) return null;
  return (
    <ul class="gaps">
      {gaps.lost.map((gap, i) => (
        <li key={i}>
          {count(gap.arrivals)} arrivals of <code>{gap.holder.agent}</code>, due from{" "}
          {at(gap.from_tick)} to {at(gap.to_tick + 1)}, were not reported
        </li>
      ))}
      {gaps.excess_arrivals > 0 && (
        <li>{count(gaps.excess_arrivals)} arrivals came twice and are left out</li>
      )}
      {gaps.quarantined.map((one) => (
        <li key={one.seq}>
          set aside: <code>{one.subject}</code>, {one.reason}
        </li>
      ))}
    </ul>
  );
}

function Gathering(shown: Shown) {
  const { live, report } = shown;
  const waits = live.snapshot?.gathering;
  return (
    <div class="grid">
      <Empty title={isOver(report.run.state) ? "It never started" : "Not started yet"}>
        {waits ? (
          <p>
            {waits.ready} of {waits.want} agents are there
            {waits.min < waits.want && <> ({waits.min} suffice when the wait is over)</>}; it waits
            for {clock(Math.max(0, waits.left_secs))} more.
          </p>
        ) : (
          <p>The story says what it waits for.</p>
        )}
      </Empty>
      <Panel title="Story" note="newest first">
        <Story lines={told(shown)} startAt={report.run.start_at} newestFirst />
      </Panel>
    </div>
  );
}

function NotRun({ report }: Shown) {
  const { refused, failure } = report.run;
  return (
    <div class="grid">
      <Empty title={refused.length > 0 ? "Refused: nothing was started" : "It could not run"}>
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
      <Panel title="Story">
        <Story lines={report.story} startAt={report.run.start_at} />
      </Panel>
    </div>
  );
}
