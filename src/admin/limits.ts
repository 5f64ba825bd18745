import type { AdminLimit } from '../contract/operator-types.ts';
import type { Load } from '../access/load.ts';

const SETTINGS: Readonly<Record<AdminLimit['name'], string | null>> = {
  requests: 'MAX_CONCURRENT_REQUESTS',
  body_bytes: 'MAX_BODY_BYTES_IN_FLIGHT',
  web_sockets: 'MAX_WEBSOCKETS',
  history_bytes: null,
};

/** Returns the limits of one process as schemas/admin.json has them. */
export function describeLimits({ requests, bodyBytes, webSockets, historyBytes }: Load): readonly AdminLimit[] {
  const shares = { requests, body_bytes: bodyBytes, web_sockets: webSockets, history_bytes: historyBytes };
  return NAMES.map((name) => {
    const { used, capacity } = shares[name];
    const fullest = Math.round((100 * used) / capacity);
    return { object: 'limit', name, setting: SETTINGS[name], used, capacity, fullest_percent: fullest };
  });
}

const NAMES = [
  'requests',
  'body_bytes',
  'web_sockets',
  'history_bytes',
] as const satisfies readonly AdminLimit['name'][];

export function joinLimits(lists: readonly (readonly AdminLimit[])[]): readonly AdminLimit[] {
  return NAMES.flatMap((name) => {
    const [first, ...others] = lists.flatMap((list) => list.filter((limit) => limit.name === name));
    return first === undefined ? [] : [others.reduce(join, first)];
  });
}

function join(one: AdminLimit, other: AdminLimit): AdminLimit {
  return {
    ...one,
    used: one.used + other.used,
    capacity: one.capacity + other.capacity,
    fullest_percent: Math.max(one.fullest_percent, other.fullest_percent),
  };
}
