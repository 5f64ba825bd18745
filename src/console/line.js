import { broken, Failure, finalResponse } from './client.js';

/** @import { ResponseEvent, ResponseResource, WebSocketError } from '../contract/types.ts' */
/** @import { Client } from './client.js' */

/**
 * @typedef {object} Call
 * @property {object} request
 * @property {AbortSignal} signal Closes the connection, which stops the request.
 * @property {(isNew: boolean) => void} onOpen
 * @property {(frame: object) => void} onSent
 * @property {(event: ResponseEvent) => void} onEvent
 *
 * @typedef {object} Line
 * @property {string | null} latestId The response that the connection can continue.
 * @property {(call: Call) => Promise<ResponseResource>} call Throws Failure,
 *   or AbortError when the signal aborts.
 */

/** @type {(client: Client) => Line} */
export function createLine(client) {
  /** @type {WebSocket | null} */
  let socket = null;
  /** @type {string | null} */
  let latestId = null;

  function hangUp() {
    socket?.close();
    socket = null;
    latestId = null;
  }

  /** @param {AbortSignal} signal */
  async function open(signal) {
    if (socket?.readyState === WebSocket.OPEN) return socket;
    hangUp();
    const opening = client.openSocket();
    socket = opening;
    opening.addEventListener('close', () => {
      if (socket === opening) hangUp();
    });
    try {
      await untilOpen(opening, signal);
    } catch (error) {
      hangUp();
      // A browser hides from the page why a WebSocket was refused. A plain request shows it.
      if (error instanceof Failure) await client.get('requests?limit=1');
      throw error;
    }
    return opening;
  }

  return {
    get latestId() {
      return latestId;
    },
    async call({ request, signal, onOpen, onSent, onEvent }) {
      const isNew = socket?.readyState !== WebSocket.OPEN;
      const line = await open(signal);
      onOpen(isNew);
      const frame = { type: 'response.create', ...request };
      line.send(JSON.stringify(frame));
      onSent(frame);
      try {
        const response = await untilAnswered(line, signal, onEvent);
        latestId = response.status === 'completed' || response.status === 'incomplete' ? response.id : null;
        return response;
      } catch (error) {
        // After an error the connection has no history to continue, or is closed.
        latestId = null;
        if (!(error instanceof Failure) || error.status === 401) hangUp();
        if (error instanceof Failure && error.status === 401) await client.get('requests?limit=1');
        throw error;
      }
    },
  };
}

/** @type {(socket: WebSocket, signal: AbortSignal) => Promise<void>} */
function untilOpen(socket, signal) {
  const settled = new AbortController();
  const until = { signal: settled.signal };
  return new Promise((resolve, reject) => {
    socket.addEventListener('open', () => resolve(undefined), until);
    socket.addEventListener('close', () => reject(new Failure(NOT_OPENED)), until);
    signal.addEventListener('abort', () => reject(aborted()), until);
  }).finally(() => settled.abort());
}

const NOT_OPENED = {
  status: 0,
  code: 'unreachable',
  message: 'The WebSocket could not be opened. A proxy on the way may not let it through; HTTP may still work.',
};

/**
 * @param {WebSocket} socket
 * @param {AbortSignal} signal
 * @param {(event: ResponseEvent) => void} onEvent
 * @returns {Promise<ResponseResource>}
 */
function untilAnswered(socket, signal, onEvent) {
  const settled = new AbortController();
  const until = { signal: settled.signal };
  return new Promise((resolve, reject) => {
    socket.addEventListener('close', () => reject(broken()), until);
    signal.addEventListener('abort', () => reject(aborted()), until);
    socket.addEventListener('message', hear, until);

    /** @param {MessageEvent<unknown>} message */
    function hear({ data }) {
      const frame = /** @type {ResponseEvent | WebSocketError} */ (JSON.parse(String(data)));
      if ('status' in frame) {
        reject(toFailure(frame));
        return;
      }
      onEvent(frame);
      const last = finalResponse(frame);
      if (last !== null) resolve(last);
    }
  }).finally(() => settled.abort());
}

/** Matches what `fetch` throws. */
function aborted() {
  return new DOMException('The page has hung up.', 'AbortError');
}

/** @param {WebSocketError} frame */
function toFailure({ status, error, headers }) {
  const seconds = Number(headers['retry-after'] ?? 0);
  return new Failure({ status, code: error.code, message: error.message, retryAfterMs: seconds * 1000 });
}
