// A slider for one point in time, with its label and its value as text.

interface TimeSliderProps {
  label: string;
  valueText: string;
  max: number;
  step: number;
  value: number;
  onMove: (us: number) => void;
}

export function TimeSlider({ label, valueText, max, step, value, onMove }: TimeSliderProps) {
  return (
    <label class="time-slider">
      <span>{label}</span>
      <input
        type="range"
        min={0}
        max={max}
        step={step}
        value={value}
        aria-valuetext={valueText}
        onInput={(event) => onMove(Number(event.currentTarget.value))}
      />
      <output>{valueText}</output>
    </label>
  );
}
