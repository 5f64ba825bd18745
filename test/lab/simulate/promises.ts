/** What must hold when a history has come to its rest (src/docs/guarantees.md). */

import type { RecordRow } from '../../../src/store/rows/records.ts';
import type { KeyRow } from '../../../src/store/rows/keys.ts';
import type { LedgerEntry, StoredKey } from '../../../src/core/books/keys.ts';
import type { Call } from './backend.ts';
import { findWrongCost } from './costs.ts';
import { ENDINGS, type Ending } from './steps.ts';
import { isChat, isEqual, SILENCE_MS, type Aftermath, type Caller, type Life } from './world.ts';

/** Returns a sentence for each promise that was broken. */
export async function findBroken(aftermath: Aftermath): Promise<readonly string[]> {
  const { lives, callers, leaked, noticed } = aftermath;
  const records = new Map<Life, RecordRow | null>();
  for (const life of lives) records.set(life, (await aftermath.ask('findAny', life.requestId)) as RecordRow | null);
  const broken = [...leaked, ...noticed, ...findRivals(aftermath), ...findUnrest(aftermath)];
  for (const [life, record] of records) {
    const say = (problem: string): void => void broken.push(`r${life.number}: ${problem}`);
    for (const problem of findFaults(life, record, aftermath)) say(problem);
    for (const problem of findWrongTries(life, aftermath)) say(problem);
    if (record !== null) for (const problem of findWrongCost(life, record, aftermath)) say(problem);
    if (record !== null && life.idempotencyKey !== undefined) {
      const kept = (await findKeeper(life, aftermath))?.requestId === life.requestId;
      if (kept !== keepsKey(life, record, aftermath)) say(`its idempotency key is ${kept ? 'kept' : 'free'}`);
      if (kept) for (const problem of findWrongRepeats(life, lives)) say(problem);
    }
  }
  for (const caller of callers) {
    const own = [...records.values()].filter((row) => row !== null && row.caller === caller.identity[0]) as RecordRow[];
    broken.push(...(await findWrongBooks(caller, own, aftermath)));
  }
  return broken;
}

/** The codes of refusals that leave no record. */
const REFUSED = new Set([
  'insufficient_credits',
  'spend_limit_exceeded',
  'store_unavailable',
  'gateway_draining',
  'client_disconnected',
  'duplicate_request',
]);

function findFaults(life: Life, record: RecordRow | null, aftermath: Aftermath): readonly string[] {
  const { cancelled } = aftermath;
  const { problem, process, seen, step } = life;
  const told = life.told();
  const faults = [...told.faults];
  const isGone = life.hasLeft || life.isCut || process.hasDied;
  if (problem !== undefined)
    faults.push(`the gateway failed: ${problem instanceof Error ? problem.stack : 'without an error'}`);
  if (!life.isOver && !process.hasDied) faults.push('it never ends');
  if (record?.status === 'processing') faults.push('its record is not final');
  if (told.end === undefined && !isGone) faults.push('its client is told no end');
  if (cancelled.has(life.requestId) && record?.status !== 'cancelled')
    faults.push(`its cancel was acknowledged, and it is ${record?.status ?? 'without a record'}`);
  if (mustBeRecordedFirst(life) && seen.asked === null)
    faults.push('a backend was asked before its record was on disk');
  if (told.code === 'duplicate_request') faults.push(...findWrongOriginal(life, aftermath));
  if (life.isTakenBack && told.end !== undefined && !REFUSED.has(told.code ?? ''))
    faults.push(`its final record has gone, and it is told ${told.end} ${told.code}`);
  if (record === null) return [...faults, ...findFaultsWithoutRecord(life, aftermath)];
  if (step.isMisshapen) faults.push('it has no right shape, and has a record');
  if (CONTENT.test(JSON.stringify(record))) faults.push('its record quotes the prompt or the answer');

  const expected = expectedOf(life, record, aftermath);
  const state = `${record.status} ${record.errorCode ?? record.incompleteReason ?? ''}`.trim();
  if (!expected.has(state)) faults.push(`its record is ${state}, and not ${[...expected].join(' or ')}`);
  if (mustLeaveNothing(life, record)) faults.push('a stranger has left a record');
  if (seen.first === null) faults.push('something was told before its record was on disk');
  if (told.end === undefined) return faults;
  if (told.end === 'error' && REFUSED.has(told.code ?? '')) {
    // Who dies cannot take back any more what it has refused. What somebody has cancelled stays, as the 202 says.
    const isInterrupted = process.hasDied && (record.errorCode === 'gateway_interrupted' || life.isWrittenOnce);
    // Somebody who repeats it was told that it has ended.
    const isConfirmed = process.wasTakenForDead && record.confirmed === 1;
    return isInterrupted || isConfirmed || record.cancelRequestedAtMs !== null
      ? faults
      : [...faults, `it was refused with ${told.code}, and has a record`];
  }
  if (life.facts.isToldEarly) return faults;
  if (seen.end?.status === 'processing') faults.push('its end was told before it was on disk');
  const status = statusOf(told.end, told.code);
  if (status !== record.status) faults.push(`its client is told ${told.end} ${told.code}, and its record is ${state}`);
  if (!isChat(step) && (told.end === 'incomplete') !== (record.incompleteReason !== null))
    faults.push(`its client is told ${told.end}, and its record is ${state}`);
  if (mustNotRetry(life, record, aftermath) && life.client.headers['x-should-retry'] !== 'false')
    faults.push(`its client may try it again after ${told.code}, and would only be told of a duplicate`);
  return faults;
}

/** What the prompts and the answers of all scripts have in them. No HMAC has a space. */
const CONTENT = /say |word \d|no memory/;

/** Funds, limits and idempotency keys are decided by the commit. */
function mustBeRecordedFirst({ caller, idempotencyKey }: Life): boolean {
  return isLimited(caller.key) || idempotencyKey !== undefined;
}

function isLimited(key: StoredKey | undefined): boolean {
  return key !== undefined && [key.balanceMicro, ...Object.values(key.limits)].some((limit) => limit !== null);
}

/** An error in the place of an answer says whether a repeat would run. A frame has no headers. */
function mustNotRetry(life: Life, record: RecordRow, aftermath: Aftermath): boolean {
  const { idempotencyKey, step, client, process } = life;
  // What others have closed meanwhile keeps its key whatever it was told.
  if (process.wasTakenForDead) return false;
  const isStatus = step.kind !== 'a WebSocket' && client.statusCode !== 200;
  return isStatus && idempotencyKey !== undefined && keepsKey(life, record, aftermath);
}

/** A duplicate is told of an equal request that was accepted, and runs nothing itself. */
function findWrongOriginal(life: Life, { lives, calls }: Aftermath): readonly string[] {
  const [id] = /req_[0-9a-z]+/.exec(life.client.text) ?? [];
  const original = lives.find(({ requestId }) => requestId === id);
  const faults: string[] = [];
  if (original === undefined || original === life || !isEqual(original, life))
    faults.push(`it is told to repeat ${original === undefined ? 'nothing' : `r${original.number}`}`);
  if (calls.some((call) => call.life === life.number)) faults.push('it is told to be a duplicate, and was run');
  return faults;
}

/** Whoever repeats what was told to somebody is told so, before funds, limits and a drain are looked at. */
function findWrongRepeats(life: Life, lives: readonly Life[]): readonly string[] {
  return lives
    .filter(({ repeats, step }) => repeats === life && !step.isMisshapen)
    .map((repeat) => ({ repeat, told: repeat.told() }))
    .filter(({ told: { end, code = '' } }) => end !== undefined && !ANSWERS_TO_REPEATS.has(code))
    .map(({ repeat, told }) => `its repeat r${repeat.number} is told ${told.end} ${told.code}`);
}

const ANSWERS_TO_REPEATS = new Set(['duplicate_request', 'store_unavailable', 'client_disconnected']);

/** Whoever was never accepted leaves nothing, since everybody can make up a key. */
function mustLeaveNothing({ process, caller }: Life, { key, errorCode, cancelRequestedAtMs }: RecordRow): boolean {
  const isStranger = key === null && !process.strangersNoMore.has(caller.name);
  const isNothing = errorCode === 'client_disconnected' || REFUSALS.has(errorCode);
  return isStranger && isNothing && cancelRequestedAtMs === null;
}

/** A client that was told of an answer has a record; others need none. */
function findFaultsWithoutRecord(life: Life, aftermath: Aftermath): readonly string[] {
  const { end, code = '', status } = life.told();
  if (life.step.isMisshapen) return findWrongRefusalOfShape(life, aftermath);
  // Such a stream has said that it begins, because the backend was slow, and then its client has left or was refused.
  if (life.isStranger && (end === undefined || end === 'failed') && !life.client.text.includes('"delta"')) return [];
  const isKeyRefused = triesOf(life, aftermath.calls).some(({ ending }) => ending === 'answers 401');
  // A slow backend can refuse the key when the stream has begun, and before any output.
  const isRemovedStream = isKeyRefused && end === 'failed' && !life.client.text.includes('"delta"');
  if (status === 200 && life.client.headersSent && !isRemovedStream) return ['it was answered, and has no record'];
  if (LIMITED.has(code) && isWithinLimits(life, aftermath)) return [`it was told ${code}, and had used nothing`];
  if (end === undefined || REFUSED.has(code)) return [];
  if (code === 'rate_limit_exceeded' && life.caller.key !== undefined && hasRate(life.caller.key)) return [];
  return life.isStranger || isKeyRefused ? [] : [`it was told ${code}, and has no record`];
}

function findWrongRefusalOfShape({ number, told }: Life, { calls }: Aftermath): readonly string[] {
  const { end, code, status } = told();
  const isRefused = end === undefined || (end === 'error' && code === 'invalid_request' && status === 400);
  const isAsked = calls.some((call) => call.life === number);
  return isRefused && !isAsked ? [] : [`it has no right shape, and is told ${status} ${end} ${code}`];
}

/** What only the gateway says of its own keys, as long as there is no record. */
const LIMITED = new Set(['insufficient_credits', 'spend_limit_exceeded', 'rate_limit_exceeded']);

/** One request alone is never too much. */
function isWithinLimits({ caller, isStranger }: Life, { lives }: Aftermath): boolean {
  return !isStranger && caller.key !== undefined && lives.filter((life) => life.caller === caller).length === 1;
}

function hasRate({ limits }: StoredKey): boolean {
  return limits.requestsPerMinute !== null || limits.tokensPerMinute !== null;
}

function statusOf(end: string, code: string | undefined): RecordRow['status'] {
  if (code === 'request_cancelled' || end === 'cancelled') return 'cancelled';
  return end === 'completed' || end === 'incomplete' ? 'succeeded' : 'failed';
}

/** Which backend failure is recorded as what, before any output. */
const FAILURES: Partial<Record<Ending, string>> = {
  'goes silent': 'upstream_timeout',
  'answers 400': 'invalid_request',
  'answers 429': 'rate_limit_exceeded',
  'answers 500': 'upstream_error',
  'answers 503': 'upstream_error',
  'breaks off': 'upstream_error',
  'is not there': 'upstream_unreachable',
  'closes without an answer': 'upstream_error',
  'says an error instead': 'upstream_error',
};

/** The states in which the record may end, by its script and by what has happened to it. */
function expectedOf(life: Life, record: RecordRow, aftermath: Aftermath): ReadonlySet<string> {
  const { hasLeft, isCut, process, waitedMs } = life;
  if (record.cancelRequestedAtMs !== null) return new Set(['cancelled request_cancelled']);
  const expected = new Set(naturalsOf(life, record, aftermath));
  if (waitedMs >= SILENCE_MS) expected.add('failed upstream_timeout');
  if (hasRefusedForNothing(life, aftermath)) expected.add('failed invalid_request');
  if (hasLeft || isCut) expected.add('cancelled client_disconnected');
  if (process.wasInterrupted || process.wasTakenForDead || process.hasDied) expected.add('failed gateway_interrupted');
  return expected;
}

/** How long the words of a refusal are waited for. */
const REFUSAL_MS = 5000;

/** Its words came too late, so that nobody knows which field it was about. */
function hasRefusedForNothing({ number }: Life, { calls }: Aftermath): boolean {
  return calls.some(
    ({ life, ending, refusedAtMs = Infinity, endedAtMs = 0, hasExplained }) =>
      life === number && ending === undefined && !hasExplained && endedAtMs - refusedAtMs >= REFUSAL_MS,
  );
}

/** What decides the record where several backends were asked (src/docs/backends.md). */
function naturalsOf(life: Life, record: RecordRow, aftermath: Aftermath): readonly string[] {
  const { script } = life.step;
  const { calls, backends } = aftermath;
  if (backends === 'one') return [naturalOf(script.ending, record)];
  const tries = triesOf(life, calls);
  const decisive = decisiveOf(tries);
  if (decisive === undefined) return ['failed no_backend_available', 'failed server_overloaded'];
  const [first] = tries;
  if (tries.length === 1 && REFUSING.has(decisive) && first !== undefined && doAllRest(first, aftermath))
    return ['failed no_backend_available', naturalOf(decisive, record)];
  // Who waits too long for the first byte is given up, for another one with `any`.
  if (!askedFor(life, calls).some(({ wasCut }) => wasCut)) return [naturalOf(decisive, record)];
  return ['failed upstream_timeout', ...tries.map(({ ending = decisive }) => naturalOf(ending, record))];
}

/** The last one decides, unless its failure would hide that an earlier one may have run. */
function decisiveOf(tries: readonly Call[]): Ending | undefined {
  const last = tries.at(-1);
  if (
    last?.ending === undefined ||
    last.hasBegun ||
    !(Object.hasOwn(FAILURES, last.ending) || last.ending === 'answers 401')
  )
    return last?.ending;
  return (
    tries.find(({ ending = last.ending }) => ending !== undefined && !NOTHING_RAN.has(ending))?.ending ?? last.ending
  );
}

function naturalOf(ending: Ending, { key }: RecordRow): string {
  if (ending === 'answers 401') return key === null ? 'no record' : 'failed upstream_error';
  const failure = FAILURES[ending];
  if (failure !== undefined) return `failed ${failure}`;
  if (ENDINGS[ending] === 'length') return 'succeeded max_output_tokens';
  return ENDINGS[ending] === 'content_filter' ? 'succeeded content_filter' : 'succeeded';
}

/** What the backend refuses has not run. */
const REFUSALS = new Set<string | null>([
  'invalid_request',
  'rate_limit_exceeded',
  'upstream_unreachable',
  'no_backend_available',
  'server_overloaded',
]);

function keepsKey(life: Life, { status, errorCode }: RecordRow, { calls }: Aftermath): boolean {
  // A wrong key of the operator's is told as a failure of the backend.
  const isRefused = decisiveOf(triesOf(life, calls)) === 'answers 401' && errorCode === 'upstream_error';
  return status !== 'failed' || !(isRefused || REFUSALS.has(errorCode));
}

async function findKeeper(life: Life, { identities, ask }: Aftermath): Promise<RecordRow | null> {
  const { caller, idempotencyKey = '', body, step } = life;
  const candidate = {
    caller: caller.identity[0],
    idempotencyKey: identities.idempotencyKey(caller.identity, idempotencyKey)[0],
    body: identities.body(caller.identity, body, isChat(step) ? 'chat.completions' : 'responses')[0],
  };
  return (await ask('findDuplicate', [candidate])) as RecordRow | null;
}

/** For one identity and key the backend runs once at most. Strangers leave nothing by which they could be known again. */
function findRivals({ calls, lives }: Aftermath): readonly string[] {
  const runs = new Map<string, Set<number>>();
  for (const { life: number, mayHaveRun } of calls) {
    const life = lives[number];
    if (!mayHaveRun || life?.idempotencyKey === undefined || life.isStranger) continue;
    const name = `${life.caller.name} ${life.idempotencyKey} ${life.body.toString()}`;
    runs.set(name, (runs.get(name) ?? new Set()).add(number));
  }
  return [...runs.values()]
    .filter(({ size }) => size > 1)
    .map(
      (numbers) => `the backend has run ${[...numbers].map((each) => `r${each}`).join(' and ')}, which are the same`,
    );
}

/** What a refusal says in front of several backends: nothing has run, and another one may be asked. */
const REFUSING = new Set<Ending>(['answers 429', 'answers 503', 'is not there']);

const NOTHING_RAN = new Set<Ending>([...REFUSING, 'answers 400', 'answers 401']);

/** Another backend is asked only while nothing has been said and, without `any`, nothing has run. */
function findWrongTries(life: Life, { calls, backends }: Aftermath): readonly string[] {
  const asked = askedFor(life, calls);
  const places = asked.filter((call, index) => call.backend !== asked[index - 1]?.backend);
  const wrong = asked.slice(0, -1).flatMap((call, index) => {
    const { backend, ending, hasBegun, wasCut, hasExplained } = call;
    const place = asked[index + 1]?.backend === backend ? 'it' : 'another backend';
    if (hasBegun) return [`${place} was asked after ${backend} had begun`];
    if (place === 'it')
      return ending === undefined && hasExplained ? [] : [`${backend} was asked again, and had refused no field`];
    const mayMove =
      backends === 'any'
        ? wasCut || (ending !== undefined && ending !== 'answers 400')
        : REFUSING.has(ending ?? 'ends by itself') && !wasCut;
    return mayMove ? [] : [`another backend was asked after ${backend}, which ${ending ?? 'refused a field'}`];
  });
  if (new Set(places.map(({ backend }) => backend)).size < places.length) wrong.push('one backend was asked twice');
  return wrong;
}

function askedFor({ number }: Life, calls: readonly Call[]): readonly Call[] {
  return calls.filter(({ life }) => life === number);
}

/** Without those that only refused a field. */
function triesOf(life: Life, calls: readonly Call[]): readonly Call[] {
  return askedFor(life, calls).filter(({ ending }) => ending !== undefined);
}

const FIRST_REST_MS = 1000;

/** One failure is reason enough for a rest where no request can have provoked it; there is one model. */
const RESTING = new Set<Ending>(['answers 429', 'is not there']);

/** A backend that is not there, or has reached a limit, is left alone for a while by the same process. */
function findUnrest({ backends, ...aftermath }: Aftermath): readonly string[] {
  if (backends === 'one') return [];
  const { calls } = aftermath;
  // Who has a place may be asked for once more there, without a field.
  const begun = calls.filter(
    (call, index) => calls.findIndex(({ life, backend }) => life === call.life && backend === call.backend) === index,
  );
  return begun
    .filter((call) => isResting(call.backend, call, aftermath, 1) && !doAllRest(call, aftermath))
    .map(({ backend, life }) => `${backend} is asked for r${life} while it rests`);
}

type Rests = Pick<Aftermath, 'calls' | 'lives' | 'keys'>;

/** Where all of them rest, the best is tried all the same. */
function doAllRest(call: Call, rests: Rests): boolean {
  return ['a', 'b'].every((backend) =>
    [isResting, hasFailedOften, isOnTrial].some((isLeftAlone) => isLeftAlone(backend, call, rests)),
  );
}

/** After a rest one request tries the backend, and others are not sent there before it has answered. */
function isOnTrial(backend: string, call: Call, rests: Rests): boolean {
  const here = callsAt(backend, call, rests);
  const hasRested = here.some(({ ending, endedAtMs = Infinity }) => {
    return ending !== undefined && RESTING.has(ending) && endedAtMs <= call.startedAtMs;
  });
  return hasRested && here.some((other) => other !== call && isDuring(other, call.startedAtMs));
}

function isDuring({ startedAtMs, endedAtMs = Infinity }: Call, atMs: number): boolean {
  return startedAtMs <= atMs && atMs <= endedAtMs;
}

/** Failures that requests may have provoked are reason enough once there are three in a row. Whose they were, the backend knows better. */
function hasFailedOften(backend: string, call: Call, rests: Rests): boolean {
  const failuresAtMs = callsAt(backend, call, rests)
    .filter(({ ending }) => ending !== undefined && Object.hasOwn(FAILURES, ending))
    .map(({ endedAtMs = Infinity }) => endedAtMs)
    .filter((endedAtMs) => endedAtMs <= call.startedAtMs);
  return failuresAtMs.length >= 3 && call.startedAtMs - Math.max(...failuresAtMs) < FIRST_REST_MS;
}

/** Whether the backend may have rested for this long when `call` begins: what happens within one millisecond has no order. */
function isResting(backend: string, call: Call, rests: Rests, forMs = 0): boolean {
  const here = callsAt(backend, call, rests);
  return here.some(({ ending, endedAtMs: atMs = Infinity, isWhole }) => {
    // A limit of the caller's own key says nothing to others.
    const isReason =
      ending !== undefined && RESTING.has(ending) && !(rests.keys === 'passthrough' && ending === 'answers 429');
    // A request that ends before the reason of its refusal has come says nothing of the backend.
    const restedMs = call.startedAtMs - atMs;
    if (!isReason || !isWhole || restedMs < forMs || restedMs >= FIRST_REST_MS) return false;
    // Whoever else is answered there meanwhile may end the rest, and does so for certain if its request began after the failure. What
    // has not ended yet may not have been answered before.
    const mustRest = forMs > 0;
    return !here.some(
      ({ hasBegun, ending: end, startedAtMs, endedAtMs = Infinity }) =>
        (hasBegun || (end !== undefined && typeof ENDINGS[end] === 'string')) &&
        (mustRest ? startedAtMs <= call.startedAtMs : startedAtMs > atMs && endedAtMs < call.startedAtMs) &&
        endedAtMs >= atMs,
    );
  });
}

/** The calls of the same process at this backend, which knows of no others. */
function callsAt(backend: string, { life }: Call, { calls, lives }: Rests): readonly Call[] {
  return calls.filter((other) => other.backend === backend && lives[other.life]?.process === lives[life]?.process);
}

async function findWrongBooks(
  { name, key, identity }: Caller,
  records: readonly RecordRow[],
  { ask, tookMs }: Aftermath,
): Promise<readonly string[]> {
  if (key === undefined) return [];
  const wrong: string[] = [];
  const say = (problem: string): void => void wrong.push(`${name}: ${problem}`);
  const row = (await ask('findKey', key.keyId)) as KeyRow;
  const ledger = (await ask('listLedger', key.keyId, { beforeSeq: Number.MAX_SAFE_INTEGER }, 10_000)) as LedgerEntry[];
  const { requestsPerMinute, spendPerDayMicro } = key.limits;
  const spentMicro = records.reduce((total, { costMicro }) => total + (costMicro ?? 0), 0);
  const largest = Math.max(0, ...records.map(({ heldMicro }) => heldMicro ?? 0));
  const atMostMicro = key.balanceMicro ?? spendPerDayMicro ?? Infinity;
  if (row.heldMicro !== 0) say(`${row.heldMicro} is held when nothing runs`);
  if (row.daySpentMicro !== spentMicro) say(`${row.daySpentMicro} is spent today, and the records cost ${spentMicro}`);
  if (spentMicro > atMostMicro + largest) say(`${spentMicro} of ${atMostMicro} is spent`);
  const minutes = Math.floor(tookMs / 60_000) + 1;
  if (records.length > (requestsPerMinute ?? Infinity) * minutes)
    say(`${records.length} requests were accepted within ${minutes} minutes`);
  if (key.balanceMicro !== null) wrong.push(...findWrongLedger(name, key.balanceMicro, { records, ledger, row }));
  else if (ledger.length > 0) say('it has a ledger without being prepaid');
  return identity[0] === key.keyId ? wrong : [...wrong, `${name} is somebody else`];
}

interface Books {
  readonly records: readonly RecordRow[];
  readonly ledger: readonly LedgerEntry[];
  readonly row: KeyRow;
}

function findWrongLedger(name: string, creditsMicro: number, { records, ledger, row }: Books): readonly string[] {
  const wrong: string[] = [];
  const say = (problem: string): void => void wrong.push(`${name}: ${problem}`);
  const sum = ledger.reduce((total, { amountMicro }) => total + amountMicro, 0);
  const spentMicro = records.reduce((total, { costMicro }) => total + (costMicro ?? 0), 0);
  if (row.balanceMicro !== sum) say(`the balance is ${row.balanceMicro}, and its ledger adds up to ${sum}`);
  if (sum !== creditsMicro - spentMicro) say(`of ${creditsMicro}, ${sum} is left, and the records cost ${spentMicro}`);
  const entries = Map.groupBy(ledger.toReversed(), ({ requestId }) => requestId);
  for (const { requestId, heldMicro, costMicro } of records) {
    const made = entries
      .get(requestId)
      ?.map(({ kind, amountMicro }) => `${kind} ${amountMicro}`)
      .join(', ');
    const settled = costMicro === null || costMicro === 0 ? '' : `, settle ${-costMicro}`;
    const expected = `reserve ${-(heldMicro ?? 0)}, release ${heldMicro ?? 0}${settled}`;
    if (made !== expected) say(`the entries of a request are ${made}, and not ${expected}`);
  }
  return wrong;
}
