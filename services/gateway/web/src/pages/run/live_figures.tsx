// The newest figures of a run in progress as tiles.

import type { Report } from "../../api/_generated/report";
import type { Snapshot } from "../../api/_generated/snapshot";
import { Tile, Tiles } from "../../components/layout/panel";
import { notStarted } from "../../components/tables/accounting";
import { clock, compact, count, latency, perSecond } from "../../format/numbers";

type Maybe = number | null | undefined;

function ms(value: Maybe): string {
  return latency(value === null || value === undefined ? null : value * 1e3);
}

export function LiveFigures({ snapshot: s, report }: { snapshot: Snapshot; report: Report }) {
  const closedLoop = report.run.users != null;
  const { dropped } = notStarted(report.arrivals);
  const without = s.raised_without_call ?? 0;
  const planned = closedLoop ? "" : ` of ${perSecond(s.planned_per_sec)} planned`;
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
        note={`started${planned}; ${perSecond(s.current_rps)} requests`}
      />
      <Tile
        label="started"
        value={count(s.arrivals_started)}
        tone={dropped.length > 0 ? "warn" : "plain"}
        note={`arrivals; ${count(s.arrivals_dropped)} dropped or called off`}
      />
      <Tile
        label="response time p95 now"
        value={ms(s.latency.p95_ms)}
        note={`p50 ${ms(s.latency.p50_ms)}; so far ${ms(s.latency_cumulative.p95_ms)}`}
        title="A dash: no request has finished in the newest second"
      />
      <Tile
        label="response time p99 now"
        value={ms(s.latency.p99_ms)}
        note={`so far ${ms(s.latency_cumulative.p99_ms)}`}
        title="A dash: no request has finished in the newest second"
      />
      <Tile
        label="failed requests"
        value={count(s.errors_total)}
        tone={s.errors_total > 0 ? "bad" : "plain"}
        note={
          `of ${count(s.requests_total)} requests` +
          (without > 0 ? ` and ${count(without)} task errors without a request` : "") +
          (s.failing ? `; most frequent: ${s.failing.why}` : "")
        }
      />
      <Tile
        label="in flight"
        value={count(s.in_flight)}
        note={`arrivals; ${count(s.waiting)} waiting, oldest ${ms(s.oldest_ms)}`}
      />
      <Tile
        label="load generators"
        value={count(s.active_workers)}
        note={`${compact(Math.round(s.opened_per_sec ?? 0))} connections opened per s`}
      />
    </Tiles>
  );
}
