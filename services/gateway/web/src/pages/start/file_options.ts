// The entries of scenario files in the choice of a scenario.

import type { ScenarioFile } from "../../api/answers";
import type { FileScenario } from "../../app/route";

/** The entries of a file: all its user types together, and each scenario alone. */
export function fileOptions({ file, scenarios, types }: ScenarioFile): [string, FileScenario][] {
  const all: FileScenario = { file, scenario: null };
  if (scenarios.length === 0) return [[`${file} · cannot be parsed`, all]];
  const each = scenarios.map((name): [string, FileScenario] => [
    `${name}${types.length > 0 ? " alone" : ""} · ${file}`,
    { file, scenario: name },
  ]);
  return types.length > 0 ? [[`${types.join(" + ")} · ${file}`, all], ...each] : each;
}
