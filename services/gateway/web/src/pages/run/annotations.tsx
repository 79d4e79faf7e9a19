// Notes about an ended run, and its mark as a baseline.

import { useState } from "preact/hooks";
import type { Annotations } from "../../api/_generated/annotations";
import { type Problem, post } from "../../api/http";
import { asProblem, useResource } from "../../api/resource";
import { me } from "../../app/session";
import { Failed, Panel } from "../../components/layout/panel";
import { dateTime } from "../../format/numbers";

const NOTE_CHARS_MAX = 2000;

export function Notes({ run }: { run: string }) {
  const path = `/runs/${encodeURIComponent(run)}/annotations`;
  const loaded = useResource<Annotations>(path);
  const [changed, setChanged] = useState<Annotations | null>(null);
  const [text, setText] = useState("");
  const [waiting, setWaiting] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const annotations = changed ?? loaded.data;
  if (!annotations) {
    return loaded.problem ? <Failed problem={loaded.problem} again={loaded.reload} /> : null;
  }
  const mayChange = me.value?.can_steer !== false;
  const { notes, baseline } = annotations;
  if (!mayChange && notes.length === 0 && !baseline) return null;

  const send = async (change: { text?: string; baseline?: boolean }) => {
    setWaiting(true);
    setProblem(null);
    try {
      setChanged(await post<Annotations>(path, change));
      if (change.text !== undefined) setText("");
    } catch (error) {
      setProblem(asProblem(error));
    }
    setWaiting(false);
  };
  return (
    <Panel
      title="Notes"
      note={baseline ? `baseline since ${dateTime(baseline.at)}, by ${baseline.by}` : undefined}
      aside={
        mayChange && (
          <button
            type="button"
            aria-pressed={baseline !== null}
            disabled={waiting}
            onClick={() => void send({ baseline: baseline === null })}
          >
            Baseline
          </button>
        )
      }
    >
      <ol class="notes" aria-live="polite">
        {notes.map((one) => (
          <li key={`${one.at} ${one.text}`}>
            <small>
              {dateTime(one.at)}, {one.by}
            </small>
            <p>{one.text}</p>
          </li>
        ))}
      </ol>
      {mayChange && (
        <form
          class="note-form"
          onSubmit={(event) => {
            event.preventDefault();
            void send({ text: text.trim() });
          }}
        >
          <label>
            New note
            <textarea
              required
              rows={2}
              maxLength={NOTE_CHARS_MAX}
              value={text}
              onInput={(event) => setText(event.currentTarget.value)}
            />
          </label>
          <button type="submit" disabled={waiting || text.trim() === ""}>
            Add note
          </button>
        </form>
      )}
      {problem && <Failed problem={problem} />}
    </Panel>
  );
}
