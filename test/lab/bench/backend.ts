/**
 * A chat backend for the bench, on bare sockets so that it costs next to nothing: answers are prebuilt, of a request only
 * the model is read, which names the script. Every event is an HTTP chunk of its own, as real backends send them.
 *
 * `json` answers at once; `burst-<kind>` streams all deltas at once; `paced-<ms>-<count>` one delta each so many milliseconds, with
 * the time in it; `endless` sends them for as long as it is read.
 */
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { machineMs } from './clock.ts';
import { answer, say } from './processes.ts';
import { BURST_DELTAS, CHUNKS, isChunkKind, toUsage, type ChunkKind, type Piece } from './scripts.ts';

const toChunk = (choices: readonly object[], more: object = {}) =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices, ...more })}\n\n`;
const toDelta = ({ delta, choice, chunk }: Piece, finish: string | null = null) =>
  toChunk([{ index: 0, delta, ...choice, finish_reason: finish }], chunk);
const toFrame = (text: string) => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
const toStart = (delta: object) =>
  'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n' +
  toFrame(toDelta({ delta: { role: 'assistant', ...delta } }));
const toEnd = (deltas: number, finish = 'stop') =>
  [toDelta({ delta: {} }, finish), toChunk([], toUsage(deltas)), 'data: [DONE]\n\n'].map(toFrame).join('') +
  '0\r\n\r\n';
const toAnswer = (content: string) => {
  const completion = JSON.stringify({
    id: 'c',
    object: 'chat.completion',
    created: 1,
    model: 'm',
    choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
    ...toUsage(4),
  });
  return Buffer.from(
    `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${completion.length}\r\n\r\n${completion}`,
  );
};

const STREAM_START = toStart({ content: '' });
const JSON_ANSWER = toAnswer('A short answer.');
const CALL_START = toStart({
  tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name: 'tool_0', arguments: '' } }],
});
const toBurst = (kind: ChunkKind) => {
  const deltas = Array.from({ length: BURST_DELTAS }, (_, index) => toFrame(toDelta(CHUNKS[kind](index)))).join('');
  return Buffer.from(
    kind === 'arguments'
      ? CALL_START + deltas + toEnd(BURST_DELTAS, 'tool_calls')
      : STREAM_START + deltas + toEnd(BURST_DELTAS),
  );
};
const ENDLESS = Buffer.from(toFrame(toDelta(CHUNKS.repeated(0))).repeat(500));
const prebuilt = new Map<string, Buffer>();

const server = createServer({ noDelay: true }, (socket) => {
  socket.on('error', () => socket.destroy());
  readRequests(socket, (model) => play(socket, model));
});
server.listen(0, '127.0.0.1', () => say('listening', `http://127.0.0.1:${(server.address() as AddressInfo).port}`));
answer({
  usage() {
    const { user, system } = process.cpuUsage();
    return { cpuMicros: user + system };
  },
});

/** Calls back with the model of each request when its body has come. Whoever asks here says how long the body is. */
function readRequests(socket: Socket, onRequest: (model: string) => void): void {
  let start = Buffer.alloc(0);
  let left = 0;
  let model: string | undefined;
  socket.on('data', (bytes) => {
    if (model === undefined) {
      start = Buffer.concat([start, bytes]);
      const end = start.indexOf('\r\n\r\n');
      if (end < 0) return;
      left = Number(/\r\ncontent-length: *(\d+)/i.exec(start.toString('latin1', 0, end))?.[1]);
      model = /"model":"([^"]+)"/.exec(start.toString('latin1', end, end + 1000))?.[1];
      left -= start.length - end - 4;
    } else {
      left -= bytes.length;
    }
    if (left > 0) return;
    start = Buffer.alloc(0);
    const asked = model ?? 'json';
    model = undefined;
    onRequest(asked);
  });
}

function play(socket: Socket, model: string): void {
  const [script = '', first = '', second = ''] = model.split('-');
  if (script === 'json') socket.write(JSON_ANSWER);
  else if (script === 'burst') socket.write(build(model, () => toBurst(isChunkKind(first) ? first : 'repeated')));
  else if (script === 'paced') playPaced(socket, Number(first), Number(second));
  else if (script === 'endless') playEndless(socket);
  else socket.destroy(new Error(`no script ${model}`));
}

function build(model: string, make: () => Buffer): Buffer {
  const built = prebuilt.get(model) ?? make();
  prebuilt.set(model, built);
  return built;
}

function playPaced(socket: Socket, ms: number, count: number): void {
  const writeDelta = (before: string, after: string) =>
    socket.write(before + toFrame(toDelta({ delta: { content: ` @${machineMs().toFixed(3)}` } })) + after);
  let left = count - 1;
  writeDelta(STREAM_START, '');
  const timer = setInterval(() => {
    left -= 1;
    writeDelta('', left === 0 ? toEnd(count) : '');
    if (left === 0) stop();
  }, ms);
  const stop = () => {
    clearInterval(timer);
    socket.off('close', stop);
  };
  socket.once('close', stop);
}

function playEndless(socket: Socket): void {
  socket.write(STREAM_START);
  const writeOn = () => {
    while (!socket.destroyed && socket.write(ENDLESS));
  };
  socket.on('drain', writeOn);
  writeOn();
}
