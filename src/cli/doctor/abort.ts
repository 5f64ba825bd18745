import { setTimeout as delay } from 'node:timers/promises';
import type { ChatRequest } from '../../core/chat.ts';
import { ApiError } from '../../core/errors.ts';
import { CHAT, limited, no, say, unclear, yes, type Finish } from './probes.ts';
import { askOnce, type Question } from './question.ts';

const LONG_TEXT = say('Count from 1 to 500, with nothing else.');
/** The long request is at work before the short one comes. */
const HEAD_START_MS = 300;
/** A server of several requests at a time has answered a short one by then. */
const MIN_PATIENCE_MS = 1500;

/**
 * Aborts a long JSON request while a short one waits behind it: if the generation stops, the short
 * one is answered soon. `quickMs` is how long a short one takes alone.
 */
export async function abortJson(question: Question, quickMs: number): Promise<Finish> {
  const long = begin(question, limited(question.manner, LONG_TEXT));
  let short: Begun | undefined;
  try {
    if ((await Promise.race([long.end, wait(HEAD_START_MS)])) !== 'time') return TOO_SOON;
    short = begin(question, CHAT.ask(question.manner));
    const patienceMs = Math.max(MIN_PATIENCE_MS, 3 * quickMs);
    const first = await Promise.race([long.end, short.end.then((end) => `short ${end}`), wait(patienceMs)]);
    if (first.startsWith('short')) return unclear('other requests are answered beside it, so that time does not tell');
    if (first !== 'time') return TOO_SOON;
    long.abort();
    const next = await Promise.race([short.end, wait(patienceMs)]);
    if (next === 'time') return no(`the next request still waited ${Math.round(patienceMs / 1000)} s later`);
    return next === 'answered' ? yes('the next request was answered at once') : unclear('the next request failed');
  } finally {
    long.abort();
    short?.abort();
  }
}

const TOO_SOON = unclear('the answer came too soon to abort it');

interface Begun {
  readonly end: Promise<'answered' | 'failed'>;
  abort(): void;
}

function begin(question: Question, request: ChatRequest): Begun {
  const left = new AbortController();
  const signal = AbortSignal.any([left.signal, question.backend.signal]);
  return {
    end: askOnce(question, request, signal).then(
      () => 'answered',
      () => 'failed',
    ),
    abort: () => left.abort(new ApiError('request_cancelled')),
  };
}

function wait(ms: number): Promise<'time'> {
  return delay(ms, 'time', { ref: false });
}
