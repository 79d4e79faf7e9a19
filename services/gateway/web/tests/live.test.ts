import fc from "fast-check";
import { expect, test } from "vitest";
import { withLine } from "../src/api/live";

test("a line of the timeline appears once and in order, whatever a reconnect repeats", () => {
  const sequences = fc.array(fc.nat({ max: 30 }), { maxLength: 60 });
  fc.assert(
    fc.property(sequences, (sent) => {
      const story = sent.reduce(
        (lines, seq) => withLine(lines, { seq, at: seq, text: `${seq}` }),
        [] as { seq: number; at: number; text: string }[],
      );
      const seqs = story.map((line) => line.seq);
      expect(seqs).toEqual([...new Set(seqs)].sort((a, b) => a - b));
    }),
  );
});
