// All runs, newest first: find one, look at it, put some beside each other.

import { useEffect, useState } from "preact/hooks";
import type { Outcome, RunList, RunListed } from "../api/answers";
import { get, query } from "../api/http";
import { asProblem, useResource } from "../api/resource";
import { Link, go } from "../app/navigation";
import { COMPARED_MAX, type Filter, NO_FILTER, runRoute } from "../app/route";
import { me } from "../app/session";
import { Badge } from "../components/layout/icons";
import { Empty, Failed, Loading, Scroll } from "../components/layout/panel";
import { instant, latency, percent, perSecond } from "../format/numbers";
import { isOver, standing } from "../format/labels";

const PAGE = 50;
const AGAIN_MS = 3000;
/** A tag that is still being typed narrows nothing yet. */
const TAG = /^[^:]{1,63}:.{1,256}$/;
const STATES = ["requested", "gathering", "preparing", "running", "stopping", "sealed", "refused"];
const ENDINGS = ["completed", "stopped", "abandoned", "failed", "aborted", "log_full"];

export function Runs({ filter }: { filter: Filter }) {
  const asked = { ...filter, tag: TAG.test(filter.tag) ? filter.tag : "" };
  const path = `/runs${query({ ...asked, limit: PAGE })}`;
  const { data, problem, reload } = useResource<RunList>(path, { every: AGAIN_MS });
  const [more, setMore] = useState<RunList | null>(null);
  const [chosen, setChosen] = useState<string[]>([]);
  useEffect(() => setMore(null), [path]);

  const rows = [...(data?.runs ?? []), ...(more?.runs ?? [])];
  const next = more ? more.next : (data?.next ?? null);
  const load = async () => {
    const page = await get<RunList>(`/runs${query({ ...asked, limit: PAGE, cursor: next })}`).catch(
      (error: unknown) => asProblem(error),
    );
    if ("runs" in page) setMore({ runs: [...(more?.runs ?? []), ...page.runs], next: page.next });
  };
  const choose = (run: string) =>
    setChosen((was) =>
      was.includes(run) ? was.filter((r) => r !== run) : [...was, run].slice(-COMPARED_MAX),
    );
  return (
    <>
      <div class="title">
        <h1>Runs</h1>
        <FilterBar filter={filter} />
        <div class="actions">
          <button
            type="button"
            disabled={chosen.length < 2}
            onClick={() => go({ page: "compare", runs: chosen, percentile: "p99" })}
          >
            Compare {chosen.length > 0 ? chosen.length : ""}
          </button>
        </div>
      </div>
      {problem && <Failed problem={problem} again={reload} />}
      {!data && !problem && <Loading what="Reading the logs" />}
      {data && rows.length === 0 && <Nothing filter={filter} />}
      {rows.length > 0 && <Table {...{ rows, chosen, choose }} />}
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
    go({ page: "runs", filter: { ...filter, ...part } }, true);
  return (
    <form class="filter" role="search" onSubmit={(event) => event.preventDefault()}>
      <input
        type="search"
        placeholder="Scenario, target or id"
        aria-label="Find runs"
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
        aria-label="Only runs with this tag"
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
          {standing(name, name).text}
        </option>
      ))}
    </select>
  );
}

function Nothing({ filter }: { filter: Filter }) {
  if (Object.values(filter).some((text) => text !== "")) {
    return (
      <Empty title="No run is like that">
        <p>
          <Link to={{ page: "runs", filter: NO_FILTER }}>Show all runs</Link>
        </p>
      </Empty>
    );
  }
  return (
    <Empty title="No run yet">
      <p>A run appears here as soon as somebody asks for it, from this folder or this fleet:</p>
      <pre>
        <code>loadpilot run scenario.py --target http://127.0.0.1:8000</code>
      </pre>
      <p>
        Nothing needs to be open here meanwhile: every run is a log, and this page reads it whenever
        you come back.
        {me.value?.can_start && (
          <>
            {" "}
            You can also <Link to={{ page: "start", from: null }}>start a plan</Link> from here.
          </>
        )}
      </p>
    </Empty>
  );
}

interface TableProps {
  rows: RunListed[];
  chosen: string[];
  choose: (run: string) => void;
}

function Table({ rows, chosen, choose }: TableProps) {
  return (
    <Scroll label="Runs">
      <table class="runs">
        <thead>
          <tr>
            <th>
              <span class="unseen">compare</span>
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
            const said = standing(one.state, one.ending);
            const on = chosen.includes(one.run);
            return (
              <tr key={one.run} class={on ? "chosen" : ""}>
                <td>
                  <input
                    type="checkbox"
                    checked={on}
                    onChange={() => choose(one.run)}
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
                  <Badge tone={said.tone}>{said.text}</Badge>
                </td>
                <td>{one.outcome && <Verdict word={one.outcome.verdict} />}</td>
                <td class="n wide">{latency(one.outcome?.p99_us)}</td>
                <td class="n wide">{perSecond(one.outcome?.requests_per_sec)}</td>
                <td class="n wide">{percent(one.outcome?.error_rate_pct)}</td>
                <td class="wide">{one.target}</td>
                <td class="n">{instant(one.created_at)}</td>
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

export function Tags({ tags }: { tags: Record<string, string> | undefined }) {
  const pairs = Object.entries(tags ?? {});
  if (pairs.length === 0) return null;
  return (
    <span class="tags">
      {pairs.map(([key, value]) => (
        <Link key={key} to={{ page: "runs", filter: { ...NO_FILTER, tag: `${key}:${value}` } }}>
          {key}: {value}
        </Link>
      ))}
    </span>
  );
}
