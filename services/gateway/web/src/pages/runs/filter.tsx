// The filter of the list of runs, and its order where a narrow window has no table head.

import type { ComponentChildren } from "preact";
import { navigate } from "../../app/navigation";
import { type Filter, ORDERS, QUALITIES, SORTS, VERDICTS } from "../../app/route";
import { runStatus, verdictLabel } from "../../format/labels";

const STATES = ["requested", "waiting", "gathering", "preparing", "running", "stopping", "refused"];
const ENDINGS = ["completed", "stopped", "abandoned", "failed", "aborted", "log_full"];

export const SORT_LABELS: Record<Filter["sort"], string> = {
  created: "Created",
  rate: "Requests/s",
  p99: "p99",
  failed: "Failed requests",
};
const ORDER_LABELS: Record<Filter["order"], (sort: Filter["sort"]) => string> = {
  desc: (sort) => (sort === "created" ? "newest first" : "largest first"),
  asc: (sort) => (sort === "created" ? "oldest first" : "smallest first"),
};

export function changeFilter(filter: Filter, part: Partial<Filter>): void {
  navigate({ page: "runs", filter: { ...filter, ...part } }, true);
}

export function FilterBar({ filter }: { filter: Filter }) {
  const change = (part: Partial<Filter>) => changeFilter(filter, part);
  const state = filter.ending ? `ending ${filter.ending}` : filter.state && `state ${filter.state}`;
  return (
    <form class="filter" role="search" onSubmit={(event) => event.preventDefault()}>
      <input
        type="search"
        placeholder="Scenario, target or id"
        aria-label="Search runs"
        value={filter.q}
        onInput={(event) => change({ q: event.currentTarget.value })}
      />
      <Select
        label="Verdict"
        value={filter.verdict}
        onChange={(verdict) => change({ verdict: VERDICTS.find((v) => v === verdict) ?? "" })}
      >
        {VERDICTS.map((word) => (
          <option key={word} value={word}>
            {verdictLabel(word).text}
          </option>
        ))}
      </Select>
      <Select
        label="Measurement quality"
        any="Any quality"
        value={filter.quality}
        onChange={(quality) => change({ quality: QUALITIES.find((q) => q === quality) ?? "" })}
      >
        {QUALITIES.map((grade) => (
          <option key={grade} value={grade}>
            {grade}
          </option>
        ))}
      </Select>
      <Select
        label="State"
        value={state}
        onChange={(text) => {
          const [kind, name = ""] = text.split(" ");
          change({ state: kind === "state" ? name : "", ending: kind === "ending" ? name : "" });
        }}
      >
        <StateOptions kind="state" names={STATES} />
        <StateOptions kind="ending" names={ENDINGS} />
      </Select>
      <input
        class="tag"
        placeholder="tag: key:value"
        aria-label="Filter by tag"
        value={filter.tag}
        onChange={(event) => change({ tag: event.currentTarget.value })}
      />
      <span class="narrow-order">
        <Select
          label="Sort by"
          value={filter.sort}
          onChange={(sort) => change({ sort: SORTS.find((s) => s === sort) ?? "created" })}
          required
        >
          {SORTS.map((sort) => (
            <option key={sort} value={sort}>
              {SORT_LABELS[sort]}
            </option>
          ))}
        </Select>
        <Select
          label="Order"
          value={filter.order}
          onChange={(order) => change({ order: ORDERS.find((o) => o === order) ?? "desc" })}
          required
        >
          {ORDERS.map((order) => (
            <option key={order} value={order}>
              {ORDER_LABELS[order](filter.sort)}
            </option>
          ))}
        </Select>
      </span>
    </form>
  );
}

function StateOptions({ kind, names }: { kind: "state" | "ending"; names: string[] }) {
  return (
    <optgroup label={kind === "state" ? "In progress or refused" : "Ended"}>
      {names.map((name) => (
        <option key={name} value={`${kind} ${name}`}>
          {runStatus(name, name).text}
        </option>
      ))}
    </optgroup>
  );
}

interface SelectProps {
  label: string;
  /** The empty option, unless it is named after the label. */
  any?: string;
  value: string;
  required?: boolean;
  onChange: (value: string) => void;
  children: ComponentChildren;
}

function Select({ label, any, value, required, onChange, children }: SelectProps) {
  return (
    <select
      aria-label={label}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
    >
      {!required && <option value="">{any ?? `Any ${label.toLowerCase()}`}</option>}
      {children}
    </select>
  );
}
