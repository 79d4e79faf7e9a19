import { defineConfig } from "vite";
import { CLASSIC_JSX } from "./jsx.config.ts";

// The build is committed beside the gateway's Python code: users need no Node.
export default defineConfig({
  oxc: CLASSIC_JSX,
  build: {
    outDir: "../python/loadpilot_gateway/static",
    emptyOutDir: true,
    target: "es2022",
    assetsInlineLimit: 0, // the content security policy forbids data: URLs
    modulePreload: false,
    sourcemap: false,
    reportCompressedSize: false,
  },
});
