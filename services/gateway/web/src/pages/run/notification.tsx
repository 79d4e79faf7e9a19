// A notification of the browser when a run ends while its page is in the background.

import { useEffect, useRef, useState } from "preact/hooks";
import type { Report } from "../../api/_generated/report";
import { verdictSentence } from "../../components/verdict/verdict";

export function Notify({ report, over }: { report: Report; over: boolean }) {
  const [wanted, setWanted] = useState(false);
  const wasOver = useRef(over);
  useEffect(() => {
    if (wanted && over && !wasOver.current && document.hidden) {
      const { word, text } = verdictSentence(report);
      const shown = new Notification(`${report.scenario}: ${word}`, { body: text });
      shown.onclick = () => window.focus();
    }
    wasOver.current = over;
  }, [wanted, over]);
  if (over || !("Notification" in window) || Notification.permission === "denied") return null;
  const ask = async () => setWanted((await Notification.requestPermission()) === "granted");
  return (
    <button
      type="button"
      aria-pressed={wanted}
      onClick={() => void (wanted ? setWanted(false) : ask())}
    >
      {wanted ? "Will notify" : "Notify me"}
    </button>
  );
}
