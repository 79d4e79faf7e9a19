// Dark or light: the system's choice until the reader makes one.

import { computed, effect, signal } from "@preact/signals";

export type Choice = "system" | "light" | "dark";
const KEY = "loadpilot.theme";
const CHOICES: Choice[] = ["system", "light", "dark"];

function kept(): Choice {
  try {
    return CHOICES.find((choice) => choice === localStorage.getItem(KEY)) ?? "system";
  } catch {
    return "system"; // storage is forbidden: nothing is remembered
  }
}

export const choice = signal<Choice>(kept());

const system = matchMedia("(prefers-color-scheme: dark)");
const systemIsDark = signal(system.matches);
system.addEventListener("change", (event) => {
  systemIsDark.value = event.matches;
});

export const isDark = computed(
  () => choice.value === "dark" || (choice.value === "system" && systemIsDark.value),
);

effect(() => {
  document.documentElement.dataset.theme = choice.value;
  try {
    localStorage.setItem(KEY, choice.value);
  } catch {
    // As above.
  }
});

export function next(): void {
  choice.value = CHOICES[(CHOICES.indexOf(choice.value) + 1) % CHOICES.length]!;
}
