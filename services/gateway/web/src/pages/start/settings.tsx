// Target, load and load generators.

import { me } from "../../app/session";
import { Field, type FormProps } from "./field";

/** Shares of the plan's load that one click sets. */
const SHARES: [string, string][] = [
  ["50%", "Half"],
  ["100%", "Same"],
  ["200%", "Double"],
];

export function Settings({ form, changes, change, problems }: FormProps) {
  const closed = form?.users !== null && form?.users !== undefined;
  const load = closed ? "users" : "rate";
  const written = changes[load];
  const share = SHARES.some(([text]) => text === written);
  const inPlan = closed ? String(form?.users ?? "") : (form?.rate ?? "");
  return (
    <div class="fields load">
      <Field
        name="target"
        label="Target"
        wide
        value={changes.target ?? form?.target ?? ""}
        placeholder={form?.target}
        problems={problems}
        onInput={(target) => change({ target })}
      />
      <Field
        name={load}
        label={closed ? "Users" : "Rate at the peak"}
        value={share ? inPlan : (written ?? inPlan)}
        placeholder={inPlan}
        problems={problems}
        onInput={(text) => change({ [load]: text })}
      >
        <span class="choice" role="group" aria-label="Share of the plan's load">
          {SHARES.map(([text, label]) => (
            <button
              key={text}
              type="button"
              aria-pressed={(written ?? "100%") === text ? "true" : "false"}
              onClick={() => change({ [load]: text })}
            >
              {label}
            </button>
          ))}
        </span>
      </Field>
      <Field
        name="duration"
        label="Duration"
        value={changes.duration ?? form?.duration ?? ""}
        placeholder={form?.duration}
        problems={problems}
        onInput={(duration) => change({ duration })}
      />
      <Field
        name="agents"
        label="Load generators"
        value={changes.agents ?? ""}
        placeholder={String(me.value?.agents ?? 1)}
        problems={problems}
        onInput={(agents) => change({ agents })}
      />
    </div>
  );
}
