import fc from "fast-check";
import { expect, test } from "vitest";
import { withLine } from "../src/api/live";

test("a line of the story is told once and in order, whatever a reconnect repeats", () => {
  const told = fc.array(fc.nat({ max: 30 }), { maxLength: 60 });
  fc.assert(
    fc.property(told, (sent) => {
      const story = sent.reduce(
        (lines, seq) => withLine(lines, { seq, at: seq, text: `${seq}` }),
        [] as { seq: number; at: number; text: string }[],
      );
      const seqs = story.map((line) => line.seq);
      expect(seqs).toEqual([...new Set(seqs)].sort((a, b) => a - b));
    }),
  );
});
