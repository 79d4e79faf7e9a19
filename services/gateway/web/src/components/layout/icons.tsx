// Badges, the logo and icons, as SVG in the page: the policy forbids files of other hosts.

import type { ComponentChildren } from "preact";
import type { Tone } from "../../format/labels";

export function Badge({ tone, children }: { tone: Tone; children: ComponentChildren }) {
  return (
    <span class={`badge ${tone}`}>
      <i aria-hidden="true" />
      {children}
    </span>
  );
}

/** A rising line over a horizon: the offered load. */
export function Logo() {
  return (
    <svg class="logo" viewBox="0 0 24 24" width="22" height="22" aria-hidden="true">
      <circle cx="12" cy="12" r="10.5" fill="none" stroke="currentColor" stroke-width="1.6" />
      <path d="M2.6 15.5h5.2l4-7 3.4 5 2-2.6h4.2" class="path" />
      <path d="M4.6 19h14.8" stroke="currentColor" stroke-width="1.2" opacity="0.5" />
    </svg>
  );
}

const ICONS = {
  play: "M7 4.5v15l12-7.5z",
  pause: "M6.5 4.5h4v15h-4zM13.5 4.5h4v15h-4z",
  stop: "M5.5 5.5h13v13h-13z",
  close: "M6 6l12 12M18 6L6 18",
  sun: "M12 8a4 4 0 100 8 4 4 0 000-8zM12 2v3M12 19v3M2 12h3M19 12h3M5 5l2 2M17 17l2 2",
  moon: "M20 14.5A8.5 8.5 0 019.5 4 8.5 8.5 0 1020 14.5z",
  system: "M3 5h18v11H3zM8 20h8M12 16v4",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  back: "M15 5l-7 7 7 7",
  check: "M5 12.5l4.5 4.5L19 7.5",
  plus: "M12 5v14M5 12h14",
} as const;

const FILLED: ReadonlySet<string> = new Set(["play", "pause", "stop"]);

export function Icon({ name }: { name: keyof typeof ICONS }) {
  const filled = FILLED.has(name);
  return (
    <svg class={filled ? "icon filled" : "icon"} viewBox="0 0 24 24" aria-hidden="true">
      <path d={ICONS[name]} />
    </svg>
  );
}

/** Marks a row by a colour variable of the theme, as in the charts. */
export function Dot({ colour }: { colour: string }) {
  return <i class="dot" style={{ background: `var(--${colour})` }} aria-hidden="true" />;
}
