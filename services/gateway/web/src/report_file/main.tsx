// Entry point of a report in one file. It needs no gateway and sends no request.

import { render } from "preact";
import { ReportPage } from "./report_page";
import { readRunData } from "./run_data";
import "../style/base.css";
import "../style/components.css";
import "../style/tables.css";
import "../style/report.css";
import "../style/layout.css";
import "../style/narrow.css";
import "../style/report_file.css";

const data = readRunData();
document.title = `${data.report.scenario} · LoadPilot`;
render(<ReportPage data={data} />, document.getElementById("ui")!);
