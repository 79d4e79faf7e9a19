// The page's first step.

import { render } from "preact";
import { begin } from "./app/session";
import { Shell } from "./shell";
import "./style/base.css";
import "./style/components.css";
import "./style/tables.css";
import "./style/report.css";
import "./style/pages.css";
import "./style/narrow.css";

void begin().then(() => render(<Shell />, document.getElementById("ui")!));
