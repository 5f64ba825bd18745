import { AssertionError, expect } from 'chai';
import { readTold, type Caller } from '../../../records/caller.ts';
import type { Node } from './nodes.ts';
import { isChat, toBody, type Plan } from './plans.ts';

/** What came of sending a request once. */
export interface Attempt {
  readonly plan: Plan;
  readonly node: Node;
  /** In Unix time. */
  readonly startMs: number;
  readonly endMs: number;
  /** Of the record that the reply named; undefined where there was no reply. */
  readonly requestId: string | undefined;
  readonly end: End;
}

export type End =
  /** There was no reply: nobody listened, or the connection broke before. */
  | { readonly kind: 'no reply' }
  /** The reply began and broke. */
  | { readonly kind: 'broken' }
  | { readonly kind: 'left' }
  /** None of the contract. */
  | { readonly kind: 'malformed'; readonly why: string }
  /** An HTTP error, which is that of a duplicate among others. */
  | { readonly kind: 'error'; readonly status: number; readonly code: string }
  /** It came to an answer, or to a failure in its stream. */
  | { readonly kind: 'ended'; readonly how: 'completed' | 'failed' | 'cancelled'; readonly code?: string };

/** Sends the request of this plan once. */
export async function attempt(plan: Plan, node: Node, caller: Caller, leaving?: AbortSignal): Promise<Attempt> {
  const startMs = Date.now();
  const signal = AbortSignal.any([AbortSignal.timeout(plan.patienceMs), ...(leaving === undefined ? [] : [leaving])]);
  let requestId: string | undefined;
  let end: End;
  try {
    const init = { headers: { 'idempotency-key': plan.name }, signal };
    const reply = await (isChat(plan.kind) ? caller.complete : caller.create)(toBody(plan), init);
    requestId = reply.headers.get('x-request-id') ?? undefined;
    expect(requestId, `the id in a reply ${reply.status}`).to.match(/^req_/);
    end = await read(plan, reply);
  } catch (error) {
    if (error instanceof AssertionError || error instanceof SyntaxError)
      end = { kind: 'malformed', why: error.message };
    else if (signal.aborted) end = { kind: 'left' };
    else end = { kind: requestId === undefined ? 'no reply' : 'broken' };
  }
  return { plan, node, startMs, endMs: Date.now(), requestId, end };
}

async function read(plan: Plan, reply: Response): Promise<End> {
  if (isChat(plan.kind)) return readChat(reply.status, await reply.text());
  const told = await readTold(reply);
  if ('status' in told) return { kind: 'error', ...told };
  const how = told.ends === 'incomplete' ? 'completed' : told.ends;
  if (how !== 'completed' && how !== 'failed' && how !== 'cancelled') throw new AssertionError(`it ended ${how}`);
  return { kind: 'ended', how, ...(told.code !== undefined && { code: told.code }) };
}

/** What the backend says passes through as it is, so that an end that was cut off is seen by its missing last words. */
function readChat(status: number, body: string): End {
  const code = /"code":\s*"([a-z_]+)"/.exec(body)?.[1];
  if (status !== 200) return { kind: 'error', status, code: code ?? 'as the backend says' };
  if (body.includes('"error"')) {
    const how = code === 'request_cancelled' ? 'cancelled' : 'failed';
    return { kind: 'ended', how, ...(code !== undefined && { code }) };
  }
  if (body.startsWith('{') || body.includes('[DONE]')) return { kind: 'ended', how: 'completed' };
  return { kind: 'broken' };
}
