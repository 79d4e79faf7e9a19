// Entry point of the pages.

import { render } from "preact";
import { startSession } from "./app/session";
import { Shell } from "./shell";
import "./style/base.css";
import "./style/controls.css";
import "./style/components.css";
import "./style/tables.css";
import "./style/report.css";
import "./style/layout.css";
import "./style/pages.css";
import "./style/annotations.css";
import "./style/start.css";
import "./style/narrow.css";
import "./style/narrow_pages.css";

void startSession().then(() => render(<Shell />, document.getElementById("ui")!));
