/** Settings of earlier versions, and what holds in their place. */
const GONE: ReadonlyMap<string, string> = new Map([
  ['FAILOVER', 'set "failover" in BACKENDS_FILE; the default is safe'],
  ['QUEUE_TIMEOUT_MS', 'set "queue_timeout_ms" in BACKENDS_FILE; the default is 2000'],
  ['EXPOSE_UPSTREAM', 'set "expose_upstream" in BACKENDS_FILE; the default is false'],
  ['DATABASE_POOL_SIZE', 'each process opens up to 5 connections to PostgreSQL'],
  ['DEFAULT_GROUP', 'a new key belongs to a group only if it names one'],
  ['COMPACTION_MAX_OUTPUT_TOKENS', 'a summary has at most 4096 tokens'],
  ['MAX_REQUESTS_PER_SOCKET', 'a connection serves any number of requests'],
  ['WEBSOCKET_IDLE_TIMEOUT_MS', 'a WebSocket is closed after 10 minutes without a request'],
  ['WEBSOCKET_MAX_AGE_MS', 'a WebSocket is closed after an hour'],
  ['HEADER_HOLD_MS', 'the headers of a stream wait up to 10 s for its first event'],
  ['KEEPALIVE_COMMENT_MS', 'a silent stream gets a comment every 15 s'],
  ['KEEPALIVE_EVENT_MS', 'a silent stream gets response.in_progress every 60 s'],
  ['SETTLE_TIMEOUT_MS', 'the end of a reply waits up to 1 s for its record'],
  ['TOKEN_COUNT_TIMEOUT_MS', 'a count of tokens that takes longer than 3 s is estimated'],
  ['METRICS_HOST', 'METRICS_PORT listens on HOST if METRICS_TOKEN is set, else on 127.0.0.1'],
  ['ALERT_WEBHOOK_PRIVATE', 'ALERT_WEBHOOK_URL may use https:// anywhere, and http:// in private networks'],
  ['ALERT_THRESHOLDS', 'alerts are sent at 80, 95 and 100 percent'],
]);

/** Returns a line for each setting that is there no more, with what holds now. */
export function findGone(env: Readonly<Record<string, string | undefined>>): readonly string[] {
  return [...GONE].flatMap(([name, now]) =>
    (env[name]?.trim() ?? '') === '' ? [] : [`${name}: is no longer a setting; ${now}`],
  );
}

export function isGone(name: string): boolean {
  return GONE.has(name);
}
