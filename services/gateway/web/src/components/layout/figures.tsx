// A figure of a report in the page. `data-figure` names the report's field: see README.md.

import { NOT_MEASURED } from "../../format/numbers";

interface FigureProps {
  /** Path of the field in the report's JSON; absent: the figure is of another answer. */
  of?: string | undefined;
  /** The figure as text, with its unit. */
  text: string;
  /** Why there is no figure, where the text is a dash. */
  none?: string | undefined;
}

export function Figure({ of, text, none }: FigureProps) {
  return (
    <span data-figure={of} title={text === NOT_MEASURED ? none : undefined}>
      {text}
    </span>
  );
}

/** A right-aligned cell of a table with one figure. */
export function FigureCell({ strong, ...figure }: FigureProps & { strong?: boolean }) {
  return (
    <td class={strong ? "n strong" : "n"}>
      <Figure {...figure} />
    </td>
  );
}
