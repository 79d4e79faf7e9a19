// One time on a slider, with its name before and its words after.

interface SpanProps {
  label: string;
  says: string;
  max: number;
  step: number;
  value: number;
  onMove: (us: number) => void;
}

export function Span({ label, says, max, step, value, onMove }: SpanProps) {
  return (
    <label class="span">
      <span>{label}</span>
      <input
        type="range"
        min={0}
        max={max}
        step={step}
        value={value}
        aria-valuetext={says}
        onInput={(event) => onMove(Number(event.currentTarget.value))}
      />
      <output>{says}</output>
    </label>
  );
}
