/** Calls between two processes or threads. Each end asks for what the other one serves. */

export type RpcService = Readonly<Record<string, (...parameters: never[]) => unknown>>;

/** Both ends clone structures, so maps and dates arrive as what they are. */
type Message =
  | readonly ['ask', id: number, name: string, parameters: readonly unknown[]]
  | readonly ['answer', id: number, value: unknown]
  | readonly ['failure', id: number, why: string];

export interface Asking<Theirs extends RpcService> {
  /** Throws with the message of the other end when that fails, or when the channel has ended. */
  ask<Name extends keyof Theirs & string>(
    name: Name,
    ...parameters: Parameters<Theirs[Name]>
  ): Promise<Awaited<ReturnType<Theirs[Name]>>>;
}

export interface Rpc<Theirs extends RpcService> extends Asking<Theirs> {
  /** Returns an rpc whose questions transfer this memory to the other thread in place of copying it. */
  transferring(memory: readonly ArrayBuffer[]): Asking<Theirs>;
  readonly receive: (message: unknown) => void;
  readonly disconnect: (lastWords?: string) => void;
  readonly isDisconnected: boolean;
}

interface Waiting {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

type Send = (message: object, moved?: readonly ArrayBuffer[]) => void;

/** Opens this end, which serves `mine`. `send` throws when the channel has ended. */
export function openRpc<Theirs extends RpcService>(send: Send, mine: RpcService): Rpc<Theirs> {
  const waiting = new Map<number, Waiting>();
  let lastId = 0;
  let endedBy: string | undefined;

  function transferring(memory: readonly ArrayBuffer[]): Asking<Theirs> {
    return { ask };

    function ask<Name extends keyof Theirs & string>(
      name: Name,
      ...parameters: Parameters<Theirs[Name]>
    ): Promise<Awaited<ReturnType<Theirs[Name]>>>;
    // The compiler cannot see that the other end answers with what its function returns.
    function ask(name: string, ...parameters: readonly unknown[]): Promise<unknown> {
      if (endedBy !== undefined) return Promise.reject(new Error(endedBy));
      lastId += 1;
      const id = lastId;
      return new Promise((resolve, reject) => {
        waiting.set(id, { resolve, reject });
        post(['ask', id, name, parameters], memory);
      });
    }
  }

  function serve(id: number, name: string, parameters: readonly unknown[]): void {
    const fail = (error: unknown): void =>
      post(['failure', id, error instanceof Error ? error.message : 'unknown reason']);
    try {
      const served = mine[name];
      if (served === undefined) throw new Error(`${name} is not served here`);
      const value: unknown = Reflect.apply(served, undefined, parameters);
      // The thread of the store answers at once. A promise would cost each batch some microseconds.
      if (value instanceof Promise) value.then((result: unknown) => post(['answer', id, result]), fail);
      else post(['answer', id, value]);
    } catch (error) {
      fail(error);
    }
  }

  function post(message: Message, moved: readonly ArrayBuffer[] = []): void {
    try {
      send(message, moved);
    } catch {
      disconnect();
    }
  }

  function settle(id: number): Waiting | undefined {
    const found = waiting.get(id);
    waiting.delete(id);
    return found;
  }

  function disconnect(lastWords = 'the other end is gone'): void {
    endedBy ??= lastWords;
    for (const { reject } of waiting.values()) reject(new Error(endedBy));
    waiting.clear();
  }

  return {
    ...transferring([]),
    transferring,
    disconnect,
    get isDisconnected() {
      return endedBy !== undefined;
    },
    receive(message) {
      if (!isMessage(message)) return;
      switch (message[0]) {
        case 'ask':
          return serve(message[1], message[2], message[3]);
        case 'answer':
          return settle(message[1])?.resolve(message[2]);
        case 'failure':
          return settle(message[1])?.reject(new Error(message[2]));
        default:
          return message satisfies never;
      }
    },
  };
}

interface Thread {
  postMessage(message: object, moved?: readonly ArrayBuffer[]): void;
  on(event: 'message' | 'error' | 'exit', listener: (value: unknown) => void): unknown;
}

/** Opens the end that started the thread. `onExit` gets the error that ended it, if any. */
export function openThreadRpc<Theirs extends RpcService>(
  thread: Thread,
  { name, onExit }: { readonly name: string; readonly onExit: (lastWords: string) => void },
): Rpc<Theirs> {
  const rpc = openRpc<Theirs>(thread.postMessage.bind(thread), {});
  let lastWords = `the thread of the ${name} ended`;
  thread.on('message', rpc.receive);
  thread.on('error', (error) => {
    if (error instanceof Error) lastWords = error.message;
  });
  thread.on('exit', () => {
    rpc.disconnect(lastWords);
    onExit(lastWords);
  });
  return rpc;
}

/** `node:cluster` and libraries send messages over the same channel. */
function isMessage(message: unknown): message is Message {
  return Array.isArray(message) && KINDS.has(message[0]);
}

const KINDS: ReadonlySet<unknown> = new Set<Message[0]>(['ask', 'answer', 'failure']);
