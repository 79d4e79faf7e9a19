// Panels, tiles, scroll boxes, and placeholders for data that is empty, loading or failed.

import type { ComponentChildren } from "preact";
import { useId, useRef, useState } from "preact/hooks";
import type { Problem } from "../../api/http";
import type { Tone } from "../../format/labels";
import { saveTable } from "../tables/table_file";
import { Icon } from "./icons";

interface PanelProps {
  title: string;
  note?: ComponentChildren;
  aside?: ComponentChildren;
  wide?: boolean;
  busy?: boolean;
  children: ComponentChildren;
}

export function Panel({ title, note, aside, wide, busy, children }: PanelProps) {
  const id = useId();
  const name = `panel${wide ? " wide" : ""}${busy ? " busy" : ""}`;
  return (
    <section class={name} aria-labelledby={id} aria-busy={busy ? "true" : undefined}>
      <header>
        <h2 id={id}>{title}</h2>
        {note !== undefined && <span class="note">{note}</span>}
        {aside !== undefined && <div class="aside">{aside}</div>}
      </header>
      {children}
    </section>
  );
}

interface TileProps {
  label: string;
  value: ComponentChildren;
  note?: ComponentChildren;
  tone?: Tone;
  title?: string;
}

export function Tile({ label, value, note, tone = "plain", title }: TileProps) {
  return (
    <div class={`tile ${tone}`} title={title}>
      <dt>{label}</dt>
      <dd>
        <b>{value}</b>
        {note !== undefined && <small>{note}</small>}
      </dd>
    </div>
  );
}

export function Tiles({ children }: { children: ComponentChildren }) {
  return <dl class="tiles">{children}</dl>;
}

/** Placeholder for an empty list or page, with the next step. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      {children}
    </div>
  );
}

interface FailedProps {
  problem: Problem;
  again?: () => void;
}

/** An error of the gateway, with the fields that it names. */
export function Failed({ problem, again }: FailedProps) {
  // The frame of the pages says once that the gateway does not answer.
  if (problem.code === "unreachable") return null;
  const isMistake = problem.code === "usage";
  // The detail of a single mistake says all of it.
  const named = problem.problems.filter(({ rule }) => !isMistake || !problem.detail.includes(rule));
  return (
    <div class="failed" role="alert">
      <h2>{isMistake ? problem.detail : problem.title}</h2>
      {!isMistake && <p>{problem.detail}</p>}
      {named.length > 0 && (
        <ul>
          {named.map((one) => (
            <li key={`${one.field} ${one.rule}`}>
              <code>{one.field}</code> {one.rule}
              {one.value ? (
                <>
                  {" "}
                  — found <code>{one.value}</code>
                </>
              ) : null}
            </li>
          ))}
        </ul>
      )}
      {again && (
        <button type="button" onClick={again}>
          Try again
        </button>
      )}
    </div>
  );
}

/** A table in a box that scrolls sideways, also by keyboard; what it shows is saved as CSV. */
export function Scroll({ label, children }: { label: string; children: ComponentChildren }) {
  const box = useRef<HTMLDivElement>(null);
  return (
    <>
      <div class="scroll" role="group" aria-label={label} tabIndex={0} ref={box}>
        {children}
      </div>
      <button
        type="button"
        class="ghost save-table"
        aria-label={`Save ${label} as CSV`}
        onClick={() => saveTable(box.current!.querySelector("table")!, label)}
      >
        CSV
      </button>
    </>
  );
}

export function Loading({ what }: { what: string }) {
  return (
    <p class="loading" role="status">
      {what}…
    </p>
  );
}

/** A button that copies a text. */
export function Copy({ text, label }: { text: string; label: string }) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), 1500);
  };
  return (
    <button
      type="button"
      class="ghost"
      title={label}
      aria-label={label}
      onClick={() => void copy()}
    >
      <Icon name={copied ? "check" : "copy"} />
    </button>
  );
}
