// The page's first step.

import { render } from "preact";
import { begin } from "./app/session";
import { Shell } from "./app/shell";
import "./style/base.css";
import "./style/parts.css";
import "./style/tables.css";
import "./style/telling.css";
import "./style/pages.css";
import "./style/narrow.css";

void begin().then(() => render(<Shell />, document.getElementById("ui")!));
