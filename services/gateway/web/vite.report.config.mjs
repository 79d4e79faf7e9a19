import { createHash } from "node:crypto";
import { defineConfig } from "vite";
import { CLASSIC_JSX } from "./jsx.config.ts";

const PAGE = "report_page.html";

// A report in one file. The command puts the answers of a run into the committed page.
export default defineConfig({
  oxc: CLASSIC_JSX,
  build: {
    outDir: "../../../sdk/python/loadpilot/control",
    emptyOutDir: false,
    target: "es2022",
    modulePreload: false,
    sourcemap: false,
    reportCompressedSize: false,
    rollupOptions: { input: "report.html" },
  },
  publicDir: false,
  plugins: [withoutUnused(), inOneFile()],
});

/** Parts of uPlot that no chart uses: dates (times are seconds), points in a plane (mode 2), the
 * scale that is neither linear nor logarithmic (4), a focused series, a vertical x axis, a locked
 * cursor, one point for all series, other paths, joins, series that come and go, a legend with
 * several values a series. */
const UNUSED = [
  [/let isTime = [^;]+;/g, "const isTime = false;", 3],
  [/^\s*const (_time\w+ +=|\[ timeIncrs).*;$/gm, "", 6],
  [/\bmode == 2/g, "false", 16],
  [/\bmode == 1/g, "true", 15],
  [/\bcursorOnePt = [^;]+;/g, "cursorOnePt = false;", 1],
  [/(\w+\.)?\bdistr == 4/g, "false", 8],
  [/\bcursorFocus = [^;]+;/g, "cursorFocus = false;", 1],
  [/\bscaleX\.ori == 0/g, "true", 24],
  [/\bscaleX\.ori == 1/g, "false", 9],
  [/\bif \(cursor\._?lock\)/g, "if (false)", 7],
  [/\(paths\.(bars|spline) += \w+\);/g, "", 2],
  [/uPlot\.(join|fmtDate|tzDate|rangeAsinh) += \w+;/g, "", 4],
  [/^\tself\.(add|del)(Series|Band) = \w+;$/gm, "", 4],
  [/let multiValLegend = false;/g, "const multiValLegend = false;", 1],
  [/multiValLegend = getMultiVals != null;/g, "", 1],
];

/** Leaves these parts out; each must be there as often as in the locked version. */
function withoutUnused() {
  return {
    name: "without-unused",
    transform(code, id) {
      if (!id.endsWith("uPlot.esm.js")) return null;
      let rest = code;
      for (const [part, replacement, times] of UNUSED) {
        const found = rest.match(part)?.length;
        if (found !== times) throw new Error(`uPlot has ${part} ${found} times, not ${times}`);
        rest = rest.replace(part, replacement);
      }
      return { code: rest, map: null };
    },
  };
}

/** Puts script and style into the page, and a policy that allows these two and no request. */
function inOneFile() {
  return {
    name: "in-one-file",
    enforce: "post",
    generateBundle(_, bundle) {
      const found = {};
      for (const [name, file] of Object.entries(bundle)) {
        const source = file.type === "chunk" ? file.code : file.source;
        found[name.slice(name.lastIndexOf(".") + 1)] = String(source).trim();
        delete bundle[name];
      }
      const { html = "", js = "", css = "" } = found;
      if (/<\/script|<!--/i.test(js) || /<\/style/i.test(css)) {
        throw new Error("the script or the style would end its element");
      }
      const policy =
        `default-src 'none'; script-src ${hash(js)}; style-src ${hash(css)}; img-src data:; ` +
        "base-uri 'none'; form-action 'none'";
      const source = html
        .replace(/\s*<script type="module"[^>]*><\/script>/, "")
        .replace(/\s*<link rel="stylesheet"[^>]*>/, "")
        .replace("{{policy}}", () => policy)
        .replace("</head>", () => `  <style>${css}</style>\n  </head>`)
        .replace("</body>", () => `  <script type="module">${js}</script>\n  </body>`);
      this.emitFile({ type: "asset", fileName: PAGE, source });
    },
  };
}

function hash(text) {
  return `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
}
