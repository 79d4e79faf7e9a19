/* Written by `./dev web` from proto/schema: never edit it. */

/**
 * Calls of a slice that were not ok, by how they ended.
 */
export interface Errors {
  /**
   * Id of the run.
   */
  run: string;
  /**
   * Tasks, in the order of the plan.
   */
  tasks: TaskErrors[];
}
/**
 * Errors of one task.
 */
export interface TaskErrors {
  /**
   * Calls of the plan in order, then those made in Python by name.
   */
  calls: CallErrors[];
  /**
   * Number of those that were not ok; by rules 2 including the last call of each arrival that
   * raised.
   */
  errors: number;
  /**
   * Number of finished calls of the slice; by rules 2 plus one for each time that the task
   * raised without a call.
   */
  finished: number;
  /**
   * Errors that the task and its check raised, the most frequent first, in the whole run: the
   * log does not contain their times.
   */
  raised: Raised[];
  /**
   * Number of further distinct texts.
   */
  raised_more: number;
  /**
   * Name of the task.
   */
  task: string;
  /**
   * Number of arrivals of the slice that raised an error. Null without any, by rules 1, and
   * where calls or outcomes are selected.
   */
  task_raises?: TaskRaises | null;
}
/**
 * Errors of one call.
 */
export interface CallErrors {
  /**
   * Name of the call.
   */
  call: string;
  /**
   * Number of calls without a complete response, by outcome and cause.
   */
  causes: {
    [k: string]: {
      [k: string]: number;
    };
  };
  /**
   * Number of those that were not ok.
   */
  errors: number;
  /**
   * Number of finished calls of the slice.
   */
  finished: number;
  /**
   * Number of calls by outcome, ok and unfinished ones included.
   */
  outcomes: {
    [k: string]: number;
  };
  /**
   * Number of responses by outcome and status code.
   */
  status: {
    [k: string]: {
      /**
       * This interface was referenced by `undefined`'s JSON-Schema definition
       * via the `patternProperty` "^\d+$".
       */
      [k: string]: number;
    };
  };
}
/**
 * Error that a check or a task raised, with its count in the whole run.
 */
export interface Raised {
  /**
   * Part of the scenario that raised it.
   */
  by: "check" | "task" | "blocking";
  /**
   * Number of times.
   */
  count: number;
  /**
   * Type of the error, its message and its line.
   */
  text: string;
  /**
   * Traceback of one of them: the user's lines, outermost first, such as `shop.py:40 in buy`,
   * one per line. Absent: no agent reported one.
   */
  trace?: string | null;
}
/**
 * Number of arrivals whose task raised an error, by how their last call ended.
 */
export interface TaskRaises {
  /**
   * The last call had failed or was cut off; it is not counted a second time.
   */
  after_failed?: number;
  /**
   * The last call was ok; it counts as failed (`task_error`).
   */
  after_ok?: number;
  /**
   * The task made no call; each counts as one more finished call that failed.
   */
  without_call?: number;
}
