// Writes src/api/_generated from proto/schema: the gateway's answers as TypeScript types.
// A wrong type is mended in Rust, where the schemas come from.

import { mkdir, readFile, writeFile } from "node:fs/promises";
import { compile } from "json-schema-to-typescript";

const SCHEMAS = new URL("../../../../proto/schema/", import.meta.url);
const OUT = new URL("../src/api/_generated/", import.meta.url);
const NAMES = [
  "report",
  "snapshot",
  "series",
  "heat",
  "errors",
  "attendance",
  "annotations",
  "what-if-answer",
  "comparison",
];

await mkdir(OUT, { recursive: true });
for (const name of NAMES) {
  const schema = JSON.parse(await readFile(new URL(`${name}.json`, SCHEMAS), "utf8"));
  const text = await compile(schema, schema.title ?? name, {
    bannerComment: "/* Written by `./dev web` from proto/schema: never edit it. */",
    additionalProperties: false,
    format: true,
    style: { printWidth: 100 },
  });
  await writeFile(new URL(`${name}.ts`, OUT), text);
}
