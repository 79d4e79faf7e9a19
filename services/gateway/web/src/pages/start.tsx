// Start a plan: it is checked while it is written; the load begins once that was confirmed.

import { useEffect, useState } from "preact/hooks";
import type { Checked, PlanFacts } from "../api/answers";
import type { Problem } from "../api/http";
import { get, post } from "../api/http";
import { asProblem, useAsked } from "../api/resource";
import { go } from "../app/navigation";
import { runRoute } from "../app/route";
import { me } from "../app/session";
import { Dialog } from "../components/controls/dialog";
import { Badge } from "../components/layout/icons";
import { Empty, Failed, Panel } from "../components/layout/panel";
import { count, perSecond, span } from "../format/numbers";
import { read, secretsOf, tasksOf } from "../data/plan";

const REST_MS = 400;

interface Wanted {
  want: string;
  min: string;
  wait: string;
  seed: string;
}

export function Start({ from }: { from: string | null }) {
  const [text, setText] = useState("");
  const [problem, setProblem] = useState<Problem | null>(null);
  const [wanted, setWanted] = useState<Wanted>({ want: "", min: "", wait: "", seed: "" });
  const [secrets, setSecrets] = useState<Record<string, string>>({});
  useEffect(() => {
    if (from === null) return;
    get<{ plan: unknown }>(`/runs/${encodeURIComponent(from)}/plan`)
      .then((answer) => setText(JSON.stringify(answer.plan, null, 2)))
      .catch((error: unknown) => setProblem(asProblem(error)));
  }, [from]);
  const parsed = text.trim() === "" ? null : read(text);
  const plan = parsed && "plan" in parsed ? parsed.plan : null;
  const names = secretsOf(plan);
  const check = useRestedCheck(plan === null ? null : text);
  if (me.value && !me.value.can_start) {
    return (
      <Empty title="Runs are not started from here">
        <p>
          This gateway reads logs only. Start a run with <code>loadpilot run</code>; it appears in
          the list at once.
        </p>
      </Empty>
    );
  }
  const sound = check.data?.problems.length === 0;
  const complete = names.every((name) => secrets[name]);
  return (
    <>
      <div class="title">
        <h1>Start a plan</h1>
      </div>
      {problem && <Failed problem={problem} />}
      <div class="grid start">
        <Panel
          title="Plan"
          note={from ? `that of run ${from}` : "JSON"}
          aside={<Open onText={setText} />}
        >
          <label class="unseen" for="plan">
            Plan, as JSON
          </label>
          <textarea
            id="plan"
            spellcheck={false}
            value={text}
            rows={22}
            placeholder={HINT}
            onInput={(event) => setText(event.currentTarget.value)}
          />
          <p class="quiet">
            <code>loadpilot run scenario.py --dry-run</code> prints the plan of a scenario.
          </p>
        </Panel>
        <div class="stack">
          <Panel title="Check" busy={check.loading && plan !== null}>
            {parsed === null && <p class="quiet">Nothing to check yet.</p>}
            {parsed && "problem" in parsed && (
              <p class="notice bad" role="alert">
                This is not JSON: {parsed.problem}
              </p>
            )}
            {check.problem && <Failed problem={check.problem} />}
            {check.data && <Result checked={check.data} tasks={tasksOf(plan)} />}
          </Panel>
          <Panel title="How it is run">
            <Numbers wanted={wanted} onChange={setWanted} />
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
            <Begin
              {...{ plan, wanted, secrets }}
              facts={check.data?.facts ?? null}
              ready={sound && complete && plan !== null}
            />
          </Panel>
        </div>
      </div>
    </>
  );
}

const HINT = `{
  "schema": "…",
  "scenario": "Shop",
  "target": "http://127.0.0.1:8000",
  …
}`;

function useRestedCheck(text: string | null) {
  const [rested, setRested] = useState<string | null>(null);
  useEffect(() => {
    const timer = setTimeout(() => setRested(text), REST_MS);
    return () => clearTimeout(timer);
  }, [text]);
  const asked = useAsked<Checked>(rested, (signal) =>
    post<Checked>("/plans/check", { plan: JSON.parse(rested!) as unknown }, {}, signal),
  );
  const current = rested !== null && rested === text;
  return { ...asked, data: current ? asked.data : null, problem: current ? asked.problem : null };
}

function Open({ onText }: { onText: (text: string) => void }) {
  return (
    <label class="button">
      Open a file
      <input
        class="unseen"
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

interface ResultProps {
  checked: Checked;
  tasks: string[];
}

function Result({ checked, tasks }: ResultProps) {
  if (checked.problems.length > 0) {
    return (
      <div role="alert">
        <p>
          <Badge tone="bad">{checked.problems.length} to mend</Badge>
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
        <Badge tone="good">sound</Badge>
      </p>
      {checked.facts && <Facts facts={checked.facts} tasks={tasks} />}
    </div>
  );
}

function Facts({ facts, tasks }: { facts: PlanFacts; tasks: string[] }) {
  const rows: [string, string][] = [
    ["lasts", span(facts.duration_us)],
    facts.users != null
      ? ["users", count(facts.users)]
      : ["arrivals planned", count(facts.planned)],
    ["peak rate", facts.users != null ? "closed loop" : perSecond(facts.peak_rps)],
    ...(facts.users != null ? [] : facts.planned_per_task).map((n, at): [string, string] => [
      `of ${tasks[at] ?? `task ${at}`}`,
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

interface NumbersProps {
  wanted: Wanted;
  onChange: (wanted: Wanted) => void;
}

function Numbers({ wanted, onChange }: NumbersProps) {
  const fields: [keyof Wanted, string, string][] = [
    ["want", "agents", String(me.value?.agents ?? 1)],
    ["min", "at least", "as many"],
    ["wait", "wait for them, s", "usual"],
    ["seed", "seed", "drawn"],
  ];
  return (
    <div class="fields">
      {fields.map(([key, label, placeholder]) => (
        <label key={key} class="field">
          <span>{label}</span>
          <input
            inputMode="numeric"
            pattern="[0-9]*"
            value={wanted[key]}
            placeholder={placeholder}
            onInput={(event) => onChange({ ...wanted, [key]: event.currentTarget.value })}
          />
        </label>
      ))}
    </div>
  );
}

interface BeginProps {
  plan: unknown;
  wanted: Wanted;
  secrets: Record<string, string>;
  facts: PlanFacts | null;
  ready: boolean;
}

function Begin({ plan, wanted, secrets, facts, ready }: BeginProps) {
  const [key, setKey] = useState<string | null>(null);
  const [waiting, setWaiting] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const target = (plan as { target?: unknown } | null)?.target;
  const start = async () => {
    setWaiting(true);
    try {
      // The key stays the same while the dialog is open: asked twice, it is one run.
      const headers = { "idempotency-key": key! };
      const answer = await post<{ run: string }>("/runs", request(plan, wanted, secrets), headers);
      go(runRoute(answer.run));
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
          title="Start the load?"
          yes="Start"
          waiting={waiting}
          onYes={() => void start()}
          onNo={() => setKey(null)}
        >
          <p>
            {facts?.users == null
              ? `${count(facts?.planned)} arrivals, up to ${perSecond(facts?.peak_rps)}`
              : `${count(facts.users)} users`}
            , for {span(facts?.duration_us)}, go to <code>{String(target)}</code>.
          </p>
          <p class="quiet">Only load systems that are yours to load.</p>
          {problem && <Failed problem={problem} />}
        </Dialog>
      )}
    </>
  );
}

function request(plan: unknown, wanted: Wanted, secrets: Record<string, string>): object {
  const number = (text: string) => (/^\d+$/.test(text.trim()) ? Number(text) : null);
  const want = number(wanted.want);
  const min = number(wanted.min);
  const wait = number(wanted.wait);
  const seed = number(wanted.seed);
  return {
    plan,
    // Without a number of agents, the gateway takes its own.
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
