// The table of runs: how each ended, whether its figures count, and the trend of its scenario.

import type { RunListed } from "../../api/answers";
import { Link } from "../../app/navigation";
import { type Filter, runRoute } from "../../app/route";
import { Badge } from "../../components/layout/icons";
import { Scroll } from "../../components/layout/panel";
import { grade, isOver, runStatus, verdictLabel } from "../../format/labels";
import { dateTime, isoTime, latency, percent, perSecond } from "../../format/numbers";
import { Tags } from "../tags";
import { SORT_LABELS, changeFilter } from "./filter";
import { Trend } from "./trend";

interface TableProps {
  filter: Filter;
  rows: RunListed[];
  selected: string[];
  toggle: (run: string) => void;
}

export function RunTable({ filter, rows, selected, toggle }: TableProps) {
  return (
    <Scroll label="Runs">
      <table class="runs">
        <thead>
          <tr>
            <th>
              <span class="visually-hidden">compare</span>
            </th>
            <th>run</th>
            <th>verdict</th>
            <th>measurement quality</th>
            <SortedHead filter={filter} sort="rate" />
            <SortedHead filter={filter} sort="p99" />
            <SortedHead filter={filter} sort="failed" />
            <th>p99 trend</th>
            <th class="wide">target</th>
            <SortedHead filter={filter} sort="created" />
          </tr>
        </thead>
        <tbody>
          {rows.map((one) => (
            <Row
              key={one.run}
              one={one}
              selected={selected.includes(one.run)}
              toggle={() => toggle(one.run)}
            />
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

function SortedHead({ filter, sort }: { filter: Filter; sort: Filter["sort"] }) {
  const sorted = filter.sort === sort;
  const direction = filter.order === "asc" ? "ascending" : "descending";
  const order = sorted && filter.order === "desc" ? "asc" : "desc";
  return (
    <th class="n" aria-sort={sorted ? direction : "none"}>
      <button type="button" class="sort" onClick={() => changeFilter(filter, { sort, order })}>
        {SORT_LABELS[sort].toLowerCase()}
        <span aria-hidden="true">{sorted ? (order === "asc" ? "▾" : "▴") : "↕"}</span>
      </button>
    </th>
  );
}

interface RowProps {
  one: RunListed;
  selected: boolean;
  toggle: () => void;
}

function Row({ one, selected, toggle }: RowProps) {
  const { outcome } = one;
  const [day, ...time] = dateTime(one.created_at).split(" ");
  const invalid = outcome?.quality === "INVALID";
  const reason = invalid ? `Do not use: ${outcome.quality_reason ?? "INVALID"}` : undefined;
  const name = invalid ? "n void" : "n";
  return (
    <tr class={selected ? "chosen" : ""}>
      <td class="choose">
        <input
          type="checkbox"
          checked={selected}
          onChange={toggle}
          disabled={!isOver(one.state)}
          aria-label={`Compare ${one.scenario} ${one.run}`}
        />
      </td>
      <th scope="row">
        <Link to={runRoute(one.run)}>{one.scenario}</Link>
        {one.is_baseline && <span class="pill">baseline</span>}
        {one.notes ? (
          <span class="pill">{one.notes === 1 ? "1 note" : `${one.notes} notes`}</span>
        ) : null}
        <Tags tags={one.tags} />
        <code class="id">{one.run}</code>
      </th>
      <td class="result">
        <Result one={one} />
      </td>
      <td class="quality">
        {outcome && (
          <Badge tone={grade(outcome.quality).tone}>
            <span title={outcome.quality_reason ?? undefined}>{outcome.quality}</span>
          </Badge>
        )}
      </td>
      <td class={name} title={reason} data-label="Requests/s">
        {perSecond(outcome?.requests_per_sec)}
      </td>
      <td class={name} title={reason} data-label="p99">
        {latency(outcome?.p99_us)}
      </td>
      <td class={name} title={reason} data-label="Failed">
        {percent(outcome?.error_rate_pct)}
      </td>
      <td class="trends">
        <Trend trend={one.trend} />
      </td>
      <td class="wide target">{one.target}</td>
      <td class="n created">
        <time dateTime={isoTime(one.created_at)}>
          <span>{day}</span> <span>{time.join(" ")}</span>
        </time>
      </td>
    </tr>
  );
}

/** The verdict, and how a run ended that did not complete; without a verdict its state. */
function Result({ one }: { one: RunListed }) {
  const status = runStatus(one.is_killed ? "killed" : one.state, one.ending);
  if (one.outcome === null) return <Badge tone={status.tone}>{status.text}</Badge>;
  const { text, tone } = verdictLabel(one.outcome.verdict);
  const early = one.ending !== "completed" && status.text !== text.toLowerCase();
  return (
    <>
      <Badge tone={tone}>{text}</Badge>
      {early && <small>{status.text}</small>}
    </>
  );
}
