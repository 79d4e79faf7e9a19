import { defineConfig } from "vite";

// What is built is committed beside the gateway's Python, so that nobody needs Node to use it.
export default defineConfig({
  build: {
    outDir: "../python/loadpilot_gateway/static",
    emptyOutDir: true,
    target: "es2022",
    assetsInlineLimit: 0, // the page may load nothing but files of its own: no data: addresses
    modulePreload: false,
    sourcemap: false,
    reportCompressedSize: false,
  },
});
