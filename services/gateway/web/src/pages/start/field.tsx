// One input of the start form with the message of its mistake below it.

import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";
import type { FieldProblem } from "../../api/http";
import type { Form } from "../../api/answers";
import type { Changes } from "../../data/plan_changes";

/** Properties of each part of the form: the answer of the gateway, and the changes so far. */
export interface FormProps {
  form: Form | null;
  changes: Changes;
  change: (part: Partial<Changes>) => void;
  problems: FieldProblem[];
}

/** The input of a problem's field; the others are problems of the plan. */
const INPUTS: Record<string, string> = {
  warm_up_us: "warm_up",
  "agents.want": "agents",
  "agents.min": "min_agents",
  "agents.wait_us": "wait",
};
const NAMED = new Set([
  "target",
  "rate",
  "duration",
  "users",
  "warm_up",
  "agents",
  "min_agents",
  "wait",
  "seed",
]);

export function inputOf(field: string): string | null {
  const name = INPUTS[field] ?? field;
  if (name.startsWith("thresholds")) return "thresholds";
  return NAMED.has(name) ? name : null;
}

interface FieldProps {
  name: string;
  label: string;
  value: string;
  placeholder?: string;
  wide?: boolean;
  problems: FieldProblem[];
  onInput: (text: string) => void;
  children?: ComponentChildren;
}

export function Field(props: FieldProps) {
  const { name, label, value, placeholder, wide, problems, onInput, children } = props;
  const id = useId();
  const problem = problems.find((one) => inputOf(one.field) === name);
  return (
    <div class={wide ? "field wide" : "field"}>
      <label for={id}>{label}</label>
      <div class="entry">
        <input
          id={id}
          value={value}
          placeholder={placeholder}
          autocomplete="off"
          spellcheck={false}
          aria-invalid={problem ? "true" : undefined}
          aria-describedby={problem ? `${id}-problem` : undefined}
          onInput={(event) => onInput(event.currentTarget.value)}
        />
        {children}
      </div>
      {problem && <Mistake id={`${id}-problem`} problem={problem} />}
    </div>
  );
}

export function Mistake({ id, problem }: { id?: string; problem: FieldProblem }) {
  const { rule, value } = problem;
  return (
    <p class="mistake" id={id} role="alert">
      {rule}
      {!rule.includes(value) && (
        <>
          {" "}
          — found <code>{value}</code>
        </>
      )}
    </p>
  );
}
