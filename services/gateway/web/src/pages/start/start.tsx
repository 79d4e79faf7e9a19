// Starts a run: a scenario, its target, load and thresholds. The gateway changes and checks the
// plan; starting is confirmed.

import { useEffect, useState } from "preact/hooks";
import type { Adjusted, CompiledFile, Scenarios } from "../../api/answers";
import { post } from "../../api/http";
import { useQuery, useResource } from "../../api/resource";
import type { FileScenario } from "../../app/route";
import { me } from "../../app/session";
import { Empty, Failed, Panel } from "../../components/layout/panel";
import { type Changes, type Source, adjustBody, jsonProblem } from "../../data/plan_changes";
import { Advanced } from "./options";
import { Check } from "./check";
import { Thresholds } from "./thresholds";
import { ScenarioSelect } from "./scenarios";
import { Settings } from "./settings";

const DEBOUNCE_MS = 250;

interface StartProps {
  from: string | null;
  file?: FileScenario;
}

export function Start({ from, file }: StartProps) {
  if (me.value && !me.value.can_start) {
    const isViewer = me.value.role === "viewer" && me.value.key;
    return (
      <Empty title="Runs cannot be started from here">
        <p>
          {isViewer
            ? "Your key has the role viewer; runner and admin may start runs. "
            : "This gateway is read-only. "}
          Start a run with <code>loadpilot run</code>; it appears in the list at once.
        </p>
      </Empty>
    );
  }
  // Another scenario is another form: nothing of the old one stays.
  return <Form key={`${from} ${file?.file} ${file?.scenario}`} from={from} file={file} />;
}

function Form({ from, file }: { from: string | null; file: FileScenario | undefined }) {
  // Content of the plan's text area, and its last content that was JSON.
  const [draft, setDraft] = useState<string | null>(null);
  const [text, setText] = useState<string | null>(null);
  const [changes, setChanges] = useState<Changes>({});
  const [secrets, setSecrets] = useState<Record<string, string>>({});
  const { data: scenarios } = useResource<Scenarios>("/scenarios");
  const compiled = useQuery<CompiledFile>(file ? JSON.stringify(file) : null, (signal) =>
    post<CompiledFile>("/scenarios/plan", file, {}, signal),
  );
  const compiling = file !== undefined && compiled.loading;
  const source: Source | null = sourceOf(text ?? compiled.data?.plan ?? null, from);
  const broken = draft === null || isBlank(draft) ? null : jsonProblem(draft);
  const body = source === null ? null : adjustBody(source, changes);
  const adjusted = useAdjusted(body);
  const change = (part: Partial<Changes>) => {
    setDraft(null);
    setChanges({ ...changes, ...part });
  };
  const edit = (written: string) => {
    setDraft(written);
    if (!isBlank(written) && jsonProblem(written) !== null) return;
    setText(isBlank(written) ? null : written);
    setChanges({});
  };
  const form = adjusted.data?.form ?? null;
  const plan = adjusted.data?.plan ?? "";
  const found = broken === null ? (adjusted.data?.problems ?? []) : [];
  const shared = { changes, change, form, problems: found };
  return (
    <>
      <div class="title">
        <h1>Start a run</h1>
      </div>
      <div class="grid start">
        <div class="stack">
          <Panel title="Scenario" busy={compiling}>
            <ScenarioSelect
              scenarios={scenarios}
              from={text === null ? from : null}
              file={text === null ? file : undefined}
              own={text !== null}
            />
            {compiled.problem && <Failed problem={compiled.problem} again={compiled.reload} />}
          </Panel>
          {form && (
            <fieldset class="stack" disabled={broken !== null}>
              <Panel title="Load">
                <Settings {...shared} />
              </Panel>
              <Panel title="Thresholds" note="each one that does not hold fails the run">
                <Thresholds {...shared} />
              </Panel>
            </fieldset>
          )}
          <Advanced
            {...shared}
            plan={plan}
            text={draft ?? plan}
            broken={broken}
            onText={edit}
            open={source === null && file === undefined}
          />
        </div>
        <Check
          {...shared}
          adjusted={adjusted}
          pending={compiling || (body !== null && !adjusted.current)}
          broken={broken !== null}
          scenarios={scenarios}
          compiled={compiled.data}
          file={file}
          from={from}
          secrets={secrets}
          onSecrets={setSecrets}
          ready={body !== null && adjusted.current}
        />
      </div>
    </>
  );
}

function isBlank(text: string): boolean {
  return text.trim() === "";
}

function sourceOf(text: string | null, from: string | null): Source | null {
  if (text !== null) return { text };
  return from === null ? null : { run: from };
}

/** The answer to the newest body; until it arrives, the answer before it stays. */
function useAdjusted(body: string | null) {
  const [settled, setSettled] = useState(body);
  useEffect(() => {
    // The first plan is sent at once; later ones only when the user pauses typing.
    const timer = setTimeout(() => setSettled(body), settled === null ? 0 : DEBOUNCE_MS);
    return () => clearTimeout(timer);
  }, [body]);
  const answer = useQuery<Adjusted>(settled, (signal) =>
    post<Adjusted>("/plans/adjust", settled!, {}, signal),
  );
  const current = settled === body && !answer.loading && answer.problem === null;
  return { ...answer, data: body === null ? null : answer.data, current };
}
