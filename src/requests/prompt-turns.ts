/** How the prompt of a request goes on from the one before it in its conversation, which a backend's prefix cache depends on. */

import type { RequestBody } from '../backend/connection.ts';
import { idOf } from '../backend/replicas.ts';
import { bufferOf } from '../core/collected-bytes.ts';
import { itemEndsIn } from '../core/encode-json.ts';
import type { BackendSpec } from '../core/routes.ts';
import {
  createPromptKeys,
  readClient,
  readPrompt,
  type ClientPrompt,
  type PromptChain,
  type ReadClient,
  type ReadPrompt,
} from '../identity/prompt-chain.ts';
import type { PromptTurn } from '../core/books/store.ts';
import type { Usage } from '../contract/types.ts';
import type { PromptReading } from '../telemetry/facts.ts';
import type { Incoming } from './incoming.ts';
import type { Plan } from './plan.ts';

export interface PromptTurns {
  /** Opens the prompt of a request. */
  open(incoming: PromptIncoming, plan: PromptPlan): OpenPrompt;
}

/** What it continues is not in its body. */
type PromptIncoming = Pick<Incoming, 'caller' | 'body'> & { readonly continues?: object };

type PromptPlan = Pick<Plan, 'endpoint' | 'model' | 'conversation'> & {
  readonly continues?: string;
  readonly compaction?: object | undefined;
};

/** The prompt of one request. */
export interface OpenPrompt {
  /** Notes the backend that is asked now. */
  asked(backend: Pick<BackendSpec, 'name' | 'address' | 'upstreamDialect'>): void;
  /** Reads the body that is sent. The last one counts. */
  readonly sent: (body: RequestBody, as: { readonly model: string; readonly leftOut: readonly string[] }) => void;
  /** Remembers the prompt for the next turn, once the backend has read it. Undefined if nothing is known. */
  end(usage: Usage): PromptReading | undefined;
}

export interface PromptTurnsOptions {
  readonly secret: string;
  readonly nowMs: () => number;
  readonly maxConversations?: number;
}

/** A request that a backend has read. */
interface Turn {
  readonly atMs: number;
  readonly sent: PromptChain;
  readonly client: ClientPrompt | undefined;
  readonly requestedModel: string;
  readonly model: string;
  /** What the settings and the backend make of a request. */
  readonly stamp: string;
  readonly backend: string;
  readonly inputTokens: number;
}

/** In bytes: a checksum of more would hold up others. */
const MAX_BODY = 4 * 1024 * 1024;
/** Few backends keep a prefix for as long. */
const MAX_AGE_MS = 3_600_000;
/** Agents of one session may share its cache key, and each has a conversation of its own. */
const MAX_BRANCHES = 4;
/** Of all callers, a quarter at most of one. Each turn that is remembered makes room for itself, and removes one that is too old. */
const MAX_CONVERSATIONS = 10_000;

/** Remembers nothing at first. */
export function createPromptTurns(options: PromptTurnsOptions): PromptTurns {
  const { secret, nowMs, maxConversations = MAX_CONVERSATIONS } = options;
  const keyOf = createPromptKeys(secret);
  /** By caller, and those whose last turn is the longest ago first. */
  const remembered = new Map<string, Map<string, readonly Turn[]>>();
  let count = 0;

  function remember(caller: string, name: string, turns: readonly Turn[]): void {
    const own = remembered.get(caller) ?? new Map<string, readonly Turn[]>();
    remembered.delete(caller);
    remembered.set(caller, own);
    if (!own.delete(name)) count += 1;
    own.set(name, turns);
    if (own.size > maxConversations / 4) forgetOldest(caller);
    const [longestAgo = caller] = remembered.keys();
    if (count > maxConversations || isOver(longestAgo)) forgetOldest(longestAgo);
  }

  function isOver(caller: string): boolean {
    const [[latest] = []] = remembered.get(caller)?.values() ?? [];
    return latest !== undefined && nowMs() - latest.atMs > MAX_AGE_MS;
  }

  function forgetOldest(caller: string): void {
    const own = remembered.get(caller);
    const [name] = own?.keys() ?? [];
    if (name !== undefined && own?.delete(name) === true) count -= 1;
    if (own?.size === 0) remembered.delete(caller);
  }

  return {
    open({ caller: { identity }, body, continues }, plan) {
      const [caller] = identity;
      const key = keyOf(caller, plan.conversation);
      // What is passed on is what the client has sent.
      const isTranslated = plan.endpoint !== 'chat.completions';
      let dialect = '';
      let backend = '';
      let read: Read | undefined;

      function turnsNow(): readonly Turn[] {
        const turns = remembered.get(caller)?.get(key.name) ?? [];
        return turns.filter(({ atMs }) => nowMs() - atMs <= MAX_AGE_MS);
      }

      return {
        asked(spec) {
          backend = idOf(spec);
          dialect = spec.upstreamDialect;
        },
        sent(written, { model, leftOut }) {
          const bytes = bytesOf(written);
          read = undefined;
          if (bytes.length > MAX_BODY || body.bytes.length > MAX_BODY) return;
          const turns = turnsNow();
          const before = turns.map((turn) => turn.sent);
          const sent = readPrompt(bytes, { key, before, itemEnds: itemEndsIn(bytes) });
          const earlier = turns[sent.index];
          const { fieldEnds } = body;
          const client = isTranslated ? readClient(body.bytes, { key, before: earlier?.client, fieldEnds }) : undefined;
          read = {
            earlier,
            sent,
            client,
            // One text in the place of two that say the same.
            model: model === plan.model ? plan.model : model,
            stamp: leftOut.length === 0 ? dialect : `${dialect} ${leftOut.join(' ')}`,
          };
        },
        end(usage) {
          if (read === undefined) return undefined;
          const { earlier, sent, client, model, stamp } = read;
          const inputTokens = usage.input_tokens;
          const turn: Turn = {
            atMs: nowMs(),
            sent: sent.chain,
            client: client?.prompt,
            requestedModel: plan.model,
            model,
            stamp,
            backend,
            inputTokens,
          };
          const others = turnsNow().filter((one) => one !== earlier);
          remember(caller, key.name, [turn, ...others].slice(0, MAX_BRANCHES));
          if (earlier === undefined) return { turn: { turn: 'first' }, reachableTokens: 0, changedBackend: false };
          const how = howItGoesOn(turn, earlier, read, {
            isCompacted: plan.compaction !== undefined,
            isContinued: continues !== undefined || plan.continues !== undefined,
          });
          const reachableTokens = how.turn === 'extended' ? Math.min(earlier.inputTokens, inputTokens) : 0;
          return { turn: how, reachableTokens, changedBackend: reachableTokens > 0 && earlier.backend !== backend };
        },
      };
    },
  };
}

interface Read {
  readonly earlier: Turn | undefined;
  readonly sent: ReadPrompt;
  readonly client: ReadClient | undefined;
  readonly model: string;
  readonly stamp: string;
}

function bytesOf(body: RequestBody): Buffer {
  if (typeof body === 'string') return Buffer.from(body);
  // The messages of a large request are in its last part.
  return Buffer.isBuffer(body) ? body : bufferOf(body.at(-1) ?? Buffer.alloc(0));
}

interface Exempt {
  /** The client has asked for a shorter history. */
  readonly isCompacted: boolean;
  /** What is not in the body is as it was. */
  readonly isContinued: boolean;
}

function howItGoesOn(
  turn: Turn,
  earlier: Turn,
  { sent, client }: Read,
  { isCompacted, isContinued }: Exempt,
): PromptTurn {
  if (turn.model !== earlier.model) {
    return { turn: 'broken', at: 'model', by: turn.requestedModel === earlier.requestedModel ? 'settings' : 'client' };
  }
  const { difference } = sent;
  if (difference === undefined) return { turn: 'extended' };
  const hasSameInput = isContinued || client?.hasSameInput === true;
  const isClientSame = hasSameInput && client !== undefined && client.prompt.others === earlier.client?.others;
  const isOfClient = !isClientSame || difference.isGrown || isCompacted;
  const by = isOfClient ? 'client' : turn.stamp === earlier.stamp ? 'gateway' : 'settings';
  return { turn: 'broken', at: difference.at, by };
}
