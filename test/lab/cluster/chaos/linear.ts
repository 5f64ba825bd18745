/**
 * Whether what customers saw has an order: one in which each attempt takes effect at one moment between its start and its end,
 * on a single register for each idempotency key, and on a single counter for each balance.
 */
import type { Attempt } from './attempts.ts';
import type { LedgerRow, RecordRow } from './witness.ts';

type Seen = Pick<Attempt, 'startMs' | 'endMs' | 'requestId' | 'end'> & { readonly plan: Pick<Attempt['plan'], 'name'> };
type Records = ReadonlyMap<string, Pick<RecordRow, 'isKept'>>;

/** What one attempt does to the register of its key, which holds the id of a record or nothing. */
interface Effect {
  readonly fromMs: number;
  /** Infinity for what nobody has seen, which may also never happen. */
  readonly untilMs: number;
  readonly needs: string | undefined;
  readonly leaves: string | undefined;
}

/** Returns the keys whose attempts have no order. */
export function findUnordered(attempts: readonly Seen[], records: Records): readonly string[] {
  const byName = Map.groupBy(attempts, ({ plan }) => plan.name);
  return [...byName]
    .filter(([, made]) => !hasOrder(effectsOf(made, records), undefined))
    .map(([name, made]) => `${name}: ${JSON.stringify(made)}`);
}

function effectsOf(attempts: readonly Seen[], records: Records): readonly Effect[] {
  const written = new Set<string>();
  const effects: Effect[] = [];
  const add = (id: string, fromMs: number, untilMs: number, freedMs: number): void => {
    effects.push({ fromMs, untilMs, needs: undefined, leaves: id });
    if (records.get(id)?.isKept === false) effects.push({ fromMs, untilMs: freedMs, needs: id, leaves: undefined });
  };
  for (const { startMs: fromMs, endMs: untilMs, requestId, end } of attempts) {
    const code = end.kind === 'error' ? end.code : '';
    if (code === 'duplicate_request') effects.push({ fromMs, untilMs, needs: requestId, leaves: requestId });
    // A duplicate is found before rates and funds are looked at.
    if (REFUSED_FUNDS.has(code)) effects.push({ fromMs, untilMs, needs: undefined, leaves: undefined });
    if (requestId === undefined || code === 'duplicate_request' || !records.has(requestId)) continue;
    written.add(requestId);
    // A client that was told the end was told after that was on disk.
    const isTold = end.kind === 'error' || end.kind === 'ended';
    add(requestId, fromMs, untilMs, isTold ? untilMs : Infinity);
  }
  // Who has no reply may have made what others found.
  const unseen = attempts.filter(({ requestId }) => requestId === undefined);
  const found = new Set(effects.flatMap(({ needs }) => (needs === undefined || written.has(needs) ? [] : [needs])));
  if (unseen.length > 0)
    for (const id of found) add(id, Math.min(...unseen.map(({ startMs }) => startMs)), Infinity, Infinity);
  return effects;
}

const REFUSED_FUNDS = new Set(['insufficient_credits', 'spend_limit_exceeded', 'rate_limit_exceeded']);

/** Tries every order, as Wing and Gong do: what comes next began before anything that is left had to be over. */
function hasOrder(effects: readonly Effect[], holds: string | undefined): boolean {
  const firstEndMs = Math.min(...effects.map(({ untilMs }) => untilMs));
  if (firstEndMs === Infinity) return true;
  const next = effects.filter(({ fromMs, needs }) => fromMs <= firstEndMs && needs === holds);
  // What changes nothing can come first.
  const read = next.find(({ needs, leaves }) => needs === leaves);
  const tried = read === undefined ? next : [read];
  return tried.some((effect) =>
    hasOrder(
      effects.filter((other) => other !== effect),
      effect.leaves,
    ),
  );
}

/**
 * Returns the attempts whose place in the ledger is not one of their time. The ledger is an order in which no reservation was
 * taken from less than there was (support/books.ts), so this is what is left to see.
 */
export function findMisplaced(
  attempts: readonly Seen[],
  records: Records,
  ledger: readonly LedgerRow[],
): readonly string[] {
  const places = new Map<string, { first: number; last: number }>();
  for (const { requestId, seq } of ledger) {
    if (requestId !== null) places.set(requestId, { first: places.get(requestId)?.first ?? seq, last: seq });
  }
  const placed = attempts.flatMap((made) => {
    const place = places.get(made.requestId ?? '');
    const isOwn = !(made.end.kind === 'error' && made.end.code === 'duplicate_request');
    return place !== undefined && isOwn ? [{ ...made, ...place }] : [];
  });
  // What was refused without a record may still be taken back.
  const isOver = ({ end, requestId = '' }: Seen): boolean =>
    records.has(requestId) && (end.kind === 'error' || end.kind === 'ended');
  const over = placed.filter(isOver).toSorted((one, other) => one.endMs - other.endMs);
  const misplaced: string[] = [];
  let [at, latest] = [0, -Infinity];
  for (const { startMs, first, requestId } of placed.toSorted((one, other) => one.startMs - other.startMs)) {
    for (let ended = over[at]; ended !== undefined && ended.endMs < startMs; ended = over[(at += 1)])
      latest = Math.max(latest, ended.last);
    if (first < latest)
      misplaced.push(`${requestId} has entry ${first}, though entry ${latest} was made before it began`);
  }
  return misplaced;
}
