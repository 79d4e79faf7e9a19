// Starts a run from a plan: the gateway checks the plan while it is edited; starting is confirmed.

import { useEffect, useState } from "preact/hooks";
import type { Checked, PlanFacts } from "../api/answers";
import type { Problem } from "../api/http";
import { get, post } from "../api/http";
import { asProblem, useQuery } from "../api/resource";
import { navigate } from "../app/navigation";
import { runRoute } from "../app/route";
import { me } from "../app/session";
import { Dialog } from "../components/controls/dialog";
import { Badge } from "../components/layout/icons";
import { Empty, Failed, Panel } from "../components/layout/panel";
import { count, perSecond, duration } from "../format/numbers";
import { parsePlan, secretNames, taskNames } from "../data/plan";

const DEBOUNCE_MS = 400;

interface RunOptions {
  want: string;
  min: string;
  wait: string;
  seed: string;
}

export function Start({ from }: { from: string | null }) {
  const [text, setText] = useState("");
  const [problem, setProblem] = useState<Problem | null>(null);
  const [options, setWanted] = useState<RunOptions>({ want: "", min: "", wait: "", seed: "" });
  const [secrets, setSecrets] = useState<Record<string, string>>({});
  useEffect(() => {
    if (from === null) return;
    get<{ plan: unknown }>(`/runs/${encodeURIComponent(from)}/plan`)
      .then((answer) => setText(JSON.stringify(answer.plan, null, 2)))
      .catch((error: unknown) => setProblem(asProblem(error)));
  }, [from]);
  const parsed = text.trim() === "" ? null : parsePlan(text);
  const plan = parsed && "plan" in parsed ? parsed.plan : null;
  const names = secretNames(plan);
  const check = useDebouncedCheck(plan === null ? null : text);
  if (me.value && !me.value.can_start) {
    return (
      <Empty title="Runs cannot be started from here">
        <p>
          This gateway is read-only. Start a run with <code>loadpilot run</code>; it appears in the
          list at once.
        </p>
      </Empty>
    );
  }
  const valid = check.data?.problems.length === 0;
  const complete = names.every((name) => secrets[name]);
  return (
    <>
      <div class="title">
        <h1>Start a run</h1>
      </div>
      {problem && <Failed problem={problem} />}
      <div class="grid start">
        <Panel
          title="Plan"
          note={from ? `of run ${from}` : "JSON"}
          aside={<OpenFile onText={setText} />}
        >
          <label class="visually-hidden" for="plan">
            Plan as JSON
          </label>
          <textarea
            id="plan"
            spellcheck={false}
            value={text}
            rows={22}
            placeholder={PLACEHOLDER}
            onInput={(event) => setText(event.currentTarget.value)}
          />
          <p class="quiet">
            <code>loadpilot run scenario.py --dry-run</code> prints the plan of a scenario.
          </p>
        </Panel>
        <div class="stack">
          <Panel title="Check" busy={check.loading && plan !== null}>
            {parsed === null && <p class="quiet">Paste or open a plan to check it.</p>}
            {parsed && "problem" in parsed && (
              <p class="notice bad" role="alert">
                Invalid JSON: {parsed.problem}
              </p>
            )}
            {check.problem && <Failed problem={check.problem} />}
            {check.data && <CheckResult checked={check.data} tasks={taskNames(plan)} />}
          </Panel>
          <Panel title="Options">
            <OptionFields options={options} onChange={setWanted} />
            {names.map((name) => (
              <label key={name} class="field">
                <span>
                  secret <code>{name}</code>
                </span>
                <input
                  type="password"
                  autocomplete="off"
                  value={secrets[name] ?? ""}
                  onInput={(event) => setSecrets({ ...secrets, [name]: event.currentTarget.value })}
                />
              </label>
            ))}
            <StartButton
              {...{ plan, options, secrets }}
              facts={check.data?.facts ?? null}
              ready={valid && complete && plan !== null}
            />
          </Panel>
        </div>
      </div>
    </>
  );
}

const PLACEHOLDER = `{
  "schema": "…",
  "scenario": "Shop",
  "target": "http://127.0.0.1:8000",
  …
}`;

function useDebouncedCheck(text: string | null) {
  const [settled, setSettled] = useState<string | null>(null);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), DEBOUNCE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  const check = useQuery<Checked>(settled, (signal) =>
    post<Checked>("/plans/check", { plan: JSON.parse(settled!) as unknown }, {}, signal),
  );
  const current = settled !== null && settled === text;
  return { ...check, data: current ? check.data : null, problem: current ? check.problem : null };
}

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

interface CheckResultProps {
  checked: Checked;
  tasks: string[];
}

function CheckResult({ checked, tasks }: CheckResultProps) {
  if (checked.problems.length > 0) {
    return (
      <div role="alert">
        <p>
          <Badge tone="bad">
            {checked.problems.length} {checked.problems.length === 1 ? "problem" : "problems"}
          </Badge>
        </p>
        <ul class="problems">
          {checked.problems.map((one, i) => (
            <li key={i}>
              <code>{one.field || "the plan"}</code> {one.rule}
              {one.value && (
                <>
                  {" "}
                  — found <code>{one.value}</code>
                </>
              )}
            </li>
          ))}
        </ul>
      </div>
    );
  }
  return (
    <div role="status">
      <p>
        <Badge tone="good">valid</Badge>
      </p>
      {checked.facts && <Facts facts={checked.facts} tasks={tasks} />}
    </div>
  );
}

function Facts({ facts, tasks }: { facts: PlanFacts; tasks: string[] }) {
  const rows: [string, string][] = [
    ["duration", duration(facts.duration_us)],
    facts.users != null
      ? ["users", count(facts.users)]
      : ["planned arrivals", count(facts.planned)],
    ["peak rate", facts.users != null ? "closed loop" : perSecond(facts.peak_rps)],
    ...(facts.users != null ? [] : facts.planned_per_task).map((n, at): [string, string] => [
      `arrivals of ${tasks[at] ?? `task ${at}`}`,
      count(n),
    ]),
  ];
  return (
    <dl class="list">
      {rows.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

interface OptionFieldsProps {
  options: RunOptions;
  onChange: (options: RunOptions) => void;
}

function OptionFields({ options, onChange }: OptionFieldsProps) {
  const fields: [keyof RunOptions, string, string][] = [
    ["want", "agents", String(me.value?.agents ?? 1)],
    ["min", "min. agents", "same"],
    ["wait", "wait for agents, s", "default"],
    ["seed", "seed", "random"],
  ];
  return (
    <div class="fields">
      {fields.map(([key, label, placeholder]) => (
        <label key={key} class="field">
          <span>{label}</span>
          <input
            inputMode="numeric"
            pattern="[0-9]*"
            value={options[key]}
            placeholder={placeholder}
            onInput={(event) => onChange({ ...options, [key]: event.currentTarget.value })}
          />
        </label>
      ))}
    </div>
  );
}

interface StartButtonProps {
  plan: unknown;
  options: RunOptions;
  secrets: Record<string, string>;
  facts: PlanFacts | null;
  ready: boolean;
}

function StartButton({ plan, options, secrets, facts, ready }: StartButtonProps) {
  const [key, setKey] = useState<string | null>(null);
  const [waiting, setWaiting] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const target = (plan as { target?: unknown } | null)?.target;
  const start = async () => {
    setWaiting(true);
    try {
      // The same key while the dialog is open: a repeated request starts no second run.
      const headers = { "idempotency-key": key! };
      const answer = await post<{ run: string }>("/runs", request(plan, options, secrets), headers);
      navigate(runRoute(answer.run));
    } catch (error) {
      setProblem(asProblem(error));
      setWaiting(false);
    }
  };
  const open = () => {
    setProblem(null);
    setKey(crypto.randomUUID());
  };
  return (
    <>
      <button type="button" class="primary large" disabled={!ready} onClick={open}>
        Start…
      </button>
      {key && (
        <Dialog
          title="Start the run?"
          confirm="Start"
          waiting={waiting}
          onConfirm={() => void start()}
          onCancel={() => setKey(null)}
        >
          <p>
            {facts?.users == null
              ? `${count(facts?.planned)} arrivals, up to ${perSecond(facts?.peak_rps)}`
              : `${count(facts.users)} users`}
            {" for "}
            {duration(facts?.duration_us)} to <code>{String(target)}</code>.
          </p>
          <p class="quiet">Only test systems that you are allowed to load.</p>
          {problem && <Failed problem={problem} />}
        </Dialog>
      )}
    </>
  );
}

function request(plan: unknown, options: RunOptions, secrets: Record<string, string>): object {
  const number = (text: string) => (/^\d+$/.test(text.trim()) ? Number(text) : null);
  const want = number(options.want);
  const min = number(options.min);
  const wait = number(options.wait);
  const seed = number(options.seed);
  return {
    plan,
    // By default the gateway uses its own agents.
    ...(want === null
      ? {}
      : {
          agents: {
            want,
            ...(min === null ? {} : { min }),
            ...(wait === null ? {} : { wait_us: wait * 1e6 }),
          },
        }),
    ...(seed === null ? {} : { seed }),
    ...(Object.keys(secrets).length > 0 ? { secrets } : {}),
  };
}
