// The list of runs, newest first: search, filter, and select for comparison.

import { useEffect, useState } from "preact/hooks";
import type { Outcome, RunList, RunListed } from "../api/answers";
import { get, queryString } from "../api/http";
import { asProblem, useResource } from "../api/resource";
import { Link, navigate } from "../app/navigation";
import { COMPARED_MAX, type Filter, NO_FILTER, runRoute } from "../app/route";
import { me } from "../app/session";
import { Tags } from "./tags";
import { Badge } from "../components/layout/icons";
import { Empty, Failed, Loading, Scroll } from "../components/layout/panel";
import { dateTime, latency, percent, perSecond } from "../format/numbers";
import { isOver, runStatus } from "../format/labels";

const PAGE = 50;
const REFRESH_MS = 3000;
/** An incomplete tag does not filter. */
const TAG = /^[^:]{1,63}:.{1,256}$/;
const STATES = ["requested", "gathering", "preparing", "running", "stopping", "sealed", "refused"];
const ENDINGS = ["completed", "stopped", "abandoned", "failed", "aborted", "log_full"];

export function Runs({ filter }: { filter: Filter }) {
  const applied = { ...filter, tag: TAG.test(filter.tag) ? filter.tag : "" };
  const path = `/runs${queryString({ ...applied, limit: PAGE })}`;
  const { data, problem, reload } = useResource<RunList>(path, { every: REFRESH_MS });
  const [more, setMore] = useState<RunList | null>(null);
  const [selected, setChosen] = useState<string[]>([]);
  useEffect(() => setMore(null), [path]);

  const rows = [...(data?.runs ?? []), ...(more?.runs ?? [])];
  const next = more ? more.next : (data?.next ?? null);
  const load = async () => {
    const page = await get<RunList>(
      `/runs${queryString({ ...applied, limit: PAGE, cursor: next })}`,
    ).catch((error: unknown) => asProblem(error));
    if ("runs" in page) setMore({ runs: [...(more?.runs ?? []), ...page.runs], next: page.next });
  };
  const toggle = (run: string) =>
    setChosen((previous) =>
      previous.includes(run)
        ? previous.filter((r) => r !== run)
        : [...previous, run].slice(-COMPARED_MAX),
    );
  return (
    <>
      <div class="title">
        <h1>Runs</h1>
        <FilterBar filter={filter} />
        <div class="actions">
          <button
            type="button"
            disabled={selected.length < 2}
            onClick={() => navigate({ page: "compare", runs: selected, percentile: "p99" })}
          >
            Compare {selected.length > 0 ? selected.length : ""}
          </button>
        </div>
      </div>
      {problem && <Failed problem={problem} again={reload} />}
      {!data && !problem && <Loading what="Loading the runs" />}
      {data && rows.length === 0 && <NoRuns filter={filter} />}
      {rows.length > 0 && <Table {...{ rows, selected, toggle }} />}
      {next && (
        <button type="button" class="more" onClick={() => void load()}>
          Older runs
        </button>
      )}
    </>
  );
}

function FilterBar({ filter }: { filter: Filter }) {
  const change = (part: Partial<Filter>) =>
    navigate({ page: "runs", filter: { ...filter, ...part } }, true);
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
        label="State"
        value={filter.state}
        options={STATES}
        onChange={(state) => change({ state })}
      />
      <Select
        label="Ending"
        value={filter.ending}
        options={ENDINGS}
        onChange={(ending) => change({ ending })}
      />
      <input
        class="tag"
        placeholder="tag: key:value"
        aria-label="Filter by tag"
        value={filter.tag}
        onChange={(event) => change({ tag: event.currentTarget.value })}
      />
    </form>
  );
}

interface SelectProps {
  label: string;
  value: string;
  options: string[];
  onChange: (value: string) => void;
}

function Select({ label, value, options, onChange }: SelectProps) {
  return (
    <select
      aria-label={label}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
    >
      <option value="">Any {label.toLowerCase()}</option>
      {options.map((name) => (
        <option key={name} value={name}>
          {runStatus(name, name).text}
        </option>
      ))}
    </select>
  );
}

function NoRuns({ filter }: { filter: Filter }) {
  if (Object.values(filter).some((text) => text !== "")) {
    return (
      <Empty title="No runs match the filter">
        <p>
          <Link to={{ page: "runs", filter: NO_FILTER }}>Show all runs</Link>
        </p>
      </Empty>
    );
  }
  return (
    <Empty title="No runs yet">
      <p>Runs of this folder or fleet appear here. To start one:</p>
      <pre>
        <code>loadpilot run scenario.py --target http://127.0.0.1:8000</code>
      </pre>
      <p>
        You can close this page during a run: it is stored in a log and stays in this list.
        {me.value?.can_start && (
          <>
            {" "}
            You can also <Link to={{ page: "start", from: null }}>start a run from a plan</Link>.
          </>
        )}
      </p>
    </Empty>
  );
}

interface TableProps {
  rows: RunListed[];
  selected: string[];
  toggle: (run: string) => void;
}

function Table({ rows, selected, toggle }: TableProps) {
  return (
    <Scroll label="Runs">
      <table class="runs">
        <thead>
          <tr>
            <th>
              <span class="visually-hidden">compare</span>
            </th>
            <th>run</th>
            <th>state</th>
            <th>verdict</th>
            <th class="n wide">p99</th>
            <th class="n wide">requests/s</th>
            <th class="n wide">errors</th>
            <th class="wide">target</th>
            <th class="n">created</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((one) => {
            const status = runStatus(one.state, one.ending);
            const on = selected.includes(one.run);
            return (
              <tr key={one.run} class={on ? "chosen" : ""}>
                <td>
                  <input
                    type="checkbox"
                    checked={on}
                    onChange={() => toggle(one.run)}
                    disabled={!isOver(one.state)}
                    aria-label={`Compare ${one.scenario} ${one.run}`}
                  />
                </td>
                <th scope="row">
                  <Link to={runRoute(one.run)}>{one.scenario}</Link>
                  <Tags tags={one.tags} />
                  <code class="id">{one.run}</code>
                </th>
                <td>
                  <Badge tone={status.tone}>{status.text}</Badge>
                </td>
                <td>{one.outcome && <Verdict word={one.outcome.verdict} />}</td>
                <td class="n wide">{latency(one.outcome?.p99_us)}</td>
                <td class="n wide">{perSecond(one.outcome?.requests_per_sec)}</td>
                <td class="n wide">{percent(one.outcome?.error_rate_pct)}</td>
                <td class="wide">{one.target}</td>
                <td class="n">{dateTime(one.created_at)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </Scroll>
  );
}

const TONES = { PASS: "good", FAIL: "bad", VOID: "warn", STOPPED: "warn" } as const;

function Verdict({ word }: { word: Outcome["verdict"] }) {
  return <Badge tone={TONES[word]}>{word}</Badge>;
}
