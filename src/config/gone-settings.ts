/** Settings of earlier versions, and what holds in their place. */
const GONE: ReadonlyMap<string, string> = new Map([
  ['FAILOVER', 'BACKENDS_FILE says "failover", and without it safe holds'],
  ['QUEUE_TIMEOUT_MS', 'BACKENDS_FILE says "queue_timeout_ms", and without it 2000 holds'],
  ['EXPOSE_UPSTREAM', 'BACKENDS_FILE says "expose_upstream", and without it no caller is told'],
  ['DATABASE_POOL_SIZE', 'each process opens up to 5 connections to PostgreSQL'],
  ['DEFAULT_GROUP', 'a new key belongs to the group that it names, and to none without a name'],
  ['COMPACTION_MAX_OUTPUT_TOKENS', 'a summary has at most 4096 tokens'],
  ['MAX_REQUESTS_PER_SOCKET', 'a connection serves any number of requests'],
  ['WEBSOCKET_IDLE_TIMEOUT_MS', 'a WebSocket without a request is closed after 10 minutes'],
  ['WEBSOCKET_MAX_AGE_MS', 'a WebSocket lasts for an hour'],
  ['HEADER_HOLD_MS', 'the headers of a stream wait up to 10 s for its first event'],
  ['KEEPALIVE_COMMENT_MS', 'a silent stream gets a comment every 15 s'],
  ['KEEPALIVE_EVENT_MS', 'a silent stream gets response.in_progress every 60 s'],
  ['SETTLE_TIMEOUT_MS', 'the end of a reply waits up to 1 s for its record'],
  ['TOKEN_COUNT_TIMEOUT_MS', 'a count of tokens takes up to 3 s, and an estimate takes its place then'],
  ['METRICS_HOST', 'METRICS_PORT is opened on HOST with METRICS_TOKEN, and on 127.0.0.1 without it'],
  ['ALERT_WEBHOOK_PRIVATE', 'ALERT_WEBHOOK_URL may lead anywhere with https://, and to private addresses with http://'],
  ['ALERT_THRESHOLDS', 'alerts tell of 80, 95 and 100 percent'],
]);

/** Returns a line for each setting that is there no more, with what holds now. */
export function findGone(env: Readonly<Record<string, string | undefined>>): readonly string[] {
  return [...GONE].flatMap(([name, now]) =>
    (env[name]?.trim() ?? '') === '' ? [] : [`${name}: is no setting any more: ${now}`],
  );
}

/** Returns whether an earlier version had this setting. */
export function isGone(name: string): boolean {
  return GONE.has(name);
}
