// A question that must be answered before something is done. The browser's own dialog: it keeps
// the keyboard inside, closes on Escape, and gives the focus back.

import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";

interface DialogProps {
  title: string;
  yes: string;
  danger?: boolean;
  waiting?: boolean;
  onYes: () => void;
  onNo: () => void;
  children: ComponentChildren;
}

export function Dialog({ title, yes, danger, waiting, onYes, onNo, children }: DialogProps) {
  const box = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const dialog = box.current;
    if (dialog && !dialog.open) dialog.showModal();
    return () => dialog?.close();
  }, []);
  const submit = (event: Event) => {
    event.preventDefault();
    onYes();
  };
  const cancel = (event: Event) => {
    event.preventDefault();
    onNo();
  };
  return (
    <dialog ref={box} aria-labelledby={id} onCancel={cancel}>
      <form onSubmit={submit}>
        <h2 id={id}>{title}</h2>
        <div class="body">{children}</div>
        <footer>
          <button type="button" onClick={onNo}>
            Cancel
          </button>
          <button type="submit" class={danger ? "danger" : "primary"} disabled={waiting}>
            {waiting ? "Waiting for the decision…" : yes}
          </button>
        </footer>
      </form>
    </dialog>
  );
}
