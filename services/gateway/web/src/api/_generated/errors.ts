/* Written by `./dev web` from proto/schema: never edit it. */

/**
 * Why a call got no complete response.
 */
export type Cause =
  | "name_not_resolved"
  | "no_such_address"
  | "refused"
  | "reset"
  | "broken_pipe"
  | "unreachable"
  | "system_timeout"
  | "denied"
  | "no_such_socket"
  | "unanswered"
  | "truncated"
  | "not_http"
  | "too_long"
  | "http2"
  | "stream_reset"
  | "gone_away"
  | "certificate_untrusted"
  | "certificate_expired"
  | "certificate_other_name"
  | "certificate_invalid"
  | "client_certificate"
  | "tls_mismatch"
  | "tls_alert"
  | "not_tls"
  | "no_ports"
  | "no_fds"
  | "no_memory"
  | "while_resolving"
  | "while_connecting"
  | "while_securing"
  | "while_waiting_for_a_stream"
  | "while_sending"
  | "before_first_byte"
  | "before_last_byte"
  | "other"
  | "not_allowed"
  | "proxy_credentials"
  | "proxy_refused"
  | "proxy_no_connection"
  | "proxy_protocol";

/**
 * Calls of a slice that were not ok, by how they ended.
 */
export interface Errors {
  /**
   * Examples of failed calls in the whole run: the first of each call and outcome.
   */
  examples?: FailureExample[];
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
 * A call that failed, as text.
 */
export interface FailureExample {
  /**
   * Name of the call.
   */
  call: string;
  exchange: ExchangeSeen;
  /**
   * Name of the task.
   */
  task: string;
}
/**
 * Request and response.
 */
export interface ExchangeSeen {
  /**
   * Status line and header lines of the response, secrets masked, cut where they are too long;
   * empty without a response.
   */
  answer: string[];
  /**
   * Number of the arrival; in a closed loop of the user.
   */
  arrival: number;
  /**
   * Beginning of the response's body, secrets masked; only of an exchange that failed, and empty
   * where it is no text.
   */
  body?: string;
  /**
   * Index of the call in the plan's list of calls.
   */
  call: number;
  /**
   * Why there is no complete response. Absent: there is one, or the cause is unknown.
   */
  cause?: Cause | null;
  /**
   * How the call ended.
   */
  outcome:
    | "ok"
    | "http_4xx"
    | "http_5xx"
    | "check_failed"
    | "connect"
    | "tls"
    | "timeout"
    | "io"
    | "local"
    | "cancelled"
    | "indeterminate";
  /**
   * Bytes received, headers included where the HTTP engine sees them.
   */
  received_bytes: number;
  /**
   * Request line and header lines, secrets masked.
   */
  request: string[];
  /**
   * Size of the request's body in bytes.
   */
  request_body_bytes: number;
  /**
   * Response time, end − due, in µs.
   */
  response_us: number;
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
