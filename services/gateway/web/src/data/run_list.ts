// The rows of a list that is read page by page, while its first page is read again and again.

interface Row {
  run: string;
}

/** The rows after the first page was read again. Rows that new ones pushed off it stay; a row that
 * was before its last one and is no longer on it has left the list. */
export function refreshed<T extends Row>(first: T[], earlier: T[]): T[] {
  const last = first.at(-1)?.run;
  const at = earlier.findIndex((one) => one.run === last);
  return appended(first, earlier.slice(at + 1));
}

/** The rows with those of a later page; a row may be on two pages when the list changes. */
export function appended<T extends Row>(rows: T[], later: T[]): T[] {
  const known = new Set(rows.map((one) => one.run));
  return [...rows, ...later.filter((one) => !known.has(one.run))];
}

/** The tag in a filter, `team:shop` or `team=shop` as in --tag, as the gateway reads it; null: it
 * has no key or no value. */
export function tagFilter(text: string): string | null {
  const [, key, value] = /^([^:=]{1,63})[:=](.{1,256})$/.exec(text.trim()) ?? [];
  return key === undefined ? null : `${key}:${value}`;
}
