/** A marked text in every part of prompts, completions and keys, to be looked for where none of them may stay. */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Reply, ScriptedBackend } from '../support/backend.ts';
import { callerOf } from './caller.ts';
import { callArguments, finish, text, usageChunk } from './chunks.ts';
import { callerBy, isJson, KINDS } from './web-socket-caller.ts';

/** In letters which every encoding of the marks leaves alone but base64 and hex, which are looked for as well. */
export const MARK = 'canary7q4x9zw3';
const MARKS = [
  MARK,
  MARK.toUpperCase(),
  Buffer.from(MARK).toString('hex'),
  // What is sure of a text in base64, whatever stands before it.
  ...[0, 1, 2].map((shift) =>
    Buffer.from('x'.repeat(shift) + MARK)
      .toString('base64')
      .slice(shift === 0 ? 0 : 4, -4),
  ),
];

const marked = (where: string): string => `${where} ${MARK}`;
const API_KEY = `sk-${MARK}-key`;

export const REQUEST = {
  model: 'the-model',
  instructions: marked('instructions'),
  user: marked('user'),
  safety_identifier: marked('safety'),
  prompt_cache_key: marked('cache'),
  metadata: { [marked('name')]: marked('value') },
  tools: [
    {
      type: 'function',
      name: 'look',
      description: marked('description'),
      parameters: { type: 'object', properties: { [MARK]: { type: 'string' } } },
    },
  ],
  input: [
    { role: 'user', content: marked('prompt') },
    {
      role: 'user',
      content: [
        { type: 'input_text', text: marked('part') },
        { type: 'input_image', image_url: `https://example.com/${MARK}.png` },
      ],
    },
    { type: 'function_call', call_id: 'call_0', name: 'look', arguments: JSON.stringify({ at: marked('arguments') }) },
    { type: 'function_call_output', call_id: 'call_0', output: marked('output') },
  ],
};

const MARKED_ERROR = { error: { message: marked('because of'), type: MARK, code: MARK, param: MARK } };

const ANSWERED: Reply = {
  sse: [
    { choices: [{ index: 0, delta: { reasoning_content: marked('thought') } }] },
    text(marked('answer')),
    callArguments(JSON.stringify({ at: marked('arguments') })),
    finish('tool_calls'),
    usageChunk,
  ],
};

const ANSWERS: readonly Reply[] = [
  // Before a success, since what fails for a key that was refused is counted.
  { json: MARKED_ERROR, status: 401 },
  ANSWERED,
  { sse: [text(marked('cut'))], done: false },
  { sse: [text(marked('failing')), { error: { message: marked('in the middle'), code: 500 } }], done: false },
  ...[400, 402, 404, 413, 422, 429, 500, 503].map((status) => ({ json: MARKED_ERROR, status })),
  { text: `<html>${MARK}</html>`, status: 404 },
  { text: `<html>${MARK}</html>` },
  { text: `{"choices": [{"message": {"content": "${MARK}"`, headers: { 'content-type': 'application/json' } },
  { text: `data: {"choices": [{"delta": {"content": "${MARK}\n\n`, headers: { 'content-type': 'text/event-stream' } },
];

/** What the gateway refuses by itself. */
const MISTAKES: readonly string[] = [
  `{"model": "m", "input": "${MARK}`,
  `{"model": "m", "input": {"${MARK}": 1}}`,
  `{"model": "m", "input": "x", "tools": [{"type": "${MARK}"}], "tool_choice": {"type": "${MARK}"}}`,
  `{"model": "m", "input": [{"type": "${MARK}"}]}`,
  `{"model": "m", "input": "x", "temperature": "${MARK}"}`,
  `{"model": "m", "input": "x", "previous_response_id": "${MARK}"}`,
  `{"model": "m", "input": "x", "metadata": {"${MARK}": 7}}`,
  `{"model": "m", "input": [{"type": "function_call_output", "output": "${MARK}"}]}`,
];

/** Makes every kind of request, and returns the replies in which the caller's own words have no place. */
export async function tellEverything(url: string, backend: ScriptedBackend): Promise<readonly string[]> {
  const caller = callerOf(url, API_KEY);
  const others: string[] = [];
  for (const [index, answer] of ANSWERS.entries()) {
    for (const kind of KINDS) {
      const caller = callerBy(kind, url, API_KEY);
      const stream = !isJson(kind);
      backend.reply(answer);
      const headers = { 'idempotency-key': `${MARK}-${index}-${kind}`, cookie: `session=${MARK}`, traceparent: MARK };
      const own = await caller.create({ ...REQUEST, stream }, { headers });
      others.push(...sealedIn(await own.text()));
      const duplicate = await caller.create({ ...REQUEST, stream }, { headers });
      if (duplicate.status === 409) others.push(await duplicate.text());
      else await duplicate.text();
      others.push(await (await caller.get('/api/v1/requests', headers)).text());
      const requestId = own.headers.get('x-request-id') ?? '';
      others.push(await (await caller.get(`/api/v1/requests/${requestId}`)).text());
      others.push(await (await caller.cancel(requestId)).text());
    }
  }
  // The next turn of this conversation, whose record says what has changed.
  backend.reply(ANSWERED);
  const broken = await caller.create({ ...REQUEST, instructions: marked('other instructions') });
  await broken.text();
  others.push(JSON.stringify(await caller.final(broken.headers.get('x-request-id') ?? '')));
  // The replies to these may quote their caller to himself.
  for (const mistake of MISTAKES) {
    for (const kind of ['json', 'web socket'] as const) {
      await (await callerBy(kind, url, API_KEY).create(mistake)).text();
    }
  }
  const headers = { 'idempotency-key': `${MARK}\t` };
  others.push(await (await caller.create(REQUEST, { headers })).text());
  others.push(await (await callerOf(url, `${API_KEY} `.repeat(2)).create(REQUEST)).text());

  for (const abort of [false, true]) {
    backend.reply(async ({ sse, hang }) => {
      await sse(text(marked('unfinished')));
      await hang();
    });
    const client = new AbortController();
    const running = await caller.create({ ...REQUEST, stream: true }, { signal: client.signal });
    const requestId = running.headers.get('x-request-id') ?? '';
    if (abort) client.abort();
    else others.push(await (await caller.cancel(requestId)).text());
    await running.text().catch(() => undefined);
    others.push(JSON.stringify(await caller.final(requestId)));
  }
  for (const stream of [false, true]) {
    for (const answer of ANSWERS) {
      backend.reply(answer);
      const passedOn = await fetch(`${url}/v1/chat/completions?query=${MARK}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json', cookie: `session=${MARK}` },
        body: JSON.stringify({ model: 'the-model', messages: [{ role: 'user', content: marked('prompt') }], stream }),
      });
      await passedOn.text().catch(() => undefined);
    }
  }
  for (const query of ['', `?model=${MARK}`, `?status=${MARK}`, `?after=${MARK}`, `?limit=${MARK}`]) {
    others.push(await (await caller.get(`/api/v1/requests${query}`)).text());
  }
  return others;
}

/** The compactions in a reply, which tell nobody what they say. */
function sealedIn(reply: string): readonly string[] {
  if (!reply.startsWith('{"id":')) return [];
  const { output } = JSON.parse(reply) as { output: readonly { type: string }[] };
  return output.filter(({ type }) => type === 'compaction').map((item) => JSON.stringify(item));
}

/** All files below the folder, with what is in them. */
export function readFiles(folder: string): Map<string, string> {
  const paths = readdirSync(folder, { recursive: true, withFileTypes: true });
  const files = paths.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return new Map(files.map((file) => [file, readFileSync(file, 'latin1')]));
}

/** Fails when the marked text stands in this content, in any encoding that the gateway could give it. */
export function expectUnmarked(content: string, where: string): void {
  for (const mark of MARKS) {
    const at = content.indexOf(mark);
    const around = content.slice(Math.max(0, at - 60), at + 60).replaceAll(/[^\x20-\x7e]/g, '.');
    expect(at, `a marked text in ${where}: ${around}`).to.equal(-1);
  }
}
