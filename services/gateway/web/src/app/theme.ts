// Light or dark theme: the setting of the system until the user chooses.

import { computed, effect, signal } from "@preact/signals";

export type Choice = "system" | "light" | "dark";
const KEY = "loadpilot.theme";
const CHOICES: Choice[] = ["system", "light", "dark"];

function storedChoice(): Choice {
  try {
    return CHOICES.find((choice) => choice === localStorage.getItem(KEY)) ?? "system";
  } catch {
    return "system"; // storage is blocked
  }
}

export const themeChoice = signal<Choice>(storedChoice());

const system = matchMedia("(prefers-color-scheme: dark)");
const systemIsDark = signal(system.matches);
system.addEventListener("change", (event) => {
  systemIsDark.value = event.matches;
});

export const isDark = computed(
  () => themeChoice.value === "dark" || (themeChoice.value === "system" && systemIsDark.value),
);

effect(() => {
  document.documentElement.dataset.theme = themeChoice.value;
  try {
    localStorage.setItem(KEY, themeChoice.value);
  } catch {
    // Storage is blocked: the choice holds until the page is closed.
  }
});

export function nextTheme(): void {
  themeChoice.value = CHOICES[(CHOICES.indexOf(themeChoice.value) + 1) % CHOICES.length]!;
}
