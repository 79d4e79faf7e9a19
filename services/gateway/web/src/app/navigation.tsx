// Navigation: a signal with the current route, functions and links that change it.

import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { type Route, type View, format, parse } from "./route";

const addressRoute = () => parse(location.pathname + location.search);

export const currentRoute = signal<Route>(addressRoute());

addEventListener("popstate", ({ state }) => {
  currentRoute.value = addressRoute();
  const top: unknown = (state as { top?: unknown } | null)?.top;
  if (typeof top === "number") scrollWhenLong(top);
});

const SCROLL_WAIT_MS = 5000;

/** Scrolls once the page is long enough: a list is loaded after its route is shown. */
function scrollWhenLong(top: number): void {
  const resized = new ResizeObserver(() => {
    if (document.documentElement.scrollHeight - innerHeight < top) return;
    resized.disconnect();
    scrollTo(0, top);
  });
  resized.observe(document.body);
  setTimeout(() => resized.disconnect(), SCROLL_WAIT_MS);
}

/** Opens a route. `replace` adds no history entry: for sliders and text fields. */
export function navigate(route: Route, replace = false): void {
  const address = format(route);
  if (replace) history.replaceState(null, "", address);
  else if (address !== location.pathname + location.search) {
    history.replaceState({ top: scrollY }, "");
    history.pushState(null, "", address);
  }
  const newPage = currentRoute.value.page !== route.page;
  currentRoute.value = route;
  if (newPage) scrollTo(0, 0);
}

/** Changes the view of the current run. */
export function changeView(change: Partial<View>, replace = false): void {
  const route = currentRoute.value;
  if (route.page === "run") navigate({ ...route, view: { ...route.view, ...change } }, replace);
}

interface LinkProps {
  to: Route;
  children: ComponentChildren;
  class?: string;
  current?: boolean;
}

export function Link({ to, children, class: name, current }: LinkProps) {
  const follow = (event: MouseEvent) => {
    // The browser handles opening in another tab or window.
    if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    navigate(to);
  };
  return (
    <a href={format(to)} class={name} onClick={follow} aria-current={current ? "page" : undefined}>
      {children}
    </a>
  );
}
