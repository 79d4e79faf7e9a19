// Tags of a run, each a link to the runs that have it.

import { Link } from "../app/navigation";
import { NO_FILTER } from "../app/route";

export function Tags({ tags }: { tags: Record<string, string> | undefined }) {
  const pairs = Object.entries(tags ?? {});
  if (pairs.length === 0) return null;
  return (
    <span class="tags">
      {pairs.map(([key, value]) => (
        <Link key={key} to={{ page: "runs", filter: { ...NO_FILTER, tag: `${key}:${value}` } }}>
          {key}: {value}
        </Link>
      ))}
    </span>
  );
}
