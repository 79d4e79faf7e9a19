// The run in words, the mistakes in its settings, and its start with a confirmation.

import { useState } from "preact/hooks";
import type { Adjusted, CompiledFile, Form, Scenarios } from "../../api/answers";
import type { FieldProblem, Problem } from "../../api/http";
import { post, queryString } from "../../api/http";
import { type Resource, asProblem } from "../../api/resource";
import { Link, navigate } from "../../app/navigation";
import { type FileScenario, runRoute } from "../../app/route";
import { Dialog } from "../../components/controls/dialog";
import { Badge } from "../../components/layout/icons";
import { Copy, Failed, Panel } from "../../components/layout/panel";
import { runCommand, startBody } from "../../data/plan_changes";
import { count, duration } from "../../format/numbers";
import { Mistake, inputOf } from "./field";

/** Bytes of stored bodies that the gateway takes into another run; as in its limits. */
const POST_BYTES_MAX = 32 * 1024 * 1024;

interface CheckProps {
  adjusted: Resource<Adjusted>;
  pending: boolean;
  /** Whether the text of the plan is no JSON: then `adjusted` is of the text before it. */
  broken: boolean;
  problems: FieldProblem[];
  scenarios: Scenarios | null;
  compiled: CompiledFile | null;
  file: FileScenario | undefined;
  /** The run whose plan it is: its log has the files beside the plan. */
  from: string | null;
  secrets: Record<string, string>;
  onSecrets: (secrets: Record<string, string>) => void;
  ready: boolean;
}

export function Check(props: CheckProps) {
  const { adjusted, pending, broken, problems, compiled, from } = props;
  const { secrets, onSecrets, ready } = props;
  const answer = adjusted.data;
  const form = answer?.form ?? null;
  const others = problems.filter(({ field }) => inputOf(field) === null);
  const missing = (form?.secrets ?? []).filter((name) => !secrets[name]);
  const beside = answer && form ? onlyByCommand(answer, form, compiled, from) : null;
  const mistakes = problems.length + (broken ? 1 : 0);
  const startable = ready && mistakes === 0 && missing.length === 0 && beside === null;
  return (
    <Panel title="What will happen" busy={pending}>
      {answer === null && !adjusted.problem && !pending && (
        <p class="quiet">Choose a scenario, or paste a plan under Advanced.</p>
      )}
      {adjusted.problem && <Failed problem={adjusted.problem} again={adjusted.reload} />}
      {answer && (
        <div class="outlook" role="status">
          {mistakes === 0 ? (
            <>
              <Badge tone="good">valid</Badge> {outlook(answer)}
            </>
          ) : (
            <Badge tone="bad">
              {count(mistakes)} {mistakes === 1 ? "problem" : "problems"}
            </Badge>
          )}
        </div>
      )}
      {others.length > 0 && (
        <ul class="problems">
          {others.map((one, at) => (
            <li key={at}>
              <code>{one.field || "the plan"}</code> <Mistake problem={one} />
            </li>
          ))}
        </ul>
      )}
      {(form?.secrets ?? []).map((name) => (
        <label key={name} class="field">
          <span>
            Secret <code>{name}</code>
          </span>
          <input
            type="password"
            autocomplete="off"
            value={secrets[name] ?? ""}
            onInput={(event) => onSecrets({ ...secrets, [name]: event.currentTarget.value })}
          />
          {!secrets[name] && (
            <small>needed by the plan; it goes to the agents, not to the log</small>
          )}
        </label>
      ))}
      {form && beside !== null && <ByCommand why={beside} form={form} {...props} />}
      {answer && (
        <StartButton
          answer={answer}
          secrets={secrets}
          bodies={compiled?.bodies ?? {}}
          bodiesOf={form && form.objects.length > 0 ? from : null}
          ready={startable}
        />
      )}
    </Panel>
  );
}

/** "1,500 arrivals in 30 s, peak 50/s, 2 load generators". */
function outlook({ facts, form, agents }: Adjusted): string {
  if (!facts || !form || !agents) return "";
  const load =
    facts.users === null
      ? `${count(facts.planned)} arrivals in ${duration(facts.duration_us)}, peak ${form.rate}`
      : `${count(facts.users)} users for ${duration(facts.duration_us)}`;
  const generators = agents.want === 1 ? "1 load generator" : `${agents.want} load generators`;
  return `${load}, ${generators}`;
}

/** Why a page cannot start this run, if so. */
function onlyByCommand(
  { played_by_command }: Adjusted,
  form: Form,
  compiled: CompiledFile | null,
  from: string | null,
): string | null {
  if (compiled && compiled.hooks.length > 0) {
    return `The command plays its hooks: ${compiled.hooks.join("; ")}.`;
  }
  if (played_by_command || form.prepared) {
    return "The command plays its setup and teardown, or prepares its users.";
  }
  const posted = compiled?.bodies ?? {};
  const absent = form.objects.filter(({ sha256 }) => !(sha256 in posted));
  const bytes = absent.reduce((sum, object) => sum + object.bytes, 0);
  if (absent.length === 0 || (from !== null && bytes <= POST_BYTES_MAX)) return null;
  const files = absent.length === 1 ? "a file" : `${count(absent.length)} files`;
  const size = from === null ? "" : `, ${count(bytes)} bytes,`;
  const kinds = "Python code, rows of a feed or large bodies";
  return `Its plan refers to ${files}${size} beside it: ${kinds}.`;
}

interface ByCommandProps {
  why: string;
  form: Form;
  scenarios: Scenarios | null;
  compiled: CompiledFile | null;
  file: FileScenario | undefined;
}

function ByCommand({ why, form, scenarios, compiled, file }: ByCommandProps) {
  const known = scenarios?.files?.find((one) => one.scenarios.includes(form.scenario));
  const command = runCommand(file?.file ?? known?.file ?? null, form.scenario, form.target);
  return (
    <div class="notice by-command">
      <p>{why} Start it with the command, which takes no change made here but the target:</p>
      <p class="flags">
        <code>{command}</code>
        <Copy text={command} label="Copy the command" />
      </p>
      {known && !compiled && (
        <p>
          Or{" "}
          <Link
            to={{
              page: "start",
              from: null,
              file: { file: known.file, scenario: form.scenario },
            }}
          >
            use the file {known.file}
          </Link>
          .
        </p>
      )}
    </div>
  );
}

interface StartButtonProps {
  answer: Adjusted;
  secrets: Record<string, string>;
  bodies: Record<string, string>;
  bodiesOf: string | null;
  ready: boolean;
}

function StartButton({ answer, secrets, bodies, bodiesOf, ready }: StartButtonProps) {
  const [key, setKey] = useState<string | null>(null);
  const [waiting, setWaiting] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const start = async () => {
    setWaiting(true);
    try {
      // The same key while the dialog is open: a repeated request starts no second run.
      const headers = { "idempotency-key": key! };
      const body = startBody(
        { plan: answer.plan!, agents: answer.agents!, seed: answer.seed },
        secrets,
        bodies,
      );
      const path = `/runs${queryString({ bodies_of: bodiesOf })}`;
      const started = await post<{ run: string }>(path, body, headers);
      navigate(runRoute(started.run));
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
            {outlook(answer)}, to <code>{answer.form?.target}</code>.
          </p>
          <p class="quiet">Only test systems that you are allowed to load.</p>
          {problem && <Failed problem={problem} />}
        </Dialog>
      )}
    </>
  );
}
