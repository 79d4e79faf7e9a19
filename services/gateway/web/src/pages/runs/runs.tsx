// The list of runs: filter, sort, and select for comparison.

import { useEffect, useRef, useState } from "preact/hooks";
import type { RunList } from "../../api/answers";
import { get, queryString } from "../../api/http";
import { asProblem, useResource } from "../../api/resource";
import { Link, navigate } from "../../app/navigation";
import { COMPARED_MAX, type Filter, NO_FILTER } from "../../app/route";
import { me } from "../../app/session";
import { Empty, Failed, Loading } from "../../components/layout/panel";
import { appended, refreshed, tagFilter } from "../../data/run_list";
import { count } from "../../format/numbers";
import { FilterBar } from "./filter";
import { RunTable } from "./table";

const PAGE = 50;
const REFRESH_MS = 3000;

export function Runs({ filter }: { filter: Filter }) {
  const tag = tagFilter(filter.tag);
  const applied = { ...filter, tag: tag ?? "" };
  const path = `/runs${queryString({ ...applied, limit: PAGE })}`;
  const { data, problem, loading, reload } = useResource<RunList>(path, { every: REFRESH_MS });
  const [more, setMore] = useState<Pick<RunList, "runs" | "next"> | null>(null);
  const [selected, setChosen] = useState<string[]>([]);
  const shownPath = useRef(path);
  shownPath.current = path;
  useEffect(() => setMore(null), [path]);

  const first = data?.runs ?? [];
  // A list that ends with its first page has no other rows.
  const withFirst = (earlier: RunList["runs"]) => (data?.next ? refreshed(first, earlier) : first);
  const rows = more ? withFirst(more.runs) : first;
  const next = data?.next && more ? more.next : (data?.next ?? null);
  useEffect(() => {
    setMore((earlier) => earlier && { ...earlier, runs: withFirst(earlier.runs) });
  }, [data]);
  const load = async () => {
    const page = await get<RunList>(
      `/runs${queryString({ ...applied, limit: PAGE, cursor: next })}`,
    ).catch((error: unknown) => asProblem(error));
    if (!("runs" in page) || shownPath.current !== path) return;
    setMore((earlier) => ({ runs: appended(earlier?.runs ?? first, page.runs), next: page.next }));
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
      {filter.tag !== "" && tag === null && (
        <p class="notice" role="status">
          The tag filter “{filter.tag}” is incomplete and filters nothing: write key:value, such as
          team:shop.
        </p>
      )}
      {problem && <Failed problem={problem} again={reload} />}
      {!data && !problem && <Loading what="Loading the runs" />}
      {data && <Unread list={data} />}
      {data && rows.length === 0 && data.unread === 0 && <NoRuns filter={filter} />}
      {rows.length > 0 && <RunTable {...{ filter, rows, selected, toggle }} />}
      {next && (
        <button type="button" class="more" disabled={loading} onClick={() => void load()}>
          More runs
        </button>
      )}
    </>
  );
}

/** Runs without figures yet: they have no position in the order, and pass no filter. */
function Unread({ list: { unread, unreadable } }: { list: RunList }) {
  const runs = (n: number) => (n === 1 ? "1 run" : `${count(n)} runs`);
  return (
    <p class="unread" role="status">
      {unread > 0 && `${runs(unread)} ${unread === 1 ? "is" : "are"} still being read. `}
      {unreadable > 0 && `${runs(unreadable)} cannot be read: the log does not answer.`}
    </p>
  );
}

function NoRuns({ filter }: { filter: Filter }) {
  const { sort: _, order: __, ...texts } = filter;
  if (Object.values(texts).some((text) => text !== "")) {
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
            You can also <Link to={{ page: "start", from: null }}>start a run here</Link>.
          </>
        )}
      </p>
    </Empty>
  );
}
