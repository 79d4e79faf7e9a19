// Hooks that limit how often a moved control causes requests.

import { useEffect, useRef, useState } from "preact/hooks";

/** Minimum time between two positions of a slider for which the page sends requests, in ms. */
export const ASK_MS = 200;
/** Time without a change after which a value is settled, in ms: longer than a pause in a drag. */
const SETTLED_MS = 500;

interface Pending<T> {
  timer: number;
  next: T | null;
  calledAt: number;
}

/** The moved position until `ask` is called with it, and a function that moves it. `ask` is called
 * at once, then at most once every `ASK_MS`, and always with the last position. */
export function useThrottled<T>(
  ask: (value: T) => void,
): [{ value: T } | null, (value: T) => void] {
  const [moved, setMoved] = useState<{ value: T } | null>(null);
  const latest = useRef(ask);
  latest.current = ask;
  const pending = useRef<Pending<{ value: T }>>({ timer: 0, next: null, calledAt: -ASK_MS });
  useEffect(() => () => clearTimeout(pending.current.timer), []);
  const call = () => {
    const { next } = pending.current;
    pending.current = { timer: 0, next: null, calledAt: performance.now() };
    setMoved(null);
    if (next) latest.current(next.value);
  };
  const move = (value: T) => {
    const now = pending.current;
    now.next = { value };
    if (now.timer !== 0) {
      setMoved(now.next);
      return;
    }
    const wait = now.calledAt + ASK_MS - performance.now();
    if (wait <= 0) {
      call();
      return;
    }
    setMoved(now.next);
    now.timer = window.setTimeout(call, wait);
  };
  return [moved, move];
}

/** The value once it has not changed for `SETTLED_MS`; the first value at once. */
export function useSettled<T>(value: T): T {
  const [settled, setSettled] = useState(value);
  const key = JSON.stringify(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), SETTLED_MS);
    return () => clearTimeout(timer);
  }, [key]);
  return settled;
}
