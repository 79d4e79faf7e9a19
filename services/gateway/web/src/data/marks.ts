// Changes during a run: new rates, pauses, stops, load generators lost or joined.
// Taken from the report's facts, never from the text of its timeline.

import type { Holder, Report, ShardMap, Steered } from "../api/_generated/report";
import { isOver, lossReason } from "../format/labels";
import { clock, count, perSecond } from "../format/numbers";

export type MarkKind = "rate" | "pause" | "stop" | "lost" | "left" | "joined";

export interface Mark {
  kind: MarkKind;
  /** In µs after the start; null: the report does not contain the time. */
  atUs: number | null;
  /** End of a stretch of time; null: a single moment. */
  toUs: number | null;
  /** Whether the stretch has not ended yet. */
  isOpen?: boolean;
  /** A few words, for a chart. */
  label: string;
  /** A sentence without its time. */
  text: string;
}

/** The changes of a run in the order of their times; those without a time come last. */
export function marksOf(report: Pick<Report, "run" | "gaps">): Mark[] {
  const marks = [
    ...steeringMarks(report),
    ...lossMarks(report),
    ...joinMarks(report.run.maps ?? [], report.run.tick_us),
    ...stopMark(report),
  ];
  return marks.sort((a, b) => (a.atUs ?? Infinity) - (b.atUs ?? Infinity));
}

/** The time of a mark, `0:07`, `0:12 to 0:15` or `since 0:12`. */
export function markTime(mark: Mark): string {
  if (mark.atUs === null) return "time unknown";
  const from = clock(mark.atUs / 1e6);
  if (mark.isOpen) return `since ${from}`;
  return mark.toUs === null ? from : `${from} to ${clock(mark.toUs / 1e6)}`;
}

function steeringMarks({ run }: Pick<Report, "run">): Mark[] {
  const endUs = run.stopped_at_us ?? run.profile_us;
  // A change takes effect a little later than it was made: a stop may come first.
  const steered = (run.steered ?? []).filter(
    (one) => run.stopped_at_us == null || one.from_us < run.stopped_at_us,
  );
  return steered.flatMap((one, i): Mark[] => {
    if (one.change.type === "rate") return [rateMark(one, one.change)];
    if (one.change.type === "resumed") return [];
    const resumed = steered.slice(i + 1).find((later) => later.change.type === "resumed");
    const isOpen = !resumed && !isOver(run.state);
    const ending = resumed ? `, resumed by ${resumed.by}` : isOpen ? "" : ", never resumed";
    const text = `Paused by ${one.by}${ending}`;
    const toUs = Math.max(one.from_us, resumed?.from_us ?? endUs);
    return [{ kind: "pause", atUs: one.from_us, toUs, isOpen, label: "paused", text }];
  });
}

function rateMark(one: Steered, change: { rate: number; was: number }): Mark {
  const [was, rate] = [perSecond(change.was / 1e6), perSecond(change.rate / 1e6)];
  const text = `Rate changed from ${was} to ${rate} by ${one.by}`;
  return { kind: "rate", atUs: one.from_us, toUs: null, label: `rate ${rate}`, text };
}

function stopMark({ run }: Pick<Report, "run">): Mark[] {
  const atUs = run.stopped_at_us ?? null;
  if (atUs === null) return [];
  return [{ kind: "stop", atUs, toUs: null, label: "stopped", text: "Stopped" }];
}

/** Losses of load generators, and the arrivals that they did not report. */
function lossMarks({ run, gaps }: Pick<Report, "run" | "gaps">): Mark[] {
  const maps = run.maps ?? [];
  const processes = new Map(run.holders.map((facts) => [facts.holder.boot_id, facts]));
  const ofGaps = gaps.lost.map((gap): Mark => {
    const { agent, boot_id: boot } = gap.holder;
    const found = processes.get(boot);
    const what = found?.finished && !found.lost ? "data missing" : "lost";
    const arrivals = `${count(gap.arrivals)} arrivals due in this time were not reported`;
    return {
      kind: "lost",
      atUs: gap.from_tick * run.tick_us,
      toUs: (gap.to_tick + 1) * run.tick_us,
      label: `${agent} ${what}`,
      text: `Load generator ${agent} ${what}${because(found?.lost)}: ${arrivals}`,
    };
  });
  const named = new Set(gaps.lost.map((gap) => gap.holder.boot_id));
  const others = run.holders.filter(({ holder, lost }) => lost && !named.has(holder.boot_id));
  const ofHolders = others.map(({ holder, lost }): Mark => {
    const left = lost === "left";
    return {
      kind: left ? "left" : "lost",
      atUs: handedOverUs(maps, holder, run.tick_us),
      toUs: null,
      label: `${holder.agent} ${left ? "left" : "lost"}`,
      text: left
        ? `Load generator ${holder.agent} left`
        : `Load generator ${holder.agent} lost${because(lost)}; no arrival is missing`,
    };
  });
  return [...ofGaps, ...ofHolders];
}

function because(reason: string | null | undefined): string {
  return reason ? ` (${lossReason(reason)})` : "";
}

/** When others had all shards of a holder; null: its shards never had another holder. */
function handedOverUs(maps: ShardMap[], holder: Holder, tickUs: number): number | null {
  const last = maps.findLastIndex((map) => holds(map, holder));
  const next = last < 0 ? undefined : maps[last + 1];
  return next ? next.from_tick * tickUs : null;
}

function joinMarks(maps: ShardMap[], tickUs: number): Mark[] {
  return maps.slice(1).flatMap((map, i) =>
    map.holdings
      .map((holding) => holding.holder)
      .filter((holder) => !holds(maps[i]!, holder))
      .map((holder): Mark => {
        const known = maps
          .slice(0, i + 1)
          .some((earlier) => earlier.holdings.some((one) => one.holder.agent === holder.agent));
        return {
          kind: "joined",
          atUs: map.from_tick * tickUs,
          toUs: null,
          label: `${holder.agent} ${known ? "back" : "joined"}`,
          text: known
            ? `Load generator ${holder.agent} joined again, as a new process`
            : `Load generator ${holder.agent} joined`,
        };
      }),
  );
}

function holds(map: ShardMap, holder: Holder): boolean {
  return map.holdings.some((one) => one.holder.boot_id === holder.boot_id);
}
