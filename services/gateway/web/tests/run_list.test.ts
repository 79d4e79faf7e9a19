import { expect, test } from "vitest";
import { appended, refreshed, tagFilter } from "../src/data/run_list";

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

test("a tag filter is written like a tag of a run, and needs a key and a value", () => {
  expect(tagFilter("team:shop")).toBe("team:shop");
  expect(tagFilter("team=shop")).toBe("team:shop");
  expect(tagFilter(" url=http://a:1 ")).toBe("url:http://a:1");
  for (const incomplete of ["", "team", "team:", "=shop", "nosuch"]) {
    expect(tagFilter(incomplete)).toBe(null);
  }
});
