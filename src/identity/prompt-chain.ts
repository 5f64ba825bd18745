/** What is remembered of a prompt to know the next turn of its conversation by: digests of its parts, and never its words. */

import { createHmac, hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { endOfValue, readFields, readMoreItems } from '../core/json-bytes.ts';

export interface PromptChain {
  readonly tools: Part;
  /** All messages, from the bracket before the first one to the end of the last one. */
  readonly messages: Part;
  /** Some characters for each of the first messages. */
  readonly tags: string;
  readonly count: number;
  /** How many of the first messages are instructions. */
  readonly leading: number;
  /** Of the other fields that the prompt may depend on. */
  readonly others: number;
}

interface Part {
  readonly length: number;
  readonly digest: string;
}

/** The first part that differs from the earlier prompt. */
export interface PromptDifference {
  /** `tools`, `instructions`, or such as `message 3 of 12`. */
  readonly at: string;
  /** Whether only the last message of the earlier prompt differs. */
  readonly isLast: boolean;
}

export interface ReadPromptOptions {
  readonly key: PromptKey;
  readonly list: 'messages' | 'input';
  /** The prompts that this one may go on from, the latest first. */
  readonly before: readonly PromptChain[];
  /** 0 where nobody will ask for the message that differs. */
  readonly maxTags?: number;
}

export interface ReadPrompt {
  readonly chain: PromptChain;
  /** The place in `before` of the prompt that it goes on from; -1 for none. */
  readonly index: number;
  /** Is absent where it has that one as a whole. */
  readonly difference?: PromptDifference;
}

/** Belongs to one conversation. */
export type PromptKey = string & { readonly brand: 'PromptKey' };

/** Returns the key of a conversation of this caller. */
export function toPromptKey(secret: string, caller: string, conversation: Uint8Array): PromptKey {
  const hmac = createHmac('sha256', secret).update(`prompt\0${caller}\0`).update(conversation).digest('base64url');
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return hmac as PromptKey;
}

/** So many characters of a digest tell where two prompts part, and a conversation takes less than a kilobyte. */
const TAG = 3;
const MAX_TAGS = 200;
const NOTHING: Part = { length: 0, digest: '' };

/** They change from turn to turn, and no prompt depends on them. */
const NOT_READ: ReadonlySet<string | undefined> = new Set([
  'client_metadata',
  'event_id',
  'max_output_tokens',
  'metadata',
  'previous_response_id',
  'prompt_cache_key',
  'stream',
]);

/**
 * Reads the prompt in the JSON of a request. What is known by its length and its checksum is not looked into: a turn of an agent
 * with 400 KB takes 0.1 ms, and 1.1 ms if each message were told apart. A caller that forges a checksum misleads nobody but itself.
 */
export function readPrompt(bytes: Buffer, options: ReadPromptOptions): ReadPrompt {
  const { key, list, before, maxTags = MAX_TAGS } = options;
  let chain: PromptChain = { tools: NOTHING, messages: NOTHING, tags: '', count: 0, leading: 0, others: 0 };
  let whole: PromptChain | undefined;

  readFields(bytes, 0, (name, at) => {
    if (name === list && bytes[at] === 0x5b) return readMessages(at);
    if (name === 'tools') return readTools(at);
    const end = endOfValue(bytes, at);
    if (!NOT_READ.has(name)) chain = { ...chain, others: crc32(bytes.subarray(at, end), chain.others) };
    return end;
  });
  return { chain, ...compare(chain, whole, before) };

  function partOf(checksum: number, length: number): Part {
    return { length, digest: digestOf(key, checksum, length) };
  }

  /** Returns the earlier prompt with the same part here, and its checksum; undefined if there is none. */
  function findAt(start: number, of: (one: PromptChain) => Part): Found | undefined {
    for (const earlier of before) {
      const { length, digest } = of(earlier);
      if (length === 0 || start + length >= bytes.length) continue;
      const checksum = crc32(bytes.subarray(start, start + length));
      if (digestOf(key, checksum, length) === digest) return { earlier, checksum };
    }
    return undefined;
  }

  function readTools(at: number): number {
    const known = findAt(at, ({ tools }) => tools);
    const end = known === undefined ? endOfValue(bytes, at) : at + known.earlier.tools.length;
    const tools = known?.earlier.tools ?? partOf(crc32(bytes.subarray(at, end)), end - at);
    chain = { ...chain, tools };
    return end;
  }

  function readMessages(at: number): number {
    const known = findAt(at, ({ messages }) => messages);
    whole = known?.earlier;
    const knownEnd = at + (whole?.messages.length ?? 1);
    let { count, leading } = whole ?? chain;
    const tags = [whole?.tags ?? ''];
    let end = knownEnd;
    const listEnd = readMoreItems(bytes, knownEnd, (start) => {
      end = endOfValue(bytes, start);
      if (count < maxTags) tags.push(digestOf(key, crc32(bytes.subarray(start, end)), end - start).slice(0, TAG));
      if (count === leading && isInstructions(bytes, start)) leading += 1;
      count += 1;
      return end;
    });
    const checksum =
      known === undefined ? crc32(bytes.subarray(at, end)) : crc32(bytes.subarray(knownEnd, end), known.checksum);
    // A text that grew by additions would take ten times as much memory.
    chain = { ...chain, messages: partOf(checksum, end - at), tags: tags.join(''), count, leading };
    return listEnd;
  }
}

interface Found {
  readonly earlier: PromptChain;
  readonly checksum: number;
}

/** The role comes first in what the gateway writes, and in what most clients do. */
function isInstructions(bytes: Buffer, start: number): boolean {
  return /^\{\s*"role"\s*:\s*"(?:system|developer)"/.test(bytes.toString('latin1', start, start + 40));
}

function digestOf(key: PromptKey, checksum: number, length: number): string {
  return hash('sha256', `${key}${checksum} ${length}`, 'base64url').slice(0, 8);
}

function compare(
  chain: PromptChain,
  whole: PromptChain | undefined,
  before: readonly PromptChain[],
): Omit<ReadPrompt, 'chain'> {
  const earlier = whole ?? before.find((one) => isOfOneConversation(one, chain));
  if (earlier === undefined) return { index: -1 };
  const index = before.indexOf(earlier);
  if (earlier.tools.digest !== chain.tools.digest) return { index, difference: { at: 'tools', isLast: false } };
  return whole === undefined ? { index, difference: firstDifference(earlier, chain) } : { index };
}

/** Instructions may have changed, and the first message behind them has not. What ends earlier begins a conversation anew. */
function isOfOneConversation(earlier: PromptChain, chain: PromptChain): boolean {
  const first = tagAt(chain, chain.leading);
  const isBeginning = chain.count < earlier.count && earlier.tags.startsWith(chain.tags);
  return first !== '' && first === tagAt(earlier, earlier.leading) && !isBeginning;
}

function tagAt({ tags }: PromptChain, at: number): string {
  return tags.slice(TAG * at, TAG * (at + 1));
}

function firstDifference(earlier: PromptChain, chain: PromptChain): PromptDifference {
  let at = 0;
  while (at < earlier.count && TAG * at < earlier.tags.length && tagAt(earlier, at) === tagAt(chain, at)) at += 1;
  if (at < Math.max(earlier.leading, chain.leading)) return { at: 'instructions', isLast: false };
  const later = TAG * at < earlier.tags.length ? '' : ' or later';
  return { at: `message ${at + 1} of ${earlier.count}${later}`, isLast: at === earlier.count - 1 };
}
