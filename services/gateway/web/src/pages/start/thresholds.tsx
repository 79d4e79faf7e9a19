// The thresholds of the run as rows: metric, part of the run, side that passes, limit.

import type { Threshold } from "../../api/answers";
import { Icon } from "../../components/layout/icons";
import { joinKey, splitKey } from "../../data/plan_changes";
import { metricLabel } from "../../format/labels";
import { OPERATORS, operatorSign, unit } from "../../format/thresholds";
import { type FormProps, Mistake } from "./field";

const FIRST_METRIC = "p99_ms";

export function Thresholds({ form, changes, change, problems }: FormProps) {
  const thresholds = changes.thresholds ?? form?.thresholds ?? [];
  const metrics = form?.metrics ?? [];
  const set = (at: number, part: Partial<Threshold>) =>
    change({
      thresholds: thresholds.map((threshold, i) =>
        i === at ? { ...threshold, ...part } : threshold,
      ),
    });
  const add = () => {
    const known = metrics.find(({ key }) => !thresholds.some((threshold) => threshold.key === key));
    const key = thresholds.some((threshold) => threshold.key === FIRST_METRIC)
      ? (known?.key ?? FIRST_METRIC)
      : FIRST_METRIC;
    const operator = metrics.find((metric) => metric.key === key)?.operator ?? "<=";
    change({ thresholds: [...thresholds, { key, operator, limit: "" }] });
  };
  return (
    <>
      {thresholds.length === 0 && (
        <p class="quiet">No thresholds: only an incomplete run can fail.</p>
      )}
      <ul class="threshold-rows">
        {thresholds.map((threshold, at) => (
          <ThresholdRow
            key={at}
            number={at + 1}
            threshold={threshold}
            tasks={form?.tasks ?? []}
            metrics={metrics}
            problem={problems.find(
              ({ field }) =>
                field === `thresholds[${at}]` || field === `thresholds.${threshold.key}`,
            )}
            onChange={(part) => set(at, part)}
            onRemove={() => change({ thresholds: thresholds.filter((_, i) => i !== at) })}
          />
        ))}
      </ul>
      <button type="button" onClick={add}>
        <Icon name="plus" /> Add a threshold
      </button>
    </>
  );
}

interface ThresholdRowProps {
  number: number;
  threshold: Threshold;
  tasks: string[];
  metrics: { key: string; operator: string }[];
  problem: { field: string; rule: string; value: string } | undefined;
  onChange: (part: Partial<Threshold>) => void;
  onRemove: () => void;
}

function ThresholdRow({
  number,
  threshold,
  tasks,
  metrics,
  problem,
  onChange,
  onRemove,
}: ThresholdRowProps) {
  const { task, metric } = splitKey(threshold.key);
  const own = metrics.every(({ key }) => key !== metric);
  const name = `threshold ${number}`;
  return (
    <li class={problem ? "bad" : ""}>
      <select
        aria-label={`Metric of ${name}`}
        value={metric}
        onChange={(event) => {
          const chosen = metrics.find(({ key }) => key === event.currentTarget.value);
          if (chosen) onChange({ key: joinKey(task, chosen.key), operator: chosen.operator });
        }}
      >
        {own && <option value={metric}>{metric}</option>}
        {metrics.map(({ key }) => (
          <option key={key} value={key}>
            {metricLabel(key)}
          </option>
        ))}
      </select>
      <select
        aria-label={`Part of ${name}`}
        value={task}
        onChange={(event) => onChange({ key: joinKey(event.currentTarget.value, metric) })}
      >
        <option value="">whole run</option>
        {tasks.map((one) => (
          <option key={one} value={one}>
            task {one}
          </option>
        ))}
      </select>
      <select
        aria-label={`Side of ${name} that passes`}
        value={threshold.operator}
        onChange={(event) => onChange({ operator: event.currentTarget.value })}
      >
        {OPERATORS.map((operator) => (
          <option key={operator} value={operator}>
            {operatorSign(operator)}
          </option>
        ))}
      </select>
      <label class="with-unit">
        <input
          inputMode="decimal"
          aria-label={`Limit of ${name}`}
          aria-invalid={problem ? "true" : undefined}
          value={threshold.limit}
          onInput={(event) => onChange({ limit: event.currentTarget.value })}
        />
        {unit(metric)}
      </label>
      <button type="button" class="ghost" aria-label={`Remove ${name}`} onClick={onRemove}>
        <Icon name="close" />
      </button>
      {problem && <Mistake problem={problem} />}
    </li>
  );
}
