// A run as files to keep, as the gateway makes them.

import type { Report } from "../../api/_generated/report";

export function Downloads({ run, over }: { run: Report["run"]; over: boolean }) {
  const path = `/api/v1/runs/${encodeURIComponent(run.id)}`;
  return (
    <details class="downloads">
      <summary class="button">Download</summary>
      <ul>
        <li>
          <a href={`${path}/page`} download={`${run.id}.html`}>
            Report as a page (.html)
          </a>
        </li>
        <li>
          <a href={path} download={`${run.id}.json`}>
            Report with all figures (.json)
          </a>
        </li>
        {over && (
          <li>
            <a href={`${path}/file`} download={`${run.id}.lprun`}>
              Run for LoadPilot (.lprun)
            </a>
          </li>
        )}
      </ul>
    </details>
  );
}
