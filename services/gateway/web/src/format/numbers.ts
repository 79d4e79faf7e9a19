// Figures as text: three significant digits with a unit.
// A value that was not measured is a dash, never a number.

export const NOT_MEASURED = "–";

const WHOLE = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

type Maybe = number | null | undefined;

function isMissing(value: Maybe): value is null | undefined {
  return value === null || value === undefined || !Number.isFinite(value);
}

/** 1234567 -> "1,234,567". */
export function count(value: Maybe): string {
  return isMissing(value) ? NOT_MEASURED : WHOLE.format(value);
}

/** 1234567 -> "1.23 M": for axes and tiles, which have no room for the whole number. */
export function compact(value: Maybe): string {
  if (isMissing(value)) return NOT_MEASURED;
  const steps: [number, string][] = [
    [1e9, " G"],
    [1e6, " M"],
    [1e4, " k"],
  ];
  for (const [least, unit] of steps) {
    if (Math.abs(value) >= least) return digits(value / (least === 1e4 ? 1e3 : least)) + unit;
  }
  return Number.isInteger(value) ? WHOLE.format(value) : digits(value);
}

/** Three significant digits, without an exponent. */
export function digits(value: number): string {
  const size = Math.abs(value);
  if (size >= 1000) return WHOLE.format(value);
  const after = size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : size === 0 ? 0 : 3;
  const text = value.toFixed(after);
  // 99.96 rounds to 100.0: rounding into the next decade drops one decimal.
  return Math.abs(Number(text)) >= 10 ** (3 - after) ? value.toFixed(Math.max(0, after - 1)) : text;
}

/** Microseconds -> "283 µs", "2.68 ms", "1.20 s", "2 m 05 s". */
export function latency(us: Maybe): string {
  if (isMissing(us)) return NOT_MEASURED;
  if (us < 999.5) return `${digits(Math.round(us))} µs`;
  if (us < 999_500) return `${digits(us / 1e3)} ms`;
  if (us < 60_000_000) return `${digits(us / 1e6)} s`;
  return duration(us);
}

/** Microseconds -> "10 s", "1 m 30 s", "2 h 05 m". */
export function duration(us: Maybe): string {
  if (isMissing(us)) return NOT_MEASURED;
  const secs = Math.round(us / 1e6);
  if (us > 0 && us < 9_950_000) return `${trimmed(us / 1e6)} s`;
  if (secs < 60) return `${secs} s`;
  if (secs < 3600) return `${Math.floor(secs / 60)} m ${pad(secs % 60)} s`;
  return `${Math.floor(secs / 3600)} h ${pad(Math.floor((secs % 3600) / 60))} m`;
}

/** Seconds after the start, rounded to tenths -> "0:34", "12:05", "0:01.5", "1:02:03". */
export function clock(secs: Maybe): string {
  if (isMissing(secs)) return NOT_MEASURED;
  const tenths = Math.round(secs * 10);
  const whole = Math.floor(tenths / 10);
  const hours = Math.floor(whole / 3600);
  const minutes = Math.floor((whole % 3600) / 60);
  const rest = pad(whole % 60);
  const part = tenths % 10 > 0 ? `.${tenths % 10}` : "";
  return hours > 0 ? `${hours}:${pad(minutes)}:${rest}${part}` : `${minutes}:${rest}${part}`;
}

/** A rate per second. */
export function perSecond(value: Maybe): string {
  return isMissing(value) ? NOT_MEASURED : `${digits(value)}/s`;
}

/** A percentage; only zero looks like zero. */
export function percent(value: Maybe): string {
  if (isMissing(value)) return NOT_MEASURED;
  if (value > 0 && value < 0.01) return "<0.01 %";
  return `${value === 0 ? "0" : Math.abs(value) < 10 ? value.toFixed(2) : digits(value)} %`;
}

/** A share that passed, of two counts; only when none failed does it look like 100 %. */
export function passedShare(passed: number, failed: number): string {
  if (passed + failed === 0) return NOT_MEASURED;
  const share = (100 * passed) / (passed + failed);
  return failed > 0 && share > 99.99 ? "99.99 %" : `${share.toFixed(2)} %`;
}

/** A value in the unit of a scenario: its significant digits; only zero looks like zero. */
export function plain(value: Maybe): string {
  if (isMissing(value)) return NOT_MEASURED;
  if (Number.isInteger(value)) return WHOLE.format(value);
  const size = Math.abs(value);
  if (size < 0.001) return value.toPrecision(2);
  const places = size < 10 ? 3 : size < 100 ? 2 : 1;
  return new Intl.NumberFormat("en", { maximumFractionDigits: places }).format(value);
}

/** A difference in percent, with its sign. */
export function difference(value: Maybe): string {
  if (isMissing(value)) return NOT_MEASURED;
  if (Math.abs(value) < 0.005) return "±0 %";
  return (value > 0 ? "+" : "−") + percent(Math.abs(value));
}

export function bytes(value: Maybe): string {
  if (isMissing(value)) return NOT_MEASURED;
  const units = ["B", "kB", "MB", "GB", "TB"];
  let size = value;
  let unit = 0;
  while (size >= 1000 && unit < units.length - 1) {
    size /= 1000;
    unit += 1;
  }
  return `${unit === 0 ? WHOLE.format(size) : digits(size)} ${units[unit]}`;
}

/** Microseconds since 1970 -> local date and time, "2026-03-01 18:31:55 UTC−5". */
export function dateTime(us: Maybe): string {
  if (isMissing(us)) return NOT_MEASURED;
  const at = new Date(us / 1000);
  const day = `${at.getFullYear()}-${pad(at.getMonth() + 1)}-${pad(at.getDate())}`;
  const time = `${pad(at.getHours())}:${pad(at.getMinutes())}:${pad(at.getSeconds())}`;
  return `${day} ${time} ${zone(at)}`;
}

/** Microseconds since 1970 -> the value of a `datetime` attribute. */
export function isoTime(us: number): string {
  return new Date(us / 1000).toISOString();
}

/** The offset of the local time zone at a time, "UTC−5". */
function zone(at: Date): string {
  const minutes = Math.abs(at.getTimezoneOffset());
  if (minutes === 0) return "UTC";
  const sign = at.getTimezoneOffset() > 0 ? "−" : "+";
  const part = minutes % 60 === 0 ? "" : `:${pad(minutes % 60)}`;
  return `UTC${sign}${Math.floor(minutes / 60)}${part}`;
}

function trimmed(value: number): string {
  return String(Number(value.toFixed(1)));
}

function pad(value: number): string {
  return String(value).padStart(2, "0");
}
