// Settings that are seldom needed: seed, waits, and the plan itself as JSON.

import { useEffect, useState } from "preact/hooks";
import { planWithUnits } from "../../format/plan_units";
import { Field, type FormProps } from "./field";

interface AdvancedProps extends FormProps {
  /** The plan as the gateway writes it. */
  plan: string;
  /** Content of the text area. */
  text: string;
  /** Why the text is not a plan in JSON. */
  broken: string | null;
  onText: (text: string) => void;
  /** Whether it is open at first, because the form has nothing else to show yet. */
  open: boolean;
}

export function Advanced(props: AdvancedProps) {
  const { form, changes, change, problems, plan, text, broken, onText, open } = props;
  const [isOpen, setOpen] = useState(open);
  const [inUnits, setInUnits] = useState(false);
  // A mistake must not be hidden in a closed section.
  useEffect(() => {
    if (broken !== null) setOpen(true);
  }, [broken]);
  return (
    <details
      class="panel advanced"
      open={isOpen}
      onToggle={(event) => setOpen(event.currentTarget.open)}
    >
      <summary>
        <h2>Advanced</h2> <span class="note">warm-up, waits, seed, the plan as JSON</span>
      </summary>
      {form && (
        <div class="fields">
          <Field
            name="warm_up"
            label="Warm-up"
            value={changes.warm_up ?? form.warm_up}
            placeholder={form.warm_up}
            problems={problems}
            onInput={(warm_up) => change({ warm_up })}
          />
          <Field
            name="min_agents"
            label="Min. load generators"
            value={changes.min_agents ?? ""}
            placeholder="all"
            problems={problems}
            onInput={(min_agents) => change({ min_agents })}
          />
          <Field
            name="wait"
            label="Wait for them"
            value={changes.wait ?? ""}
            placeholder="default"
            problems={problems}
            onInput={(wait) => change({ wait })}
          />
          <Field
            name="seed"
            label="Seed"
            value={changes.seed ?? ""}
            placeholder="random"
            problems={problems}
            onInput={(seed) => change({ seed })}
          />
        </div>
      )}
      <div class="plan-head">
        <label for="plan">Plan as JSON</label>
        <label class="toggle">
          <input
            type="checkbox"
            checked={inUnits}
            onChange={(event) => setInUnits(event.currentTarget.checked)}
          />
          with units, read-only
        </label>
        <OpenFile onText={onText} />
      </div>
      {inUnits ? (
        <pre id="plan" class="plan-units" tabIndex={0}>
          {planWithUnits(plan).map(({ text: line, note }, at) => (
            <span key={at}>
              {line}
              {note && <b>{`  = ${note}`}</b>}
              {"\n"}
            </span>
          ))}
        </pre>
      ) : (
        <textarea
          id="plan"
          spellcheck={false}
          value={text}
          rows={18}
          placeholder={PLACEHOLDER}
          aria-invalid={broken === null ? undefined : "true"}
          aria-describedby={broken === null ? undefined : "plan-problem"}
          onInput={(event) => onText(event.currentTarget.value)}
        />
      )}
      {broken !== null && (
        <p class="mistake" id="plan-problem" role="alert">
          Invalid JSON: {broken}
        </p>
      )}
      <p class="quiet">
        <code>loadpilot run scenario.py --dry-run</code> prints the plan of a scenario.
      </p>
    </details>
  );
}

const PLACEHOLDER = `{
  "schema": "…",
  "scenario": "Shop",
  "target": "http://127.0.0.1:8000",
  …
}`;

function OpenFile({ onText }: { onText: (text: string) => void }) {
  return (
    <label class="button">
      Open a file
      <input
        class="visually-hidden"
        type="file"
        accept=".json,application/json"
        onChange={(event) => {
          const file = event.currentTarget.files?.[0];
          if (file) void file.text().then(onText);
        }}
      />
    </label>
  );
}
