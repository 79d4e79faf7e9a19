/** How Vite compiles JSX: calls of `h` are shorter than those of the automatic runtime. */
export const CLASSIC_JSX = {
  jsx: { runtime: "classic", pragma: "h", pragmaFrag: "Fragment" },
  jsxInject: 'import { Fragment, h } from "preact";',
} as const;
