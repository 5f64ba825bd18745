import { randomUUID } from 'node:crypto';
import type { ResponseEvent, ResponseResource } from '../contract/types.ts';
import { isList } from '../core/json.ts';
import { splitEcho } from '../core/reply/initial-response.ts';

/** JSON in pieces that follow each other. */
export type Pieces = readonly (string | Uint8Array)[];

export interface PiecesWriter {
  /** Returns undefined for an event that is better written as a whole. */
  event(event: ResponseEvent): Pieces | undefined;
  response(response: ResponseResource): Pieces;
}

/** In UTF-16 code units. */
const LONG_TEXT = 256 * 1024;
const LONG_INSTRUCTIONS = 1024;
/** To write them takes most of the time of an event. */
const MANY_LOGPROBS = 16;
/** Nobody can guess it, so no other text is taken for it. */
const HOLE = randomUUID();

/**
 * Writes what is long only once: the last events of an answer repeat its text and its log
 * probabilities, and all responses repeat the instructions and the tools of the request. Where they
 * are not in the responses, `givenEcho` takes their place.
 */
export function createPiecesWriter(givenEcho: Uint8Array | undefined): PiecesWriter {
  let echo = givenEcho;
  let last: { readonly text: string; readonly bytes: Uint8Array } | undefined;
  let lastLogprobs: { readonly list: readonly unknown[]; readonly length: number; readonly json: string } | undefined;
  let deltaLength = 0;
  let logprobs = 0;
  const isLong = (): boolean => deltaLength >= LONG_TEXT || logprobs >= MANY_LOGPROBS;

  return {
    event(event) {
      if ('delta' in event) {
        deltaLength += event.delta.length;
        if ('logprobs' in event) logprobs += event.logprobs.length;
        return event.delta.length < LONG_TEXT ? undefined : write(event);
      }
      if (!('response' in event)) {
        // Each citation of a long text has one of these.
        const repeats = isLong() && event.type !== 'response.output_text.annotation.added';
        return repeats ? write(event) : undefined;
      }
      const { type, response, ...rest } = event;
      if (hasLongEcho(response)) echo ??= Buffer.from(JSON.stringify(splitEcho(response).echo).slice(1, -1));
      if (!isLong() && echo === undefined) return undefined;
      const pieces = writeResponse(response, isLong() ? write : writeWhole);
      return [`{"type":"${type}","response":`, ...pieces, `,${JSON.stringify(rest).slice(1)}`];
    },
    response(response) {
      const isShort = response.output_text.length < LONG_TEXT;
      return writeResponse(response, isShort ? writeWhole : write);
    },
  };

  function writeResponse(response: ResponseResource, writeRest: (rest: object) => Pieces): Pieces {
    if (echo === undefined) return writeRest(response);
    const pieces = writeRest(splitEcho(response).rest);
    const end = String(pieces.at(-1)).slice(0, -1);
    return [...pieces.slice(0, -1), `${end},`, echo, '}'];
  }

  function write(value: object): Pieces {
    const long: (string | Uint8Array)[] = [];
    const json = JSON.stringify(value, (name, inner: unknown) => {
      if (name === 'logprobs' && isList(inner) && inner.length >= MANY_LOGPROBS) long.push(jsonOf(inner));
      else if (typeof inner === 'string' && inner.length >= LONG_TEXT) long.push(bytesOf(inner));
      else return inner;
      return HOLE;
    });
    const [first = '', ...others] = json.split(`"${HOLE}"`);
    return [first, ...others.flatMap((piece, index) => [long[index] ?? '', piece])];
  }

  function jsonOf(list: readonly unknown[]): string {
    // It grows in place.
    if (lastLogprobs?.list !== list || lastLogprobs.length !== list.length)
      lastLogprobs = { list, length: list.length, json: JSON.stringify(list) };
    return lastLogprobs.json;
  }

  function bytesOf(text: string): Uint8Array {
    if (last?.text !== text) last = { text, bytes: Buffer.from(JSON.stringify(text)) };
    return last.bytes;
  }
}

function writeWhole(value: object): Pieces {
  return [JSON.stringify(value)];
}

/** A small one is written again in less time than it takes to write it as a piece. */
function hasLongEcho({ instructions, tools }: ResponseResource): boolean {
  return tools.length > 0 || (instructions?.length ?? 0) >= LONG_INSTRUCTIONS;
}
