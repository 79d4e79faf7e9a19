// The key figures of a report as tiles.

import type { Report } from "../../api/_generated/report";
import { Figure } from "../layout/figures";
import { Tile, Tiles } from "../layout/panel";
import { notStarted, total } from "../tables/accounting";
import { raisesText } from "../tables/failures";
import { isUnreached, omission, serverLatency } from "../tables/percentiles";
import { dropReason } from "../../format/labels";
import { count, digits, latency, passedShare, percent, perSecond } from "../../format/numbers";
import { closedLoopText } from "../../format/plan_settings";

/** `until` is the time until which arrivals were planned, if that is not the end of the run. */
export function Figures({ report, until }: { report: Report; until: string | null }) {
  const closedLoop = report.run.users != null;
  return (
    <Tiles>
      <LoadTiles report={report} until={until} />
      <NotStartedTiles report={report} />
      <FailedTile report={report} />
      <LatencyTiles report={report} />
      {!closedLoop && !isUnreached(report.latency) && <OmissionTile report={report} />}
      <MeasuredTiles report={report} />
    </Tiles>
  );
}

const NO_TIME = "No time was measured yet";

function LoadTiles({ report, until }: { report: Report; until: string | null }) {
  const { arrivals, rates, run } = report;
  const secs = rates.measured_us / 1e6;
  const loop = run.users == null ? null : closedLoopText(run);
  const waiting = arrivals.waiting > 0 && (
    <>
      , <Figure of="arrivals.waiting" text={count(arrivals.waiting)} /> not yet reported
    </>
  );
  return (
    <>
      <Tile
        label="achieved rate"
        value={<Figure of="rates.achieved_rps" text={perSecond(rates.achieved_rps)} />}
        note={loop ? `arrivals; ${loop}` : <Offered report={report} />}
      />
      <Tile
        label="arrivals"
        value={<Figure of="arrivals.started" text={count(arrivals.started)} />}
        note={
          loop ? (
            <>started; a closed loop plans none{waiting}</>
          ) : (
            <>
              started of <Figure of="arrivals.planned" text={count(arrivals.planned)} /> planned
              {until && ` until ${until}`}
              {waiting}
            </>
          )
        }
      />
      <Tile
        label="requests per second"
        value={
          <Figure
            of="requests_per_sec"
            text={perSecond(secs > 0 ? report.requests_total / secs : null)}
            none={NO_TIME}
          />
        }
        note={
          <>
            <Figure of="requests_total" text={count(report.requests_total)} /> finished
          </>
        }
      />
    </>
  );
}

/** Planned rate of the time of these arrivals, its peak, and the shortfall. */
function Offered({ report: { rates, rps_target: peak } }: { report: Report }) {
  const differs = digits(peak) !== digits(rates.planned_rps);
  return (
    <>
      arrivals; <Figure of="rates.planned_rps" text={perSecond(rates.planned_rps)} /> planned
      {differs && (
        <>
          {" "}
          (peak <Figure of="rps_target" text={perSecond(peak)} />)
        </>
      )}
      , shortfall <Figure of="rates.shortfall_pct" text={percent(rates.shortfall_pct)} />
    </>
  );
}

function NotStartedTiles({ report: { arrivals, run } }: { report: Report }) {
  const { dropped, calledOff } = notStarted(arrivals);
  const missing = dropped.map(([why, n]) => `${count(n)} ${dropReason(why)}`);
  if (arrivals.lost > 0) missing.push(`${count(arrivals.lost)} lost: never reported`);
  const closedLoop = run.users != null;
  const all = total(dropped) + arrivals.lost;
  return (
    <>
      {(!closedLoop || all > 0) && (
        <Tile
          label="dropped or lost"
          tone={all > 0 ? "warn" : "plain"}
          value={<Figure of="dropped_or_lost" text={count(all)} />}
          note={missing.join("; ") || "nothing was omitted"}
        />
      )}
      {calledOff.length > 0 && (
        <Tile
          label="called off"
          value={<Figure of="called_off" text={count(total(calledOff))} />}
          note={calledOff.map(([why, n]) => `${count(n)} ${dropReason(why)}`).join("; ")}
        />
      )}
    </>
  );
}

function FailedTile({ report }: { report: Report }) {
  const raises = report.task_raises;
  const without = raises?.without_call ?? 0;
  return (
    <Tile
      label="failed requests"
      tone={report.errors_total > 0 ? "bad" : "plain"}
      value={
        <Figure
          of="error_rate_pct"
          text={percent(report.error_rate_pct)}
          none="No request finished in the measured time"
        />
      }
      note={
        <>
          <Figure of="errors_total" text={count(report.errors_total)} /> of{" "}
          {count(report.requests_total)} requests
          {without > 0 && ` and ${count(without)} task errors without a request`}
          {raises && `; ${raisesText(raises)}`}
        </>
      }
    />
  );
}

function LatencyTiles({ report }: { report: Report }) {
  const { response, service, none } = serverLatency(report.latency);
  const closedLoop = report.run.users != null;
  return (
    <>
      {(["p95_us", "p99_us"] as const).map((key) => (
        <Tile
          key={key}
          label={`response time ${key.slice(0, -3)}`}
          value={
            <Figure of={`latency.response.${key}`} text={latency(response?.[key])} none={none} />
          }
          note={
            closedLoop ? (
              "not counted from a schedule"
            ) : (
              <>
                including waiting; service time{" "}
                <Figure of={`latency.service.${key}`} text={latency(service?.[key])} none={none} />
              </>
            )
          }
        />
      ))}
    </>
  );
}

function OmissionTile({ report }: { report: Report }) {
  const factor = omission(report.latency);
  return (
    <Tile
      label="CO factor"
      value={<Figure of="latency.co_factor" text={factor.value} none={factor.note} />}
      note={factor.short}
      title={factor.note}
      tone={factor.warn ? "warn" : "plain"}
    />
  );
}

/** Checks and streams, of scenarios that have them. */
function MeasuredTiles({ report: { checks, streams } }: { report: Report }) {
  return (
    <>
      {checks && (
        <Tile
          label="checks passed"
          tone={checks.failed > 0 ? "bad" : "plain"}
          value={passedShare(checks.passed, checks.failed)}
          note={
            <>
              <Figure of="checks.failed" text={count(checks.failed)} /> of{" "}
              {count(checks.passed + checks.failed)} failed
            </>
          }
        />
      )}
      {streams && (
        <Tile
          label="first token p95"
          value={
            <Figure
              of="streams.first_token.p95_us"
              text={latency(streams.first_token?.p95_us)}
              none="No response had a token"
            />
          }
          note={
            <>
              token gap p95{" "}
              <Figure
                of="streams.token_gap.p95_us"
                text={latency(streams.token_gap?.p95_us)}
                none="No response had two tokens"
              />
            </>
          }
        />
      )}
    </>
  );
}
