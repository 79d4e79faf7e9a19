// The entries of scenario files on the start page.

import { expect, test } from "vitest";
import { fileOptions } from "../src/pages/start/file_options";

test("broken if user types with shares cannot be started together", () => {
  const file = { file: "mix.py", scenarios: ["Browse", "Buy"], types: ["Browse", "Buy"] };
  expect(fileOptions(file)).toEqual([
    ["Browse + Buy · mix.py", { file: "mix.py", scenario: null }],
    ["Browse alone · mix.py", { file: "mix.py", scenario: "Browse" }],
    ["Buy alone · mix.py", { file: "mix.py", scenario: "Buy" }],
  ]);
});

test("broken if scenarios without shares are offered together", () => {
  const file = { file: "shop.py", scenarios: ["Browse"], types: [] };
  expect(fileOptions(file)).toEqual([
    ["Browse · shop.py", { file: "shop.py", scenario: "Browse" }],
  ]);
});
