/** What is remembered of a prompt to know the next turn of its conversation by: digests of its parts, and never its words. */

import { createHmac, hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { ItemEnds } from '../core/encode-json.ts';
import { endOfItems, endOfValue, readFields, readMoreItems } from '../core/json-bytes.ts';
import { isSpace } from '../core/json.ts';

/** What stands around the items of a list in a body. While it is the same, nothing in it is read. */
interface Around {
  /** A digest of what stands before the list, and its length in bytes. */
  readonly head: number;
  readonly headLength: number;
  /** As of the head, of what stands behind the list. */
  readonly tail: number;
  readonly tailLength: number;
}

/** Of what a backend is sent. */
export interface PromptChain extends Around {
  /** A digest of the tools, from the bracket before the first one to the end of the last one, and its length in bytes. */
  readonly tools: number;
  readonly toolsLength: number;
  /** As of the tools. */
  readonly messages: number;
  readonly messagesLength: number;
  /** Of the first message that is no instruction; null without one. */
  readonly opening: number | null;
  /** Two characters for each of the first messages, with all before it. */
  readonly tags: string;
  readonly count: number;
  /** How many of the first messages are instructions. */
  readonly leading: number;
}

/** Of what the client has sent, to know whether it is the client that changed something. */
export interface ClientPrompt extends Around {
  /** As of the messages. */
  readonly input: number;
  readonly inputLength: number;
  /** Of the other fields that the prompt may depend on. */
  readonly others: number;
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
  /** The prompts that this one may go on from, the latest first. */
  readonly before: readonly PromptChain[];
  /** Where the items of its long lists end, which are looked for otherwise. */
  readonly itemEnds?: ItemEnds | undefined;
}

export interface ReadPrompt {
  readonly chain: PromptChain;
  /** The index in `before` of the prompt that it goes on from; -1 for none. */
  readonly index: number;
  /** Is absent where it has that one as a whole. */
  readonly difference?: PromptDifference;
}

export interface ReadClientOptions {
  readonly key: PromptKey;
  readonly before: ClientPrompt | undefined;
  /** Where its fields end, which is looked for otherwise. */
  readonly fieldEnds?: readonly number[] | undefined;
}

export interface ReadClient {
  readonly prompt: ClientPrompt;
  /** Its input is that of the one before, with more behind it. */
  readonly hasSameInput: boolean;
}

/** Belongs to one conversation. */
export interface PromptKey {
  readonly name: string;
  readonly mask: number;
  readonly otherMask: number;
}

/** Returns what makes the keys of conversations, each of one caller. */
export function createPromptKeys(secret: string): (caller: string, conversation: Uint8Array) => PromptKey {
  const own = createHmac('sha256', secret).update('prompt').digest();
  return (caller, conversation) => {
    // Of a fixed length before the caller. An HMAC would take most of the time of a short turn.
    const digest = hash('sha256', Buffer.concat([own, conversation, Buffer.from(caller)]), 'buffer');
    return { name: digest.toString('base64url', 8, 24), mask: digest.readInt32LE(0), otherMask: digest.readInt32LE(4) };
  };
}

const COMMA = 0x2c;
const BRACKET = 0x5b;
/** A conversation takes less than a kilobyte. */
const MAX_TAGS = 200;
const NO_LIST: Around = { head: 0, headLength: 0, tail: 0, tailLength: 0 };
const NOTHING: PromptChain = {
  ...NO_LIST,
  tools: 0,
  toolsLength: 0,
  messages: 0,
  messagesLength: 0,
  opening: null,
  tags: '',
  count: 0,
  leading: 0,
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
 * Reads the prompt in the JSON of a chat request. What is known by its length and its checksum is not looked into, and of what was
 * encoded here it is known where each message ends: `npm run lab prefix` measures what is left. A caller that forges a checksum
 * misleads nobody but itself.
 */
export function readPrompt(bytes: Buffer, { key, before, itemEnds }: ReadPromptOptions): ReadPrompt {
  const chain = { ...NOTHING };
  let whole: PromptChain | undefined;
  let withFewerTools: PromptChain | undefined;

  const around = before.find((earlier) => bytes[earlier.headLength] === BRACKET && hasSameHead(bytes, earlier, key));
  const end = around && readMessages(around.headLength);
  if (around !== undefined && end !== undefined && hasSameTail(bytes, end, { around, key })) {
    takeAround(around);
    takeTools(around);
  } else {
    readFields(bytes, 0, (name, at) => {
      if (name === 'tools' && bytes[at] === BRACKET) return readTools(at);
      if (name !== 'messages' || bytes[at] !== BRACKET) return endOfValue(bytes, at);
      const listEnd = end ?? readMessages(at);
      takeAround(readAround(bytes, { at, end: listEnd, key }));
      return listEnd;
    });
  }
  return compare();

  function takeAround({ head, headLength, tail, tailLength }: Around): void {
    chain.head = head;
    chain.headLength = headLength;
    chain.tail = tail;
    chain.tailLength = tailLength;
  }

  function takeTools({ tools, toolsLength }: Pick<PromptChain, 'tools' | 'toolsLength'>): void {
    chain.tools = tools;
    chain.toolsLength = toolsLength;
  }

  /** Returns the earlier prompt with the same part here, and its checksum; undefined if there is none. */
  function findAt(start: number, part: 'tools' | 'messages'): Found | undefined {
    for (const earlier of before) {
      const length = earlier[`${part}Length`];
      if (length === 0 || start + length >= bytes.length) continue;
      const checksum = crc32(bytes.subarray(start, start + length));
      if (digestOf(key, checksum) === earlier[part]) return { earlier, checksum };
    }
    return undefined;
  }

  function readTools(at: number): number {
    const earlier = findAt(at, 'tools')?.earlier;
    if (earlier !== undefined && bytes[at + earlier.toolsLength] === 0x5d) {
      takeTools(earlier);
      return at + earlier.toolsLength + 1;
    }
    withFewerTools = earlier;
    const end = itemEnds?.get(at)?.at(-1) ?? endOfValue(bytes, at) - 1;
    takeTools({ tools: digestOfBytes(key, bytes.subarray(at, end)), toolsLength: end - at });
    return end + 1;
  }

  function readMessages(at: number): number {
    const known = findAt(at, 'messages');
    whole = known?.earlier;
    let { count, leading, opening } = whole ?? NOTHING;
    let end = at + (whole?.messagesLength ?? 1);
    let summed = known === undefined ? at : end;
    let checksum = known?.checksum ?? 0;
    // A text that grew by additions would take ten times as much memory.
    const tags = [whole?.tags ?? ''];

    function sumToEnd(): number {
      checksum = crc32(bytes.subarray(summed, end), checksum);
      summed = end;
      return checksum;
    }

    function readMessage(start: number, messageEnd: number): number {
      end = messageEnd;
      if (count < MAX_TAGS) tags.push(tagOf(key, sumToEnd()));
      if (opening === null) {
        if (isInstructions(bytes, start)) leading += 1;
        else opening = digestOfBytes(key, bytes.subarray(start, end));
      }
      count += 1;
      return end;
    }

    const ends = itemEnds?.get(at);
    let listEnd: number;
    if (ends === undefined) {
      listEnd = readMoreItems(bytes, end, (start) => readMessage(start, endOfValue(bytes, start)));
    } else {
      let start = bytes[end] === COMMA ? end + 1 : end;
      for (const messageEnd of ends) if (messageEnd > end) start = readMessage(start, messageEnd) + 1;
      listEnd = end + 1;
    }
    chain.messages = digestOf(key, sumToEnd());
    chain.messagesLength = end - at;
    chain.opening = opening;
    chain.tags = tags.join('');
    chain.count = count;
    chain.leading = leading;
    return listEnd;
  }

  function compare(): ReadPrompt {
    const earlier = whole ?? before.find((one) => isOfOneConversation(one, chain));
    if (earlier === undefined) return { chain, index: -1 };
    const index = before.indexOf(earlier);
    if (earlier.tools !== chain.tools || earlier.toolsLength !== chain.toolsLength)
      return { chain, index, difference: { at: 'tools', isGrown: withFewerTools?.tools === earlier.tools } };
    return whole === undefined ? { chain, index, difference: firstDifference(earlier, chain) } : { chain, index };
  }
}

/** Reads what a client has sent, each byte once. */
export function readClient(bytes: Buffer, { key, before, fieldEnds = [] }: ReadClientOptions): ReadClient {
  let others = 0;
  let input = 0;
  let inputLength = 0;
  let hasSameInput = false;
  let around = NO_LIST;

  const inputEnd = before !== undefined && hasSameHead(bytes, before, key) ? readInput(before.headLength) : undefined;
  if (before !== undefined && inputEnd !== undefined && hasSameTail(bytes, inputEnd, { around: before, key }))
    return { prompt: { ...before, input, inputLength }, hasSameInput };
  readFields(bytes, 0, (name, at) => {
    if (name === 'input') {
      const end = inputEnd ?? readInput(at);
      around = readAround(bytes, { at, end, key });
      return end;
    }
    const end = knownEnd(at) ?? endOfValue(bytes, at);
    if (!NOT_READ.has(name)) others = crc32(bytes.subarray(at, beforeSpace(end)), others);
    return end;
  });
  return { prompt: { ...around, input, inputLength, others: digestOf(key, others) }, hasSameInput };

  function knownEnd(at: number): number | undefined {
    return fieldEnds.find((end) => end > at);
  }

  function beforeSpace(end: number): number {
    let at = end;
    while (isSpace(bytes[at - 1])) at -= 1;
    return at;
  }

  function readInput(at: number): number {
    const length = before?.inputLength ?? 0;
    const known = at + length;
    let checksum = crc32(bytes.subarray(at, known));
    hasSameInput = length > 0 && digestOf(key, checksum) === before?.input;
    const isList = bytes[at] === BRACKET;
    const end = knownEnd(at) ?? (hasSameInput && isList ? endOfItems(bytes, known) + 1 : endOfValue(bytes, at));
    const valueEnd = beforeSpace(end);
    const itemsEnd = isList ? beforeSpace(valueEnd - 1) : valueEnd;
    checksum =
      known > itemsEnd ? crc32(bytes.subarray(at, itemsEnd)) : crc32(bytes.subarray(known, itemsEnd), checksum);
    inputLength = itemsEnd - at;
    input = digestOf(key, checksum);
    return end;
  }
}

interface Found {
  readonly earlier: PromptChain;
  readonly checksum: number;
}

function readAround(
  bytes: Buffer,
  { at, end, key }: { readonly at: number; readonly end: number; readonly key: PromptKey },
): Around {
  return {
    head: digestOfBytes(key, bytes.subarray(0, at)),
    headLength: at,
    tail: digestOfBytes(key, bytes.subarray(end)),
    tailLength: bytes.length - end,
  };
}

function hasSameHead(bytes: Buffer, { head, headLength }: Around, key: PromptKey): boolean {
  if (headLength === 0 || headLength >= bytes.length) return false;
  return digestOfBytes(key, bytes.subarray(0, headLength)) === head;
}

function hasSameTail(
  bytes: Buffer,
  end: number,
  { around: { tail, tailLength }, key }: { readonly around: Around; readonly key: PromptKey },
): boolean {
  return bytes.length - end === tailLength && digestOfBytes(key, bytes.subarray(end)) === tail;
}

/** The role comes first in what the gateway writes, and in what most clients do. */
function isInstructions(bytes: Buffer, start: number): boolean {
  return /^\{\s*"role"\s*:\s*"(?:system|developer)"/.test(bytes.toString('latin1', start, start + 40));
}

/**
 * Returns the checksum under the key: without that nobody can tell of which words it is. A digest of each part would take longer
 * than all the rest, and would know no more of it.
 */
function digestOf({ mask, otherMask }: PromptKey, checksum: number): number {
  let mixed = checksum ^ mask;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return mixed ^ (mixed >>> 16) ^ otherMask;
}

function digestOfBytes(key: PromptKey, bytes: Uint8Array): number {
  return digestOf(key, crc32(bytes));
}

/** Some bits of it. */
function tagOf(key: PromptKey, checksum: number): string {
  const digest = digestOf(key, checksum);
  return String.fromCharCode((digest >> 8) & 0xff, digest & 0xff);
}

/** Instructions may have changed, and the first message behind them has not. What ends earlier begins a conversation anew. */
function isOfOneConversation(earlier: PromptChain, chain: PromptChain): boolean {
  const isBeginning = chain.count < earlier.count && earlier.tags.startsWith(chain.tags);
  return chain.opening !== null && chain.opening === earlier.opening && !isBeginning;
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
