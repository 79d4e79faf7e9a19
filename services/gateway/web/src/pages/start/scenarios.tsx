// The choice of a scenario: of a past run, or of a file in the directory of `loadpilot ui`.

import type { Scenarios } from "../../api/answers";
import { navigate } from "../../app/navigation";
import type { FileScenario } from "../../app/route";
import { dateTime } from "../../format/numbers";
import { verdictLabel } from "../../format/labels";
import { fileOptions } from "./file_options";

interface ScenarioSelectProps {
  scenarios: Scenarios | null;
  from: string | null;
  file: FileScenario | undefined;
  /** Whether the plan was pasted, opened or edited. */
  own: boolean;
}

/** Values of the options are JSON, so that any name can be one. */
function valueOf(from: string | null, file: FileScenario | undefined): string {
  return file ? JSON.stringify([file.file, file.scenario]) : from === null ? "" : `run ${from}`;
}

export function ScenarioSelect({ scenarios, from, file, own }: ScenarioSelectProps) {
  const past = scenarios?.past ?? [];
  const files = scenarios?.files ?? [];
  const isListed = past.some(({ run }) => run === from);
  const choose = (value: string) => {
    if (value.startsWith("run ")) navigate({ page: "start", from: value.slice(4) });
    else if (value !== "") {
      const [name, scenario] = JSON.parse(value) as [string, string | null];
      navigate({ page: "start", from: null, file: { file: name, scenario } });
    }
  };
  return (
    <div class="field">
      <select
        aria-label="Scenario"
        value={valueOf(from, file)}
        onChange={(event) => choose(event.currentTarget.value)}
      >
        <option value="">{own ? "The plan below" : "Choose a scenario"}</option>
        {from !== null && !isListed && <option value={`run ${from}`}>Plan of run {from}</option>}
        {files.length > 0 && (
          <optgroup label="Files of this folder">
            {files.flatMap(fileOptions).map(([text, file]) => (
              <option key={valueOf(null, file)} value={valueOf(null, file)}>
                {text}
              </option>
            ))}
          </optgroup>
        )}
        {past.length > 0 && (
          <optgroup label="Past runs">
            {past.map(({ scenario, run, created_at, verdict }) => (
              <option key={run} value={`run ${run}`}>
                {scenario} · {verdict ? `${verdictLabel(verdict).text}, ` : ""}
                {dateTime(created_at)}
              </option>
            ))}
          </optgroup>
        )}
      </select>
      {scenarios && past.length === 0 && files.length === 0 && (
        <small>No scenario is known yet: paste or open a plan below.</small>
      )}
    </div>
  );
}
