import { setTimeout as delay } from 'node:timers/promises';
import type { ChatRequest } from '../core/chat.ts';
import { ApiError } from '../core/errors.ts';
import { FEW_TOKENS, limited, no, toMessages, unclear, yes, type Finish } from './probes.ts';
import { askOnce, type Question } from './question.ts';

const LONG_TEXT = toMessages('Count from 1 to 500, with nothing else.');
/** A long request is at work before the next one comes. */
const HEAD_START_MS = 300;
/** A server with room for another request has answered a short one by then. */
const MIN_PATIENCE_MS = 800;
/** llama.cpp answers so many at a time by default. */
const MAX_LONG = 4;
/** Times differ a little from one request to the next. */
const MARGIN = 1.2;

/**
 * Aborts long JSON requests while a short one waits behind them: if their generation stops, the short
 * one is answered before they would have ended. A server that answers several at a time gets more long
 * ones, until the short one has to wait.
 */
export async function abortJson(question: Question): Promise<Finish> {
  const left = new AbortController();
  try {
    return await compareTimes(question, left.signal);
  } finally {
    left.abort(GIVEN_UP);
  }
}

/** Leaves requests behind that the signal ends. */
async function compareTimes(question: Question, signal: AbortSignal): Promise<Finish> {
  const long = new AbortController();
  const askLong = (until: AbortSignal): Promise<End> => ask(question, limited(question.manner, LONG_TEXT), until);
  const askShort = (): Promise<End> => ask(question, limited(question.manner, SHORT_TEXT, FEW_TOKENS), signal);

  const quickAtMs = performance.now();
  if ((await askShort()) === 'failed') return FAILED;
  const patienceMs = Math.max(MIN_PATIENCE_MS, 3 * (performance.now() - quickAtMs));

  const startedMs = performance.now();
  const longEnds: Promise<'too soon'>[] = [];
  let short = Promise.resolve<End>('answered');
  let first: End | 'too soon' | 'time' = 'answered';
  while (first === 'answered' && longEnds.length < MAX_LONG) {
    longEnds.push(askLong(AbortSignal.any([signal, long.signal])).then(() => 'too soon' as const));
    if ((await Promise.race([...longEnds, wait(HEAD_START_MS)])) !== 'time') return TOO_SOON;
    short = askShort();
    first = await Promise.race([...longEnds, short, wait(patienceMs)]);
  }
  if (first === 'answered') return unclear('other requests are answered beside it, so that time does not tell');
  if (first === 'failed') return FAILED;
  if (first === 'too soon') return TOO_SOON;

  long.abort(GIVEN_UP);
  const next = await Promise.race([short, wait(patienceMs)]);
  if (next === 'failed') return FAILED;
  if (next === 'time') return no(`the next request still waited ${(patienceMs / 1000).toFixed(1)} s later`);
  // It tells nothing if the long ones have ended by themselves.
  const tookMs = performance.now() - startedMs;
  const isLonger = (await Promise.race([askLong(signal), wait(MARGIN * tookMs)])) === 'time';
  return isLonger ? yes('the next request was answered at once') : TOO_SOON;
}

const SHORT_TEXT = toMessages('Reply with the word OK.');
const GIVEN_UP = new ApiError('request_cancelled');
const TOO_SOON = unclear('the answer came too soon to abort it');
const FAILED = unclear('the next request failed');

type End = 'answered' | 'failed';

function ask(question: Question, request: ChatRequest, signal: AbortSignal): Promise<End> {
  return askOnce(question, request, AbortSignal.any([signal, question.backend.signal])).then(
    ({ kind }) => (kind === 'answered' ? 'answered' : 'failed'),
    () => 'failed',
  );
}

function wait(ms: number): Promise<'time'> {
  return delay(ms, 'time', { ref: false });
}
