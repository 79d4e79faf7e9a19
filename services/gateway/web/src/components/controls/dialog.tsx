// A confirmation before an action. The native dialog element keeps the keyboard inside and closes
// on Escape. It restores the focus only while it is in the page, so that this component does.

import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";

interface DialogProps {
  title: string;
  confirm: string;
  danger?: boolean;
  waiting?: boolean;
  onConfirm: () => void;
  onCancel: () => void;
  children: ComponentChildren;
}

export function Dialog({
  title,
  confirm,
  danger,
  waiting,
  onConfirm,
  onCancel,
  children,
}: DialogProps) {
  const box = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const dialog = box.current;
    const opener = document.activeElement;
    if (dialog && !dialog.open) dialog.showModal();
    return () => {
      dialog?.close();
      setTimeout(() => restoreFocus(opener));
    };
  }, []);
  const submit = (event: Event) => {
    event.preventDefault();
    onConfirm();
  };
  const cancel = (event: Event) => {
    event.preventDefault();
    onCancel();
  };
  return (
    <dialog ref={box} aria-labelledby={id} onCancel={cancel}>
      <form onSubmit={submit}>
        <h2 id={id}>{title}</h2>
        <div class="body">{children}</div>
        <footer>
          <button type="button" onClick={onCancel}>
            Cancel
          </button>
          <button type="submit" class={danger ? "danger" : "primary"} disabled={waiting}>
            {waiting ? "Waiting for the coordinator…" : confirm}
          </button>
        </footer>
      </form>
    </dialog>
  );
}

/** Focuses the element that opened a dialog, or the page if that is gone or disabled. */
function restoreFocus(opener: Element | null): void {
  if (opener instanceof HTMLElement) opener.focus();
  if (document.activeElement === document.body) document.getElementById("main")?.focus();
}
