import { expect } from 'chai';
import type { ApiError } from '../../src/core/errors.ts';
import type { TestSettings } from '../support/settings.ts';
import type { OutputItem, ResponseEvent, ResponseResource } from '../../src/contract/types.ts';
import { startScriptedBackend, type ScriptedBackend, type Stage } from '../support/backend.ts';
import { openGateway, type TestGateway } from '../support/gateway.ts';
import { casesOf } from '../support/property.ts';
import { useRealSockets } from '../support/real-sockets.ts';
import { loadRecordings, readRecordedAnswer, type Recording, type RecordedAnswer } from '../support/recordings.ts';
import { speakTo } from '../support/web-socket.ts';
import { expectWellFormed, parseEvents } from '../support/well-formed.ts';
import { allArrived, turn } from '../support/time.ts';

type ErrorBody = ReturnType<ApiError['toBody']>;

/** What a client got of one answer, as a stream, as JSON and over a WebSocket. */
interface Got {
  readonly stream: Result;
  readonly json: Result;
  readonly frames: Result;
}

interface Result {
  readonly status: number;
  readonly events: readonly ResponseEvent[];
  /** Undefined when the reply was an HTTP error. */
  readonly response: ResponseResource | undefined;
  readonly error: ErrorBody['error'] | undefined;
}

describe('the gateway in front of recorded backends', () => {
  useRealSockets();

  const recordings = loadRecordings();
  /** By their settings: what one has served before changes nothing. */
  const gateways = new Map<string, TestGateway>();
  let backend: ScriptedBackend;

  before(async () => {
    console.log(`\n  ${casesOf(recordings).length} recordings are replayed through the gateway`);
    backend = await startScriptedBackend();
  });

  after(async () => {
    await Promise.all([...gateways.values()].map((gateway) => gateway.close()));
    await backend.close();
  });

  async function open(settings: TestSettings = {}): Promise<TestGateway> {
    const name = JSON.stringify(settings);
    const gateway = gateways.get(name) ?? (await openGateway({ UPSTREAM_BASE_URL: backend.baseUrl, ...settings }));
    gateways.set(name, gateway);
    return gateway;
  }

  for (const recording of casesOf(recordings)) {
    it(`passes on what ${recording.name} says, whole and in pieces`, async () => {
      const { body, tools } = recording;
      backend.always((stage) => replay(stage, recording));
      const gateway = await open();
      const [whole, pieces] = await Promise.all([
        ask(gateway, { model: 'whole', input: 'Hello', tools }),
        ask(gateway, { model: 'pieces', input: 'Hello', tools }),
      ]);

      for (const got of [whole, pieces]) {
        if (recording.status === 200) expectSaid(got, readRecordedAnswer(body));
        else expectRefused(got, recording);
        expectAlike(got);
      }
      expect(apartFromIds({ ...pieces.json.response, model: '' }), 'in pieces').to.deep.equal(
        apartFromIds({ ...whole.json.response, model: '' }),
      );
    });
  }

  const streams = recordings.filter(({ contentType }) => contentType === 'text/event-stream');
  for (const recording of casesOf(streams)) {
    const part = cutBeforeEnd(recording.body);
    it(`never completes ${recording.name} when it is cut`, async () => {
      const { text } = readRecordedAnswer(part);
      backend.always((stage) => breakOff(stage, part));
      const gateway = await open();
      for (const model of ['close', 'reset', 'end']) {
        const got = await ask(gateway, { model, input: 'Hello', tools: recording.tools });
        expectAlike(got);
        expect(got.json.status).to.be.within(400, 599);
        if (got.stream.response === undefined) continue;
        expect(got.stream.response.status).to.equal('failed');
        expect(textOfDeltas(got.stream.events)).to.have.property('text', text);
      }
    });
  }
});

async function replay({ request, start, write, end }: Stage, recording: Recording): Promise<void> {
  const { status, contentType, body } = recording;
  start(status, { 'content-type': contentType });
  const cuts = (request.body as { model: string }).model === 'whole' ? [] : cutsIn(body);
  for (const [index, cut] of cuts.entries()) {
    await write(body.subarray(cuts[index - 1] ?? 0, cut));
    await turn(1);
  }
  end(body.subarray(cuts.at(-1) ?? 0));
}

/** As much as it may be while the backend has not said that it is done. */
function cutBeforeEnd(body: Buffer): Buffer {
  for (let share = 0.6; ; share /= 2) {
    const part = body.subarray(0, body.length * share);
    const { finishReason, done } = readRecordedAnswer(part);
    if (finishReason === undefined && !done) return part;
  }
}

/** Sends the part, and then ends in the way that the request's model names. */
async function breakOff({ request, write, cut, end }: Stage, part: Buffer): Promise<void> {
  const { model } = request.body as { model: string };
  await write(part);
  await allArrived();
  if (model === 'end') end();
  else cut(model === 'reset' ? 'reset' : 'close');
}

/** A few places: two inside a character, where there are such, and some inside of words and JSON. */
function cutsIn(body: Buffer): number[] {
  const withinCharacters = [...body.keys()].filter((at) => ((body[at] ?? 0) & 0xc0) === 0x80);
  const cuts = [
    ...[0.2, 0.7].flatMap((share) => withinCharacters[Math.floor(withinCharacters.length * share)] ?? []),
    ...[0.1, 0.5, 0.95].map((share) => Math.floor(body.length * share)),
    3,
  ];
  return [...new Set(cuts)].sort((a, b) => a - b);
}

async function ask(gateway: TestGateway, request: object): Promise<Got> {
  const [stream, json, frames] = await Promise.all([
    gateway.create({ ...request, stream: true }),
    gateway.create({ ...request, stream: false }),
    askByFrame(gateway, request),
  ]);
  return { stream: await readStream(stream), json: await readJson(json), frames };
}

async function askByFrame(gateway: TestGateway, request: object): Promise<Result> {
  const speaker = await speakTo(gateway.url);
  const { stream: _stream, ...fields } = request as { stream?: boolean };
  const answer = await speaker.ask(fields);
  speaker.close();
  if ('status' in answer) {
    const { status, error, headers } = answer;
    expect(headers['x-request-id']).to.match(/^req_[0-9a-f]{32}$/);
    return { status, events: [], response: undefined, error };
  }
  return { status: 200, events: answer, response: expectWellFormed(answer), error: undefined };
}

async function readStream(reply: Response): Promise<Result> {
  if (reply.status !== 200) return readJson(reply);
  const events = parseEvents(await reply.text());
  const response = expectWellFormed(events);
  expect(reply.headers.get('x-request-id')).to.equal(response.id.replace('resp_', 'req_'));
  return { status: 200, events, response, error: undefined };
}

async function readJson(reply: Response): Promise<Result> {
  expect(reply.headers.get('content-type')).to.equal('application/json; charset=utf-8');
  const { status } = reply;
  if (status === 200) {
    return { status, events: [], response: (await reply.json()) as ResponseResource, error: undefined };
  }
  const { error } = (await reply.json()) as ErrorBody;
  for (const field of [error.message, error.type, error.param, error.code]) expect(field).to.be.a('string');
  return { status, events: [], response: undefined, error };
}

/** The frames are the events of the stream, and its final response is the JSON reply, but for ids and times. */
function expectAlike({ stream, json, frames }: Got): void {
  expect(apartFromIds(frames), 'over a WebSocket').to.deep.equal(apartFromIds(stream));
  if (stream.response?.status === 'failed') {
    const { code, message } = json.error ?? {};
    expect({ code, message }, 'the error of the JSON reply').to.deep.equal(stream.response.error);
  } else {
    expect(json.status).to.equal(stream.status);
    expect(json.error).to.deep.equal(stream.error);
    expect(apartFromIds(json.response)).to.deep.equal(apartFromIds(stream.response));
  }
}

function apartFromIds(response: unknown): unknown {
  return JSON.parse(
    JSON.stringify(response ?? null)
      .replaceAll(/"([a-z]+_)[0-9a-f]{32}([0-9a-f]{4})?"/g, '"$1…$2"')
      .replaceAll(/"(created_at|completed_at)":\d+/g, '"$1":0')
      .replaceAll(/"encrypted_content":"(?:[^"\\]|\\.)*"/g, '"encrypted_content":"…"'),
  );
}

function expectSaid({ stream }: Got, said: RecordedAnswer): void {
  const cut = said.finishReason === undefined && !said.done;
  if (stream.response === undefined) {
    expect(said.error, 'only an error in place of an answer is an HTTP error').to.equal(true);
    expect(stream.status).to.be.within(400, 599);
    return;
  }
  const { status, output, incomplete_details, usage } = stream.response;
  expect({ status, reason: incomplete_details?.reason }).to.deep.equal(
    cut || said.error ? { status: 'failed', reason: undefined } : endOf(said.finishReason),
  );
  const { refusal, reasoning } = said;
  const told = { text: reasoning === '' ? said.text : said.text.replace(/^\s*\n/, ''), refusal, reasoning };
  expect(textOfDeltas(stream.events)).to.deep.equal(told);
  if (status === 'failed') return;
  expect(textOf(output)).to.deep.equal(told);
  expect(usage).to.deep.equal(said.usage);
  const calls = output.filter((item) => item.type === 'function_call');
  expect(calls.map(({ name, arguments: given }) => ({ name, arguments: given }))).to.deep.equal(
    said.calls.map(({ name, arguments: given }) => ({ name, arguments: given })),
  );
  for (const [index, { call_id }] of calls.entries()) {
    const id = said.calls[index]?.id ?? '';
    if (id === '') expect(call_id).to.match(/^call_[0-9a-f]{36}$/);
    else expect(call_id).to.equal(id);
  }
}

function endOf(finishReason: string | undefined): object {
  if (finishReason === 'length') return { status: 'incomplete', reason: 'max_output_tokens' };
  if (finishReason === 'content_filter') return { status: 'incomplete', reason: 'content_filter' };
  return { status: 'completed', reason: undefined };
}

function textOfDeltas(events: readonly ResponseEvent[]): object {
  const all = (type: ResponseEvent['type']) =>
    events.map((event) => (event.type === type && 'delta' in event ? event.delta : '')).join('');
  return {
    text: all('response.output_text.delta'),
    refusal: all('response.refusal.delta'),
    reasoning: all('response.reasoning_summary_text.delta'),
  };
}

function textOf(output: readonly OutputItem[]): object {
  const parts = output.flatMap((item) => (item.type === 'message' ? item.content : []));
  return {
    text: parts.map((part) => (part.type === 'output_text' ? part.text : '')).join(''),
    refusal: parts.map((part) => (part.type === 'refusal' ? part.refusal : '')).join(''),
    reasoning: output
      .flatMap((item) => (item.type === 'reasoning' ? item.summary : []))
      .map(({ text }) => text)
      .join(''),
  };
}

const CODES: Readonly<Record<number, readonly string[]>> = {
  400: ['invalid_request', 'context_length_exceeded'],
  401: ['invalid_api_key'],
  402: ['insufficient_credits'],
  403: ['forbidden'],
  404: ['model_not_found', 'not_found'],
  429: ['rate_limit_exceeded'],
  500: ['upstream_error'],
};

/** The 4xx of a backend are for the caller as they are, its 5xx become 502 (contract, section 5). */
function expectRefused({ stream }: Got, { status, body }: Recording): void {
  const { message = '', code } = stream.error ?? {};
  expect(stream.status).to.equal(status < 500 ? status : 502);
  expect(CODES[status], `the codes of ${status}`).to.include(code);
  const { error, detail } = JSON.parse(body.toString());
  expect(message, "the backend's own words").to.include(detail ?? error.message);
}
