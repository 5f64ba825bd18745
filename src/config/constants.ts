/**
 * What is the same in all deployments, beside the settings. A test replaces what it cannot wait for.
 */
export const CONSTANTS = {
  /** The headers of a stream wait so long for its first event, so that a refusal by the backend is an HTTP error. */
  headerHoldMs: 10_000,
  /** A comment goes out after so long a silence: proxies give up after 30 s or more. */
  keepaliveCommentMs: 15_000,
  /** Clients that hear no comments, such as WebSockets, get `response.in_progress` again after so long a silence. */
  keepaliveEventMs: 60_000,
  /** The end of a reply waits so long for its record on disk. A slower database delays no answer. */
  settleTimeoutMs: 1000,
  /** A longer count of tokens is replaced by an estimate; loading a vocabulary takes about a second. 0 always estimates. */
  tokenCountTimeoutMs: 3000,
  webSocketIdleTimeoutMs: 600_000,
  /** The connections of OpenAI's endpoint last as long. */
  webSocketMaxAgeMs: 3_600_000,
  /** Of a summary, the thoughts of the model included. */
  compactionMaxOutputTokens: 4096,
};
