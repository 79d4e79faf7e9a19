// A slider for one point in time, with its label and its value as text.

import { useThrottled } from "./throttle";

interface TimeSliderProps {
  label: string;
  /** The value as text. */
  format: (us: number) => string;
  max: number;
  step: number;
  value: number;
  onMove: (us: number) => void;
}

export function TimeSlider({ label, format, max, step, value, onMove }: TimeSliderProps) {
  const [moved, ask] = useThrottled(onMove);
  const us = moved ? moved.value : value;
  return (
    <label class="time-slider">
      <span>{label}</span>
      <input
        type="range"
        min={0}
        max={max}
        step={step}
        value={us}
        aria-valuetext={format(us)}
        onInput={(event) => ask(Number(event.currentTarget.value))}
      />
      <output>{format(us)}</output>
    </label>
  );
}
