// The measurement quality of a run: the grade of its certificate, findings, evidence and advice.

import type { Certificate } from "../../api/_generated/report";
import { finding, grade } from "../../format/labels";
import { Badge } from "../layout/icons";

interface CertificateProps {
  certificate: Certificate;
  over: boolean;
}

export function CertificateFindings({ certificate, over }: CertificateProps) {
  const text = grade(certificate.grade);
  // A run in progress is unfinished by definition.
  const findings = certificate.findings.filter((f) => over || f.kind !== "unfinished");
  return (
    <div class="certificate">
      {over ? (
        <p>
          <Badge tone={text.tone}>{certificate.grade}</Badge> {text.text}
        </p>
      ) : (
        <p class="quiet">The grade follows when the run ends.</p>
      )}
      {findings.length === 0 && (
        <p class="quiet">
          No findings: the load generators were on schedule, the data is complete, and clocks agree.
        </p>
      )}
      <ul>
        {findings.map((f, i) => {
          const { title, advice } = finding(f.kind);
          return (
            <li key={i} class={grade(f.grade).tone}>
              <b>{title}</b> <small>{f.grade}</small>
              <p>{f.evidence}</p>
              {advice && <p class="quiet">{advice}</p>}
            </li>
          );
        })}
      </ul>
    </div>
  );
}
