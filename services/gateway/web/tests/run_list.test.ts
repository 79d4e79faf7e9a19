import { expect, test } from "vitest";
import { appended, refreshed } from "../src/data/run_list";

const rows = (text: string) => [...text].map((run) => ({ run }));
const shown = (list: { run: string }[]) => list.map(({ run }) => run).join("");

test("a row that new runs push off the first page stays in the list", () => {
  const list = appended(rows("fed"), rows("cba"));
  expect(shown(refreshed(rows("gfe"), list))).toBe("gfedcba");
  expect(shown(refreshed(rows("hgf"), refreshed(rows("gfe"), list)))).toBe("hgfedcba");
  expect(shown(refreshed(rows("zyx"), list))).toBe("zyxfedcba");
});

test("a row that left the list is not shown again", () => {
  expect(shown(refreshed(rows("fdc"), rows("fedcba")))).toBe("fdcba");
  expect(shown(refreshed(rows("fed"), rows("fedcba")))).toBe("fedcba");
});

test("a page that comes twice adds its rows once", () => {
  expect(shown(appended(appended(rows("fe"), rows("dc")), rows("dc")))).toBe("fedc");
});
