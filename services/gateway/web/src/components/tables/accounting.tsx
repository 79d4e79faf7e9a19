// Accounting of the planned arrivals: started, dropped, called off, lost; and uncounted events.

import type { Report } from "../../api/_generated/report";
import { dropReason } from "../../format/labels";
import { clock, count, percent } from "../../format/numbers";
import { Figure, FigureCell } from "../layout/figures";

type Arrivals = Report["arrivals"];

/** Reasons for which users called arrivals off: neither target nor generator is at fault. */
const CALLED_OFF: ReadonlySet<string> = new Set(["stopped", "paused"]);
const GAPS_SHOWN_MAX = 10;

/** Numbers of arrivals that did not start, by reason: dropped, and called off by users. */
export function notStarted(arrivals: Arrivals): {
  dropped: [string, number][];
  calledOff: [string, number][];
} {
  const reasons = Object.entries(arrivals.dropped).filter(([, n]) => n > 0);
  return {
    dropped: reasons.filter(([why]) => !CALLED_OFF.has(why)),
    calledOff: reasons.filter(([why]) => CALLED_OFF.has(why)),
  };
}

export function total(reasons: [string, number][]): number {
  return reasons.reduce((sum, [, n]) => sum + n, 0);
}

export function ArrivalTable({ report }: { report: Pick<Report, "arrivals" | "gaps" | "run"> }) {
  const { arrivals, gaps, run } = report;
  const { dropped, calledOff } = notStarted(arrivals);
  const closedLoop = run.users != null;
  const reasons = [...dropped, ...calledOff];
  return (
    <table>
      <tbody>
        {!closedLoop && <Row name="planned" of="arrivals.planned" n={arrivals.planned} />}
        <Row name="started" of="arrivals.started" n={arrivals.started} />
        {reasons.map(([why, n]) => (
          <Row
            key={why}
            name={CALLED_OFF.has(why) ? dropReason(why) : `dropped: ${dropReason(why)}`}
            of={`arrivals.dropped.${why}`}
            n={n}
          />
        ))}
        {dropped.length === 0 && (
          <tr>
            <th scope="row">dropped</th>
            <td class="n">0</td>
          </tr>
        )}
        {gaps.lost_time_pct ? (
          <tr>
            <th scope="row">lost, of the time of all users</th>
            <FigureCell of="gaps.lost_time_pct" text={percent(gaps.lost_time_pct)} />
          </tr>
        ) : (
          <Row name="lost: never reported" of="arrivals.lost" n={arrivals.lost} />
        )}
        {arrivals.waiting > 0 && (
          <Row name="not yet reported" of="arrivals.waiting" n={arrivals.waiting} />
        )}
      </tbody>
    </table>
  );
}

function Row({ name, of, n }: { name: string; of: string; n: number }) {
  return (
    <tr>
      <th scope="row">{name}</th>
      <FigureCell of={of} text={count(n)} />
    </tr>
  );
}

/** Data that the log lacks, or contains and does not count. */
export function DataGaps({ report: { gaps, run } }: { report: Pick<Report, "gaps" | "run"> }) {
  const at = (tick: number) => clock((tick * run.tick_us) / 1e6);
  const { lost, quarantined, excess_arrivals: arrivals, excess_calls: calls } = gaps;
  if (lost.length + quarantined.length + arrivals + calls + gaps.late_deltas === 0) return null;
  return (
    <ul class="gaps">
      {lost.slice(0, GAPS_SHOWN_MAX).map((gap, i) => (
        <li key={i}>
          {run.users == null ? `${count(gap.arrivals)} arrivals` : "Users"} of{" "}
          <code title={gap.holder.boot_id}>{gap.holder.agent}</code>, never reported: due from{" "}
          {at(gap.from_tick)} to {at(gap.to_tick + 1)}
        </li>
      ))}
      {lost.length > GAPS_SHOWN_MAX && <li>and {lost.length - GAPS_SHOWN_MAX} more intervals</li>}
      {arrivals + calls > 0 && (
        <li>
          <Figure of="gaps.excess_arrivals" text={count(arrivals)} /> arrivals and{" "}
          <Figure of="gaps.excess_calls" text={count(calls)} /> requests of load generators that had
          been superseded are outside of all figures
        </li>
      )}
      {gaps.late_deltas > 0 && (
        <li>
          <Figure of="gaps.late_deltas" text={count(gaps.late_deltas)} /> deltas came after the end
          and do not count
        </li>
      )}
      {quarantined.map((one) => (
        <li key={one.seq}>
          set aside: <code>{one.subject}</code>, {one.reason}
        </li>
      ))}
    </ul>
  );
}
