/* Written by `./dev web` from proto/schema: never edit it. */

/**
 * How the calls of a slice ended that were not ok.
 */
export interface Errors {
  /**
   * Of which run.
   */
  run: string;
  /**
   * By task, in the order of the plan.
   */
  tasks: TaskErrors[];
}
/**
 * What went wrong in one task.
 */
export interface TaskErrors {
  /**
   * By call: those of the plan in order, then those made in Python by name.
   */
  calls: CallErrors[];
  /**
   * Those that were not ok; by rules 2 also the last one of each arrival that raised.
   */
  errors: number;
  /**
   * Finished calls of the slice; by rules 2 also one for each time that it raised without a
   * call.
   */
  finished: number;
  /**
   * What its checks and itself raised, the most frequent first, in the whole run: the log does
   * not say when.
   */
  raised: Raised[];
  /**
   * How many more different texts there are.
   */
  raised_more: number;
  /**
   * Its name.
   */
  task: string;
  /**
   * Arrivals of the slice in which it raised; null when there were none, by rules 1, and where
   * calls or outcomes are picked out.
   */
  task_raises?: TaskRaises | null;
}
/**
 * What went wrong in one call.
 */
export interface CallErrors {
  /**
   * Its name.
   */
  call: string;
  /**
   * Why those without a complete answer had none.
   */
  causes: {
    [k: string]: {
      [k: string]: number;
    };
  };
  /**
   * Those that were not ok.
   */
  errors: number;
  /**
   * Finished calls of the slice.
   */
  finished: number;
  /**
   * How they ended, ok and unfinished ones too.
   */
  outcomes: {
    [k: string]: number;
  };
  /**
   * Answers by outcome and status code.
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
 * What a check or a task raised in the whole run.
 */
export interface Raised {
  /**
   * What of the task.
   */
  by: "check" | "task" | "blocking";
  /**
   * How many times.
   */
  count: number;
  /**
   * The kind of the error, its message and its place.
   */
  text: string;
  /**
   * The lines of the user's that led to one of them, the outermost first, `shop.py:40 in buy`,
   * each on a line of its own; absent where no agent told any.
   */
  trace?: string | null;
}
/**
 * Arrivals whose task raised an error, by how the last call of each had ended.
 */
export interface TaskRaises {
  /**
   * Its last call had failed or was cut off; it is not counted a second time.
   */
  after_failed?: number;
  /**
   * Its last call was ok; that one counts as failed (`task_error`).
   */
  after_ok?: number;
  /**
   * It made no call: one more finished call that failed.
   */
  without_call?: number;
}
