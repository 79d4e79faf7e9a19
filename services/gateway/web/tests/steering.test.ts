// The message of a request to steer that was refused.

import { expect, test } from "vitest";
import { Problem } from "../src/api/http";
import { problemText } from "../src/pages/run/steering";

const RULE = "must be a rate such as 50, 0.5 or 50/s";
const DETAIL = `rate: ${RULE} (got "-5")`;

test("broken if a dialog prints a rule twice", () => {
  const problems = [{ field: "rate", rule: RULE, value: "-5" }];
  expect(problemText(new Problem(422, "refused", "Refused", DETAIL, problems))).toBe(DETAIL);
});

test("broken if a dialog leaves out the rule that was broken", () => {
  const problems = [{ field: "body.rate", rule: "must be text", value: "5" }];
  const problem = new Problem(422, "usage", "Usage", "the body is invalid", problems);
  expect(problemText(problem)).toBe("the body is invalid must be text");
});
