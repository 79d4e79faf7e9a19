// Hooks that load data from the gateway and keep it up to date while a component shows it.

import { useEffect, useRef, useState } from "preact/hooks";
import { type Known, Problem, get, getAgain } from "./http";

export interface Resource<T> {
  data: T | null;
  problem: Problem | null;
  /** True until the first answer for this key; `data` may still belong to the previous one. */
  loading: boolean;
  reload: () => void;
}

interface Options {
  /** Refresh interval in ms; 0: load once. */
  every?: number;
}

const RETRY_MS = 3000;

/** Loads `path`; null loads nothing. An answer to an outdated request is dropped. A refresh
 * requests the changes since the answer before. */
export function useResource<T>(path: string | null, { every = 0 }: Options = {}): Resource<T> {
  const known = useRef<{ path: string; answer: Known<T> } | null>(null);
  const load = async (signal: AbortSignal): Promise<T> => {
    if (every === 0) return get<T>(path!, signal);
    const earlier = known.current?.path === path ? known.current.answer : null;
    const answer = await getAgain<T>(path!, earlier, signal);
    known.current = { path: path!, answer };
    return answer.data;
  };
  return useQuery<T>(path, load, every);
}

/** The same for any request; a new `key` starts a new one. */
export function useQuery<T>(
  key: string | null,
  load: (signal: AbortSignal) => Promise<T>,
  every = 0,
): Resource<T> {
  const [data, setData] = useState<T | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [loading, setLoading] = useState(key !== null);
  const [reloads, setReloads] = useState(0);
  const latestLoad = useRef(load);
  latestLoad.current = load;

  useEffect(() => {
    if (key === null) return;
    const aborter = new AbortController();
    let timer = 0;
    const schedule = (ms: number) => {
      timer = window.setTimeout(() => void loadOnce(), ms);
    };
    const loadOnce = async () => {
      try {
        const answer = await latestLoad.current(aborter.signal);
        if (aborter.signal.aborted) return;
        setData(answer);
        setProblem(null);
        if (every) schedule(every);
      } catch (error) {
        if (aborter.signal.aborted) return;
        const failure = asProblem(error);
        setProblem(failure);
        // Retries network and server errors, and requests above a limit at the time that the
        // gateway names. Any other rejected request would fail again.
        if (failure.retryMs !== null) schedule(Math.max(every, failure.retryMs));
        else if (failure.status === 0 || failure.status >= 500) schedule(Math.max(every, RETRY_MS));
      }
      setLoading(false);
    };
    setLoading(true);
    void loadOnce();
    return () => {
      aborter.abort();
      clearTimeout(timer);
    };
  }, [key, every, reloads]);

  return { data, problem, loading, reload: () => setReloads((n) => n + 1) };
}

export function asProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new Problem(-1, "page", "Error in this page", message);
}
