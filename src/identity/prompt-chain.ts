/** What is remembered of a prompt to know the next turn of its conversation by: digests of its parts, and never its words. */

import { createHmac, hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { endOfValue, readFields, readMoreItems } from '../core/json-bytes.ts';

export interface PromptChain {
  /** A digest of the tools, from the bracket before the first one to the end of the last one, and its length in bytes. */
  readonly tools: string;
  readonly toolsLength: number;
  /** As of the tools. */
  readonly messages: string;
  readonly messagesLength: number;
  /** Of the first message that is no instruction; empty without one. */
  readonly opening: string;
  /** Two characters for each of the first messages, with all before it. */
  readonly tags: string;
  readonly count: number;
  /** How many of the first messages are instructions. */
  readonly leading: number;
  /** Of the other fields that the prompt may depend on. */
  readonly others: string;
}

/** The first part that differs from the earlier prompt. */
export interface PromptDifference {
  /** `tools`, `instructions`, or such as `message 3 of 12`. */
  readonly at: string;
  /** What is added may explain it: more tools, or more in the last message. */
  readonly isGrown: boolean;
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

/** Each conversation that is remembered has its key. */
const KEY_BYTES = 16;

/** Returns the key of a conversation of this caller. */
export function toPromptKey(secret: string, caller: string, conversation: Uint8Array): PromptKey {
  const hmac = createHmac('sha256', secret).update(`prompt\0${caller}\0`).update(conversation).digest();
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return hmac.toString('base64url', 0, KEY_BYTES) as PromptKey;
}

/** A conversation takes less than a kilobyte. */
const MAX_TAGS = 200;
const NOTHING: PromptChain = {
  tools: '',
  toolsLength: 0,
  messages: '',
  messagesLength: 0,
  opening: '',
  tags: '',
  count: 0,
  leading: 0,
  others: '',
};

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
 * with 400 KB takes 0.1 ms, and 0.4 ms if each message is told apart. A caller that forges a checksum misleads nobody but itself.
 */
export function readPrompt(bytes: Buffer, options: ReadPromptOptions): ReadPrompt {
  const { key, list, before, maxTags = MAX_TAGS } = options;
  let chain = NOTHING;
  let others = 0;
  let whole: PromptChain | undefined;
  let withFewerTools: PromptChain | undefined;

  readFields(bytes, 0, (name, at) => {
    if (name === list && bytes[at] === 0x5b) return readMessages(at);
    if (name === 'tools' && bytes[at] === 0x5b) return readTools(at);
    const end = endOfValue(bytes, at);
    if (!NOT_READ.has(name)) others = crc32(bytes.subarray(at, end), others);
    return end;
  });
  chain = { ...chain, others: digestOf(key, others, 0) };
  return { chain, ...compare() };

  /** Returns the earlier prompt with the same part here, and its checksum; undefined if there is none. */
  function findAt(start: number, part: 'tools' | 'messages'): Found | undefined {
    for (const earlier of before) {
      const length = earlier[`${part}Length`];
      if (length === 0 || start + length >= bytes.length) continue;
      const checksum = crc32(bytes.subarray(start, start + length));
      if (digestOf(key, checksum, length) === earlier[part]) return { earlier, checksum };
    }
    return undefined;
  }

  function readTools(at: number): number {
    const earlier = findAt(at, 'tools')?.earlier;
    if (earlier !== undefined && bytes[at + earlier.toolsLength] === 0x5d) {
      const { tools, toolsLength } = earlier;
      chain = { ...chain, tools, toolsLength };
      return at + toolsLength + 1;
    }
    withFewerTools = earlier;
    const end = endOfValue(bytes, at);
    const toolsLength = end - 1 - at;
    chain = { ...chain, tools: digestOf(key, crc32(bytes.subarray(at, end - 1)), toolsLength), toolsLength };
    return end;
  }

  function readMessages(at: number): number {
    const known = findAt(at, 'messages');
    whole = known?.earlier;
    let { count, leading, opening } = whole ?? NOTHING;
    let end = at + (whole?.messagesLength ?? 1);
    let summed = known === undefined ? at : end;
    let checksum = known?.checksum ?? 0;
    const mask = crc32(key);
    // A text that grew by additions would take ten times as much memory.
    const tags = [whole?.tags ?? ''];

    function sumToEnd(): number {
      checksum = crc32(bytes.subarray(summed, end), checksum);
      summed = end;
      return checksum;
    }

    const listEnd = readMoreItems(bytes, end, (start) => {
      end = endOfValue(bytes, start);
      if (count < maxTags) tags.push(tagOf(mask, sumToEnd()));
      if (opening === '' && maxTags > 0) {
        if (isInstructions(bytes, start)) leading += 1;
        else opening = digestOf(key, crc32(bytes.subarray(start, end)), end - start);
      }
      count += 1;
      return end;
    });
    const messages = digestOf(key, sumToEnd(), end - at);
    chain = { ...chain, messages, messagesLength: end - at, opening, tags: tags.join(''), count, leading };
    return listEnd;
  }

  function compare(): Omit<ReadPrompt, 'chain'> {
    const earlier = whole ?? before.find((one) => isOfOneConversation(one, chain));
    if (earlier === undefined) return { index: -1 };
    const index = before.indexOf(earlier);
    if (earlier.tools !== chain.tools)
      return { index, difference: { at: 'tools', isGrown: withFewerTools?.tools === earlier.tools } };
    return whole === undefined ? { index, difference: firstDifference(earlier, chain) } : { index };
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

/** Some bits of the checksum under the key, since a digest of each message would take a third of the time. */
function tagOf(mask: number, checksum: number): string {
  const tag = Math.imul(checksum ^ mask, 0x9e3779b1) >>> 16;
  return String.fromCharCode(tag >> 8, tag & 0xff);
}

/** Instructions may have changed, and the first message behind them has not. What ends earlier begins a conversation anew. */
function isOfOneConversation(earlier: PromptChain, chain: PromptChain): boolean {
  const isBeginning = chain.count < earlier.count && earlier.tags.startsWith(chain.tags);
  return chain.opening !== '' && chain.opening === earlier.opening && !isBeginning;
}

function tagAt({ tags }: PromptChain, at: number): string {
  return tags.slice(2 * at, 2 * at + 2);
}

function firstDifference(earlier: PromptChain, chain: PromptChain): PromptDifference {
  const known = earlier.tags.length / 2;
  let at = 0;
  while (at < known && tagAt(earlier, at) === tagAt(chain, at)) at += 1;
  if (at < Math.max(earlier.leading, chain.leading)) return { at: 'instructions', isGrown: false };
  const later = at < known ? '' : ' or later';
  return { at: `message ${at + 1} of ${earlier.count}${later}`, isGrown: at === earlier.count - 1 };
}
