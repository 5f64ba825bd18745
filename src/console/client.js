/** Calls the gateway's API with the key, and throws every error as a Failure. */

/** @import { ResponseEvent, ResponseResource } from '../contract/types.ts' */

export class Failure extends Error {
  /**
   * @param {{ status: number, code: string, message: string, param?: string, retryAfterMs?: number }} facts
   *   `status` is 0 without an answer.
   */
  constructor({ status, code, message, param = '', retryAfterMs = 0 }) {
    super(message);
    this.name = 'Failure';
    this.status = status;
    this.code = code;
    this.param = param;
    this.retryAfterMs = retryAfterMs;
  }

  /** Whether the same question always has this answer. */
  get isFinal() {
    return this.status === 400 || this.status === 404;
  }

  get sentence() {
    if (this.status === 0) return this.message;
    const wait = this.retryAfterMs > 0 ? ` Try again in ${Math.ceil(this.retryAfterMs / 1000)} s.` : '';
    return `${this.message}${wait} (${this.status} ${this.code})`;
  }
}

/**
 * Returns what was thrown as a Failure. Throws mistakes of the page itself again.
 * @type {(thrown: unknown) => Failure}
 */
export function toFailure(thrown) {
  if (thrown instanceof Failure) return thrown;
  throw thrown;
}

/**
 * @typedef {{ signal?: AbortSignal, headers?: Readonly<Record<string, string>> }} Asking
 *
 * @typedef {object} Client
 * @property {(path: string, asking?: Asking) => Promise<unknown>} get `path` is below that of the
 *   API. Throws Failure.
 * @property {(path: string, body: object | null, asking?: Asking) => Promise<Response>} post Throws
 *   Failure if the status is not 2xx.
 * @property {(method: 'POST' | 'PATCH' | 'DELETE', path: string, body?: object) => Promise<unknown>} change Returns
 *   the JSON of the reply. Throws Failure.
 * @property {() => WebSocket} openSocket Is not open yet. Throws Failure if the key cannot be sent.
 */

/**
 * @param {object} options
 * @param {() => string} options.key
 * @param {(failure: Failure) => void} options.onRefused The failure is thrown as well.
 * @param {string} [options.api] Where the API is, from the page.
 * @returns {Client}
 */
export function createClient({ key, onRefused, api = '../api/v1/' }) {
  const root = new URL(api, document.baseURI);

  /**
   * @param {string} path
   * @param {Omit<RequestInit, 'headers'> & { headers?: Readonly<Record<string, string>> }} init
   */
  async function ask(path, init) {
    const secret = key();
    const headers = { ...init.headers, authorization: `Bearer ${secret}` };
    const response = await reach(new URL(path, root), { ...init, headers, cache: 'no-store', credentials: 'omit' });
    if (response.ok) return response;
    const failure = await readFailure(response);
    // Another key may have been entered by now, of which this says nothing.
    if (response.status === 401 && key() === secret) onRefused(failure);
    throw failure;
  }

  /** @param {string} method @param {string} path @param {object | null} body @param {Asking} asking */
  function send(method, path, body, { signal, headers }) {
    const json = body === null ? {} : { body: JSON.stringify(body) };
    const type = body === null ? {} : { 'content-type': 'application/json' };
    return ask(path, { method, headers: { ...headers, ...type }, ...(signal && { signal }), ...json });
  }

  return {
    async get(path, asking = {}) {
      return readJson(await ask(path, asking));
    },
    post: (path, body, asking = {}) => send('POST', path, body, asking),
    async change(method, path, body) {
      return readJson(await send(method, path, body ?? null, {}));
    },
    openSocket() {
      const url = new URL('responses', root);
      url.protocol = url.protocol.replace('http', 'ws');
      try {
        // A page cannot set headers on a WebSocket, but it can name subprotocols.
        return new WebSocket(url, ['responses', `openai-insecure-api-key.${key()}`]);
      } catch {
        throw new Failure({ status: 0, code: 'unsendable', message: UNSENDABLE });
      }
    },
  };
}

const UNSENDABLE = 'The key has characters which a browser cannot send over a WebSocket. HTTP can.';

/**
 * Returns the JSON of a reply. Throws Failure when the connection breaks or the reply is no JSON.
 * @param {Response} response
 * @returns {Promise<unknown>}
 */
export async function readJson(response) {
  try {
    return await response.json();
  } catch (error) {
    if (isAbort(error)) throw error;
    throw new Failure({ status: 0, code: 'unreadable', message: 'The gateway’s answer could not be read.' });
  }
}

/** @param {URL} url @param {RequestInit} init */
async function reach(url, init) {
  try {
    return await fetch(url, init);
  } catch (error) {
    if (isAbort(error)) throw error;
    throw new Failure({ status: 0, code: 'unreachable', message: 'The gateway does not answer. Is it still running?' });
  }
}

/** A connection that ended before its answer. */
export function broken() {
  return new Failure({ status: 0, code: 'cut', message: 'The connection broke before the answer had ended.' });
}

/** Returns the response of an event in a final state. @type {(event: ResponseEvent) => ResponseResource | null} */
export function finalResponse(event) {
  const { type } = event;
  const isLast = type === 'response.completed' || type === 'response.incomplete' || type === 'response.failed';
  return isLast ? event.response : null;
}

/** @param {Response} response */
async function readFailure(response) {
  /** @type {unknown} */
  const body = await response.json().catch(() => null);
  const { error } = /** @type {{ error?: { message?: unknown, code?: unknown, param?: unknown } }} */ (body ?? {});
  const { message = response.statusText, code = 'unknown', param = '' } = error ?? {};
  const seconds = Number(response.headers.get('retry-after') ?? 0);
  return new Failure({
    status: response.status,
    code: String(code),
    message: String(message),
    param: String(param),
    retryAfterMs: Number.isFinite(seconds) ? seconds * 1000 : 0,
  });
}

/** Returns whether the page itself has aborted the request. @param {unknown} error */
export function isAbort(error) {
  return error instanceof DOMException && error.name === 'AbortError';
}
