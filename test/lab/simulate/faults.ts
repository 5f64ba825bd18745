/** Faults that the simulation must find: the real sources with one expression replaced as they are loaded. */

import { registerHooks } from 'node:module';

export interface Fault {
  readonly name: string;
  /** In `src`. */
  readonly file: string;
  readonly right: string;
  readonly wrong: string;
  /** Several times as many histories as it took when it was planted. */
  readonly within: number;
}

export const FAULTS: readonly Fault[] = [
  {
    name: 'a finish that is lost',
    file: 'requests/record.ts',
    right: 'store.finish(requestId, outcome, correction)',
    wrong: 'Promise.resolve(outcome.status)',
    within: 50,
  },
  {
    name: 'a settlement that is made twice',
    file: 'store/book/changes.ts',
    right: 'return isFinal(record) ? record.status : end(record, outcome, correction);',
    wrong: 'return end(record, outcome, correction);',
    within: 2000,
  },
  {
    name: 'an end that is told before it is on disk',
    file: 'requests/telling.ts',
    right: 'const ended = telling.end(ending);',
    wrong: 'void telling.end(ending); const ended = Promise.resolve(ending.failure);',
    within: 50,
  },
  {
    name: 'a stream that begins before its record',
    file: 'requests/telling.ts',
    right: 'if (!telling.isAllowed()) return undefined;',
    wrong: '',
    within: 5000,
  },
  {
    name: 'a failure that is told before its record',
    file: 'requests/telling.ts',
    right: 'if (translator.ended) {',
    wrong: 'if (translator.ended && translator.failure === null) {',
    within: 200,
  },
  {
    name: 'words of an answer whose record was refused',
    file: 'requests/telling.ts',
    right: 'const isStatus = isRevoked || !hasWords || !telling.isAllowed();',
    wrong: 'const isStatus = !hasWords;',
    within: 10_000,
  },
  {
    name: 'an undo that runs too late',
    file: 'store/queue/batch-queue.ts',
    right: 'if (call.caller === undefined) undo(call);',
    wrong: 'if (call.caller === undefined) setTimeout(() => undo(call), 60_000);',
    within: 2000,
  },
  {
    name: 'a cancel that is forgotten at the end',
    file: 'store/rows/records.ts',
    right: 'if (record.cancelRequestedAtMs === null) return closed;',
    wrong: 'if (outcome.status !== record.status) return closed;',
    within: 500,
  },
  {
    name: 'a hold that is not released',
    file: 'store/book/changes.ts',
    right: 'charges.settleHold(record, nowMs);',
    wrong: '',
    within: 2000,
  },
  {
    name: 'a duplicate that runs',
    file: 'store/book/changes.ts',
    right: "if (repeated !== null) return refused.get(repeated.requestId) ?? { kind: 'duplicate', record: repeated };",
    wrong: '',
    within: 500,
  },
  {
    name: 'an abort that does not reach the backend',
    file: 'backend/connection.ts',
    right: "signal.addEventListener('abort', this.#onAbort);",
    wrong: '',
    within: 2000,
  },
  {
    name: 'the record of a stranger',
    file: 'requests/outcome.ts',
    right: 'if (options.isStranger && !hasOutput)',
    wrong: 'if (options.isStranger && hasOutput)',
    within: 500,
  },
  {
    name: 'a last event that comes twice',
    file: 'requests/telling.ts',
    right: 'if (events.length > 0) last = events;\n        return undefined;',
    wrong: 'if (events.length > 0) last = events;\n        return sink?.write(events);',
    within: 50,
  },
  {
    name: 'an undo that is overtaken by what it undoes',
    file: 'store/queue/batch-queue.ts',
    right: '}, COMMITTED_WITHIN_MS).unref();',
    wrong: '}, 3_600_000).unref();',
    within: 6000,
  },
  {
    name: 'a success that others have closed as a failure',
    file: 'requests/failure-told.ts',
    right: "if (ended.status === 'failed') return failure ??",
    wrong: "if (ended.status === 'cancelled') return failure ??",
    within: 500,
  },
  {
    name: 'a charge that is not taken back',
    file: 'store/book/charges.ts',
    right: 'funds.write(key, refunded.funds);',
    wrong: '',
    within: 5000,
  },
  {
    name: 'a limit per minute that holds nobody up',
    file: 'store/book/charges.ts',
    right: 'return exceededBy(tokens, payer, countsAt(payer, payer.clockMs ?? atMs)) !== undefined;',
    wrong: 'return false;',
    within: 500,
  },
  {
    name: 'a spend limit that forgets what is reserved',
    file: 'store/book/funds.ts',
    right: 'heldMicro > roomMicro - funds.heldMicro',
    wrong: 'heldMicro > roomMicro',
    within: 5000,
  },
  {
    name: 'another backend after one that may have run the request',
    file: 'backend/failover.ts',
    right: "return hasRefused(thrown) || (policy().failover === 'any' && blameOf(thrown) === 'answer');",
    wrong: "return blameOf(thrown) !== 'request';",
    within: 2000,
  },
  {
    name: 'another backend after an answer that has begun',
    file: 'backend/failover.ts',
    right: 'if (hasBegun || isLeft) return tell(next);',
    wrong: 'if (isLeft) return tell(next);',
    within: 2000,
  },
  {
    name: 'a later refusal that hides what may have run',
    file: 'backend/failover.ts',
    right: 'if (failure === undefined || !mayHaveRun(failure.thrown)) failure = toldBy(place, next);',
    wrong: 'failure = next;',
    within: 5000,
  },
  {
    name: 'a backend that never rests',
    file: 'backend/choice/rests.ts',
    right: 'return own.isOpen() && ofModels.get(model)?.isOpen() !== false;',
    wrong: 'return true;',
    within: 10_000,
  },
  {
    name: 'a backend that is asked before the record is on disk',
    file: 'requests/accept.ts',
    right: 'return idempotency === undefined && !isLimited(caller.key) && !store.isFailing();',
    wrong: 'return !store.isFailing();',
    within: 50,
  },
  {
    name: 'a record that is refused while nobody hears of it',
    file: 'requests/record.ts',
    right: "state = { is: 'refused', why };\n      onRefused(why);",
    wrong: "state = { is: 'begun' };",
    within: 1000,
  },
  {
    name: 'a repeat that is refused for its funds',
    file: 'requests/accept.ts',
    right: 'if (record === undefined) throw refusal;',
    wrong: 'throw refusal;',
    within: 5000,
  },
  {
    name: 'a repeat that a client is asked to make',
    file: 'requests/telling.ts',
    right: 'if (failure !== null && keepsKey &&',
    wrong: 'if (failure !== null && !keepsKey &&',
    within: 500,
  },
  {
    name: 'a failure before any output that is charged',
    file: 'requests/outcome.ts',
    right: "if (hasOutput || failure.code === 'gateway_interrupted') return",
    wrong: 'if (hasOutput || !nothingRan(failure)) return',
    within: 500,
  },
  {
    name: 'a charge for a backend that was never asked',
    file: 'requests/outcome.ts',
    right: 'options.wasSent ? fillGaps',
    wrong: 'true ? fillGaps',
    within: 500,
  },
  {
    name: 'usage that is estimated although it was reported',
    file: 'requests/outcome.ts',
    right: 'const isKnown = isWhole(reported);',
    wrong: 'const isKnown = false;',
    within: 50,
  },
  {
    name: 'a record that somebody else may cancel',
    file: 'store/book/changes.ts',
    right: 'if (record === undefined || callers?.includes(record.caller) === false) return null;',
    wrong: 'if (record === undefined) return null;',
    within: 500,
  },
  {
    name: 'an incomplete answer that is recorded as a whole one',
    file: 'requests/outcome.ts',
    right: "return { ...used('succeeded'), incompleteReason: ending.incompleteReason };",
    wrong: "return used('succeeded');",
    within: 500,
  },
];

/** Returns the source with the fault in its one place. Throws when it finds no place any more, or several. */
export function withFault(fault: Fault, source: string): string {
  const parts = source.split(fault.right);
  if (parts.length !== 2) throw new Error(`${fault.file} has ${parts.length - 1} times: ${fault.right}`);
  return parts.join(fault.wrong);
}

const HERE = new URL('.', import.meta.url);
const SOURCES = new URL('../../../src/', HERE).href;
const TESTS = new URL('..', HERE).href;

/** Loads the simulation once more, over sources with this fault. Throws as `withFault` does. */
export async function plant(fault: Fault): Promise<typeof import('./check.ts')> {
  const at = `?fault=${FAULTS.indexOf(fault)}`;
  const place = `${SOURCES}${fault.file}${at}`;
  const hooks = registerHooks({
    resolve(specifier, context, next) {
      const found = next(specifier, context);
      const isOurs = found.url.startsWith(SOURCES) || found.url.startsWith(TESTS);
      return isOurs && context.parentURL?.endsWith(at) === true ? { ...found, url: `${found.url}${at}` } : found;
    },
    load(url, context, next) {
      const loaded = next(url, context);
      if (url !== place) return loaded;
      return { ...loaded, source: withFault(fault, Buffer.from(loaded.source as Uint8Array).toString()) };
    },
  });
  try {
    return (await import(`./check.ts${at}`)) as typeof import('./check.ts');
  } finally {
    hooks.deregister();
  }
}
