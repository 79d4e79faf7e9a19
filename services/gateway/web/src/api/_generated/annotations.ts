/* Written by `./dev web` from proto/schema: never edit it. */

/**
 * Notes of a run, and whether it is a baseline. No figure depends on them.
 */
export interface Annotations {
  /**
   * Mark as a baseline, to which people compare other runs; null without one.
   */
  baseline?: BaselineMark | null;
  /**
   * Notes, oldest first.
   */
  notes: Note[];
}
/**
 * A mark of a run as a baseline.
 */
export interface BaselineMark {
  /**
   * When the run was marked, by the clock of the author.
   */
  at: number;
  /**
   * Author, as text for people.
   */
  by: string;
}
/**
 * A note about a run.
 */
export interface Note {
  /**
   * When it was written, by the clock of its author.
   */
  at: number;
  /**
   * Author, as text for people.
   */
  by: string;
  /**
   * The note.
   */
  text: string;
}
