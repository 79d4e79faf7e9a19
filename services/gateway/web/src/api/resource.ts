// Something that the gateway knows, kept up to date while a component shows it.

import { useEffect, useRef, useState } from "preact/hooks";
import { Problem, get } from "./http";

export interface Resource<T> {
  data: T | null;
  problem: Problem | null;
  /** True until the first answer to the present question; what is shown may be the one before. */
  loading: boolean;
  reload: () => void;
}

interface Options {
  /** Asks again after so many ms; 0: once. */
  every?: number;
}

const RETRY_MS = 3000;

/** What `path` answers; null asks nothing. An answer that a newer question overtook is dropped. */
export function useResource<T>(path: string | null, { every = 0 }: Options = {}): Resource<T> {
  return useAsked<T>(path, (signal) => get<T>(path!, signal), every);
}

/** The same for any question; `key` says when it is another one. */
export function useAsked<T>(
  key: string | null,
  question: (signal: AbortSignal) => Promise<T>,
  every = 0,
): Resource<T> {
  const [data, setData] = useState<T | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [loading, setLoading] = useState(key !== null);
  const [round, setRound] = useState(0);
  const asked = useRef(question);
  asked.current = question;

  useEffect(() => {
    if (key === null) return;
    const over = new AbortController();
    let timer = 0;
    const again = (ms: number) => {
      timer = window.setTimeout(() => void once(), ms);
    };
    const once = async () => {
      try {
        const answer = await asked.current(over.signal);
        if (over.signal.aborted) return;
        setData(answer);
        setProblem(null);
        if (every) again(every);
      } catch (error) {
        if (over.signal.aborted) return;
        const told = asProblem(error);
        setProblem(told);
        // What the world broke may mend; what was asked wrongly stays wrong.
        if (told.status === 0 || told.status >= 500) again(Math.max(every, RETRY_MS));
      }
      setLoading(false);
    };
    setLoading(true);
    void once();
    return () => {
      over.abort();
      clearTimeout(timer);
    };
  }, [key, every, round]);

  return { data, problem, loading, reload: () => setRound((n) => n + 1) };
}

export function asProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  const words = error instanceof Error ? error.message : String(error);
  return new Problem(-1, "page", "This page made a mistake", words);
}
