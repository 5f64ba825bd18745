/** One end of the channel between two processes: each asks what the other one serves. */

import { unreachable } from '../../core/errors.ts';

/** What one end serves. */
export type Service = Readonly<Record<string, (...parameters: never[]) => unknown>>;

/** What is on the channel. Node's `advanced` serialization carries it, so maps and errors arrive as what they are. */
type Message =
  | readonly ['ask', id: number, name: string, parameters: readonly unknown[]]
  | readonly ['answer', id: number, value: unknown]
  | readonly ['failure', id: number, why: string];

export interface Rpc<Theirs extends Service> {
  /** Asks the other end. Throws with its words when that fails there, and when the channel has ended. */
  ask<Name extends keyof Theirs & string>(
    name: Name,
    ...parameters: Parameters<Theirs[Name]>
  ): Promise<Awaited<ReturnType<Theirs[Name]>>>;
  /** What has come from the other end. */
  readonly receive: (message: unknown) => void;
  /** The channel has ended: what is not answered by now never will be. */
  readonly cut: () => void;
  readonly isCut: boolean;
}

interface Waiting {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

const CUT = 'the other process is gone';

/** Opens this end. `send` throws when the channel has ended; `mine` is what the other end may ask for. */
export function openRpc<Theirs extends Service>(send: (message: object) => void, mine: Service): Rpc<Theirs> {
  const waiting = new Map<number, Waiting>();
  let lastId = 0;
  let isCut = false;

  function ask<Name extends keyof Theirs & string>(
    name: Name,
    ...parameters: Parameters<Theirs[Name]>
  ): Promise<Awaited<ReturnType<Theirs[Name]>>>;
  // What comes back over the channel is whatever was asked for; the compiler cannot see that.
  function ask(name: string, ...parameters: readonly unknown[]): Promise<unknown> {
    if (isCut) return Promise.reject(new Error(CUT));
    lastId += 1;
    const id = lastId;
    return new Promise((resolve, reject) => {
      waiting.set(id, { resolve, reject });
      post(['ask', id, name, parameters]);
    });
  }

  async function serve(id: number, name: string, parameters: readonly unknown[]): Promise<void> {
    try {
      const served = mine[name];
      if (served === undefined) throw new Error(`${name} is not served here`);
      const value: unknown = await Reflect.apply(served, undefined, parameters);
      post(['answer', id, value]);
    } catch (error) {
      post(['failure', id, error instanceof Error ? error.message : 'unknown reason']);
    }
  }

  function post(message: Message): void {
    try {
      send(message);
    } catch {
      cut();
    }
  }

  function settle(id: number): Waiting | undefined {
    const found = waiting.get(id);
    waiting.delete(id);
    return found;
  }

  function cut(): void {
    isCut = true;
    for (const { reject } of waiting.values()) reject(new Error(CUT));
    waiting.clear();
  }

  return {
    ask,
    cut,
    get isCut() {
      return isCut;
    },
    receive(message) {
      if (!isMessage(message)) return;
      switch (message[0]) {
        case 'ask':
          return void serve(message[1], message[2], message[3]);
        case 'answer':
          return settle(message[1])?.resolve(message[2]);
        case 'failure':
          return settle(message[1])?.reject(new Error(message[2]));
        default:
          return unreachable(message);
      }
    },
  };
}

/** Others may use the channel too: `node:cluster` does, and so may a library. */
function isMessage(message: unknown): message is Message {
  return Array.isArray(message) && ['ask', 'answer', 'failure'].includes(String(message[0]));
}
