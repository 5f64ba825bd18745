import { EventEmitter } from 'node:events';
import type { Agent as HttpAgent, ClientRequest, IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Dispatcher } from 'undici';
import UndiciClient from 'undici/lib/dispatcher/client.js';
import type { ReplyHeaders } from './reply-headers.ts';

/**
 * When a connection to one backend may be used again. Servers on cpp-httplib, as llama.cpp, promise to keep a connection and
 * close it within a millisecond of the end of a stream. A request that has been put on it by then is lost, and a POST must not
 * be repeated by itself (RFC 9110 section 9.2.2). So until a connection of this backend has stayed open for some time after
 * such an answer, each of them waits for so long.
 */
export interface Reuse {
  /** For a connection that has just been made. */
  watch(): WatchedConnection;
}

interface WatchedConnection {
  /** An answer has ended whole. Calls `giveBack` once, when another request may follow or the connection is closed. */
  ended(headers: ReplyHeaders, giveBack: () => void): void;
  /** `byBackend` says that the backend closed it, before anything came of another answer. */
  closed(byBackend: boolean): void;
  /** No request should follow. */
  isOld(): boolean;
}

/** What balances connections behind one address gets to decide again. A request that runs is not cut. */
export const MAX_AGE_MS = 300_000;
/** A closing that is this late has other reasons than the end of the answer. */
const PROOF_MS = 250;
/** After a connection was closed early. The server may have been about to end, or only some behind this address close early. */
const DOUBT_MS = 60_000;

export function createReuse(): Reuse {
  /** Whether connections stay open after an answer with a length, which is taken for granted, and after one in chunks. */
  const lasts = { sized: true, chunked: false };
  let closedEarlyAtMs = -Infinity;
  return {
    watch() {
      const madeAtMs = performance.now();
      let ended: { readonly framing: keyof typeof lasts; readonly atMs: number } | undefined;
      let giveBack: (() => void) | undefined;
      let proof: NodeJS.Timeout | undefined;

      function release(): void {
        const release = giveBack;
        giveBack = undefined;
        release?.();
      }

      return {
        isOld: () => performance.now() - madeAtMs >= MAX_AGE_MS,
        ended(headers, whenUsable) {
          const framing = headers['transfer-encoding'] === undefined ? 'sized' : 'chunked';
          ended = { framing, atMs: performance.now() };
          giveBack = whenUsable;
          if (lasts[framing]) return release();
          // What arrived while the process stood still is read after its timers.
          const prove = (): unknown => setImmediate(stayedOpen, framing);
          proof = setTimeout(prove, PROOF_MS).unref();
        },
        closed(byBackend) {
          clearTimeout(proof);
          if (byBackend && ended !== undefined && performance.now() - ended.atMs < PROOF_MS) {
            lasts[ended.framing] = false;
            closedEarlyAtMs = performance.now();
          }
          release();
        },
      };

      function stayedOpen(framing: keyof typeof lasts): void {
        if (giveBack === undefined) return;
        if (performance.now() - closedEarlyAtMs >= DOUBT_MS) lasts[framing] = true;
        release();
      }
    },
  };
}

interface Answer {
  /** 0 before the answer has begun. */
  readonly status: number;
  readonly headers: ReplyHeaders;
}

/** Makes a connection of an undici pool, which uses it again when it emits `drain`. */
export function createReusedClient(origin: URL, options: object, reuse: Reuse): Dispatcher {
  return new ReusedClient(origin, options, reuse);
}

class ReusedClient extends UndiciClient {
  readonly #reuse: Reuse;
  #connection: WatchedConnection | undefined;
  /** That of the request which was sent last, until it has ended. */
  #answer: Answer | undefined;

  constructor(origin: URL, options: object, reuse: Reuse) {
    super(origin, options);
    this.#reuse = reuse;
  }

  override dispatch(options: Dispatcher.DispatchOptions, answer: Dispatcher.DispatchHandler & Answer): boolean {
    this.#answer = answer;
    return super.dispatch(options, answer);
  }

  override emit(event: string | symbol, ...values: unknown[]): boolean {
    const connection = this.#connection;
    const answer = this.#answer;
    const hasBegun = answer !== undefined && answer.status > 0;
    if (event === 'drain' && connection !== undefined && hasBegun) {
      this.#answer = undefined;
      connection.ended(answer.headers, () => EventEmitter.prototype.emit.call(this, event, ...values));
      return true;
    }
    if (event === 'connect') this.#connection = this.#reuse.watch();
    const isHeard = EventEmitter.prototype.emit.call(this, event, ...values);
    if (event === 'disconnect') {
      this.#connection = undefined;
      connection?.closed(!hasBegun && isOfBackend(values[2]));
    }
    return isHeard;
  }
}

/** Makes an agent of Node wait as well, which uses a connection again when it emits `free`. */
export function watchAgent(agent: HttpAgent, reuse: Reuse): { answered(answer: IncomingMessage): void } {
  const connections = new WeakMap<Socket, WatchedConnection>();
  /** Those of which an answer has begun and not ended. */
  const answers = new WeakMap<Socket, ReplyHeaders>();
  const idle = new WeakSet<Socket>();
  const [free] = agent.listeners('free');
  agent.removeAllListeners('free');
  agent.on('free', (socket: Socket, options: unknown) => {
    const headers = answers.get(socket);
    answers.delete(socket);
    idle.add(socket);
    const connection = connections.get(socket);
    const giveBack = (): void => {
      if (connection?.isOld() === true) {
        // The backend has not closed it.
        idle.delete(socket);
        return void socket.destroy();
      }
      socket.off('error', refuse).off('data', refuse);
      free?.call(agent, socket, options);
      // It has as many as it keeps.
      if (socket.destroyed) idle.delete(socket);
    };
    // Node does the same for those that it keeps: what comes now belongs to no request.
    const refuse = (): unknown => socket.destroy();
    socket.on('error', refuse).on('data', refuse);
    if (headers === undefined || connection === undefined) giveBack();
    else connection.ended(headers, () => setImmediate(giveBack));
  });
  const reuseSocket = agent.reuseSocket.bind(agent);
  agent.reuseSocket = (socket: Socket, request: ClientRequest): void => {
    idle.delete(socket);
    reuseSocket(socket, request);
  };

  return {
    answered({ socket, headers }) {
      answers.set(socket, headers);
      if (connections.has(socket)) return;
      const connection = reuse.watch();
      connections.set(socket, connection);
      socket.once('close', () => {
        const hasLeft = idle.has(socket) || socket.readableEnded || isOfBackend(socket.errored);
        connection.closed(!answers.has(socket) && hasLeft);
      });
    },
  };
}

/** Not because of something that the gateway did. */
function isOfBackend(reason: unknown): boolean {
  if (!(reason instanceof Error)) return false;
  return 'syscall' in reason || ('code' in reason && reason.code === 'UND_ERR_SOCKET');
}
