// Where the change of a percentile comes from: contributions of requests and their phases.

import type { Comparison, Explanation } from "../../api/_generated/comparison";
import { Panel, Scroll } from "../../components/layout/panel";
import { spaced } from "../../format/labels";
import { clock, percent, plain } from "../../format/numbers";

/** Share of a change below which a request or a phase is not listed. */
const SMALL = 0.01;

interface ExplainedProps {
  /** Names of the runs, the baseline first. */
  labels: string[];
  comparisons: Comparison[];
}

/** A table of contributions; nothing where no percentile is better or worse. */
export function Explained({ labels, comparisons }: ExplainedProps) {
  if (comparisons.every((one) => one.explained.length === 0)) return null;
  return (
    <Panel title="Where changes come from" note="contributions add up to the change" wide>
      <Scroll label="Where changes come from">
        <table>
          <thead>
            <tr>
              <th>request</th>
              <th class="n">contribution</th>
              <th class="n" title="Requests that moved beyond the better value, of all requests">
                requests
              </th>
              <th>phases</th>
              <th>due</th>
            </tr>
          </thead>
          {comparisons.flatMap((comparison, at) =>
            comparison.explained.map((one) => (
              <Contributions
                key={`${comparison.current} ${one.task ?? ""} ${one.figure}`}
                title={labels[at + 1] ?? comparison.current}
                {...{ one }}
              />
            )),
          )}
        </table>
      </Scroll>
    </Panel>
  );
}

function Contributions({ title, one }: { title: string; one: Explanation }) {
  const shift = one.current_ms - one.baseline_ms;
  const matters = (ms: number, of: number) => Math.abs(ms) >= SMALL * Math.abs(of);
  const listed = one.calls.filter((call) => matters(call.ms, shift));
  const rest = shift - one.mix_ms - listed.reduce((sum, call) => sum + call.ms, 0);
  const figure = one.figure.replace("_ms", "") + (one.task == null ? "" : ` of ${one.task}`);
  return (
    <tbody>
      <tr class="task">
        <th scope="rowgroup" colSpan={5}>
          {figure} {signed(shift)} ms <small>{title}</small>
        </th>
      </tr>
      {listed.map((call) => (
        <tr key={`${call.task} ${call.call}`} class="call">
          <th scope="row">
            {call.call} <small>{call.task}</small>
          </th>
          <td class="n">{signed(call.ms)} ms</td>
          <td class="n">{share(call.requests_pct)}</td>
          <td>
            {[...Object.entries(call.phases), ["no phase", call.other_ms] as const]
              .filter(([, ms]) => matters(ms, call.ms))
              .map(([phase, ms]) => `${spaced(phase)} ${signed(ms)} ms`)
              .join(", ")}
          </td>
          <td>
            {call.during_us
              ? call.during_us.map((us) => clock(us / 1e6)).join(" to ")
              : "all the time"}
          </td>
        </tr>
      ))}
      {matters(rest, shift) && <Rest name="other requests" ms={rest} />}
      {matters(one.mix_ms, shift) && <Rest name="another mix of requests" ms={one.mix_ms} />}
    </tbody>
  );
}

function Rest({ name, ms }: { name: string; ms: number }) {
  return (
    <tr class="call">
      <th scope="row">{name}</th>
      <td class="n">{signed(ms)} ms</td>
      <td colSpan={3} />
    </tr>
  );
}

const signed = (value: number) => `${value > 0 ? "+" : "−"}${plain(Math.abs(value))}`;
const share = (value: number) => `${value < 0 ? "−" : "+"}${percent(Math.abs(value))}`;
