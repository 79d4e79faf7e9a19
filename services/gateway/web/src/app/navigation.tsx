// Where the reader is: one signal that follows the address bar, and links that move it.

import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { type Route, type View, format, parse } from "./route";

const here = () => parse(location.pathname + location.search);

export const place = signal<Route>(here());

addEventListener("popstate", () => {
  place.value = here();
});

/** Goes somewhere; `quietly` leaves no entry in the history, for what is dragged. */
export function go(route: Route, quietly = false): void {
  const address = format(route);
  if (quietly) history.replaceState(null, "", address);
  else if (address !== location.pathname + location.search) history.pushState(null, "", address);
  const moved = place.value.page !== route.page;
  place.value = route;
  if (moved) scrollTo(0, 0);
}

/** Looks at the same run in another way. */
export function look(change: Partial<View>, quietly = false): void {
  const route = place.value;
  if (route.page === "run") go({ ...route, view: { ...route.view, ...change } }, quietly);
}

interface LinkProps {
  to: Route;
  children: ComponentChildren;
  class?: string;
  current?: boolean;
}

export function Link({ to, children, class: name, current }: LinkProps) {
  const follow = (event: MouseEvent) => {
    // Another tab or window is the browser's business.
    if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    go(to);
  };
  return (
    <a href={format(to)} class={name} onClick={follow} aria-current={current ? "page" : undefined}>
      {children}
    </a>
  );
}
