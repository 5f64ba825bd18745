/** Each oddity once through a whole gateway, over every transport. */

import { expect } from 'chai';
import type { RequestRecord, ResponseResource } from '../../../src/contract/types.ts';
import { callerOf, type Caller } from '../../records/caller.ts';
import { startScriptedBackend, type ScriptedBackend } from '../../support/backend.ts';
import { openManagedGateway, type ManagedGateway } from '../../support/managed.ts';
import { useRealSockets } from '../../support/real-sockets.ts';
import { speakTo } from '../../support/web-socket.ts';
import { expectWellFormed, parseEvents } from '../../support/well-formed.ts';
import { isStream } from './answer.ts';
import { loadAnswers, oddBody, type Recorded } from './cases.ts';
import { ODDITIES } from './oddities.ts';
import { WIRES } from './wires.ts';

const CHAT = { model: 'm', messages: [{ role: 'user', content: 'Hello' }] };

/** What a client was told, and what the gateway keeps of it. */
interface Told {
  readonly over: string;
  readonly response?: ResponseResource;
  readonly record: RequestRecord;
}

describe('an odd answer', () => {
  useRealSockets();

  const answers = loadAnswers({ isPlain: true });
  const streams = answers.filter(({ chunks }) => isStream(chunks));
  const completions = answers.filter(({ chunks }) => !isStream(chunks));
  let backend: ScriptedBackend;
  /** One asks for streams, also for those who want JSON. */
  let streaming: ManagedGateway;
  let asked: ManagedGateway;

  before(async () => {
    backend = await startScriptedBackend();
    streaming = await openManagedGateway({ UPSTREAM_BASE_URL: backend.baseUrl, UPSTREAM_DIALECT: 'llamacpp' });
    asked = await openManagedGateway({ UPSTREAM_BASE_URL: backend.baseUrl });
  });

  after(async () => {
    await streaming.close();
    await asked.close();
    await backend.close();
  });

  async function tell(recorded: Recorded, body: string): Promise<readonly Told[]> {
    const isEvents = isStream(recorded.chunks);
    const gateway = isEvents ? streaming : asked;
    const { secret } = await gateway.issue();
    const caller = callerOf(gateway.url, secret);
    const request = { ...recorded.request, model: 'm' };
    const headers = { 'content-type': isEvents ? 'text/event-stream' : 'application/json' };
    backend.always({ text: body, headers });
    const chat = isEvents ? { ...CHAT, stream: true, stream_options: { include_usage: true } } : CHAT;
    const told = [
      await readReply('JSON', await caller.create(request), caller),
      await readReply('chat completions', await caller.complete(chat), caller),
    ];
    if (!isEvents) return told;
    const stream = await readReply('SSE', await caller.create({ ...request, stream: true }), caller);
    return [...told, stream, await askByFrame(gateway.url, secret, request, caller)];
  }

  /** The same to all, and for the same money. */
  function expectAlike(told: readonly Told[], means: 'same' | 'broken'): void {
    const [first, ...others] = told;
    expect(first?.record.status, 'the status of the record').to.equal(means === 'same' ? 'succeeded' : 'failed');
    for (const { over, response, record } of others) {
      const { status, error, incomplete_details: incomplete, usage, cost, usage_estimated: isEstimated } = record;
      expect({ status, incomplete, code: error?.code }, `the record of ${over}`).to.deep.equal({
        status: first?.record.status,
        incomplete: first?.record.incomplete_details,
        code: first?.record.error?.code,
      });
      // What is estimated depends on the words of the request.
      if (!isEstimated || first?.record.usage_estimated === false)
        expect({ usage, cost }, `what ${over} costs`).to.deep.equal({
          usage: first?.record.usage,
          cost: first?.record.cost,
        });
      if (response !== undefined && response.status !== 'failed')
        expect(apartFromIds(response), `the response over ${over}`).to.deep.equal(apartFromIds(first?.response));
    }
  }

  for (const [at, oddity] of ODDITIES.entries()) {
    it(`is told alike over every transport with ${oddity.name}`, async () => {
      for (const some of [streams, oddity.settings === undefined ? completions : []]) {
        const found = firstOf(some, at, (answer) => oddBody(answer, [oddity]));
        if (found !== undefined) expectAlike(await tell(...found), oddity.means);
      }
    });
  }

  for (const [at, wire] of WIRES.entries()) {
    it(`is told alike over every transport, and came over ${wire.name}`, async () => {
      const found = firstOf(streams, at, (answer) => oddBody(answer, [], wire));
      if (found === undefined) throw new Error('no answer can come so');
      expectAlike(await tell(...found), 'same');
    });
  }
});

/** The first answer that can be changed; another one for each oddity. */
function firstOf(
  answers: readonly Recorded[],
  from: number,
  change: (answer: Recorded) => string | undefined,
): [Recorded, string] | undefined {
  for (let step = 0; step < answers.length; step += 1) {
    const answer = answers[(from + step) % answers.length];
    const body = answer && change(answer);
    if (answer !== undefined && body !== undefined) return [answer, body];
  }
  return undefined;
}

async function readReply(over: string, reply: Response, caller: Caller): Promise<Told> {
  const text = await reply.text();
  const record = await caller.final(reply.headers.get('x-request-id') ?? '');
  if (reply.status !== 200 || over === 'chat completions') return { over, record };
  return { over, record, response: over === 'JSON' ? JSON.parse(text) : expectWellFormed(parseEvents(text)) };
}

async function askByFrame(url: string, apiKey: string, request: object, caller: Caller): Promise<Told> {
  const speaker = await speakTo(url, { apiKey });
  const answer = await speaker.ask(request);
  speaker.close();
  const over = 'a WebSocket';
  if ('status' in answer) return { over, record: await caller.final(answer.headers['x-request-id'] ?? '') };
  const response = expectWellFormed(answer);
  return { over, response, record: await caller.final(response.id) };
}

function apartFromIds(response: unknown): unknown {
  return JSON.parse(
    JSON.stringify(response ?? null)
      .replaceAll(/"([a-z]+_)[0-9a-f]{32}([0-9a-f]{4})?"/g, '"$1…"')
      .replaceAll(/"(created_at|completed_at)":\d+/g, '"$1":0')
      .replaceAll(/"encrypted_content":"(?:[^"\\]|\\.)*"/g, '"encrypted_content":"…"'),
  );
}
