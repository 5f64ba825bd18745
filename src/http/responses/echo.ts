/** What a response repeats of a large request is written once, and its bytes are sent each time. */
import type { ResponseEvent, ResponseResource } from '../../contract/types.ts';
import { withoutEcho } from '../../core/reply/initial-response.ts';

/** Returns the JSON of the response in pieces, with the echo in the place of what it repeats. */
export function piecesOf(response: ResponseResource, echo: Uint8Array | undefined): readonly (string | Uint8Array)[] {
  return echo === undefined ? [JSON.stringify(response)] : [openingOf(response), echo, '}'];
}

/** Returns the JSON of an event before and after the echo. */
export function jsonAroundEcho({
  type,
  response,
  ...rest
}: Extract<ResponseEvent, { response: ResponseResource }>): readonly [before: string, after: string] {
  return [`{"type":"${type}","response":${openingOf(response)}`, `},${JSON.stringify(rest).slice(1)}`];
}

function openingOf(response: ResponseResource): string {
  return `${JSON.stringify(withoutEcho(response)).slice(0, -1)},`;
}
