// Light or dark theme: the setting of the system until the user chooses. Uses no signals, which a
// report in one file would load for the theme only.

import { useEffect, useState } from "preact/hooks";

type Choice = "system" | "light" | "dark";
const KEY = "loadpilot.theme";
const CHOICES: Choice[] = ["system", "light", "dark"];
const ICONS = { system: "system", light: "sun", dark: "moon" } as const;

const system = matchMedia("(prefers-color-scheme: dark)");
const listeners = new Set<() => void>();
let choice = storedChoice();

interface Theme {
  choice: Choice;
  isDark: boolean;
  icon: (typeof ICONS)[Choice];
}

/** The theme; a component that uses it is rendered again when it changes. */
export function useTheme(): Theme {
  const [, setChanges] = useState(0);
  useEffect(() => {
    const changed = () => setChanges((n) => n + 1);
    listeners.add(changed);
    return () => {
      listeners.delete(changed);
    };
  }, []);
  const isDark = choice === "dark" || (choice === "system" && system.matches);
  return { choice, isDark, icon: ICONS[choice] };
}

export function nextTheme(): void {
  choice = CHOICES[(CHOICES.indexOf(choice) + 1) % CHOICES.length]!;
  try {
    localStorage.setItem(KEY, choice);
  } catch {
    // Storage is blocked: the choice holds until the page is closed.
  }
  apply();
}

function storedChoice(): Choice {
  try {
    return CHOICES.find((one) => one === localStorage.getItem(KEY)) ?? "system";
  } catch {
    return "system"; // storage is blocked
  }
}

function apply(): void {
  document.documentElement.dataset.theme = choice;
  listeners.forEach((changed) => changed());
}

system.addEventListener("change", apply);
apply();
