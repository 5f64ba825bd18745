import { ApiError } from '../../core/errors.ts';
import { isObject } from '../../core/json.ts';
import type { Identity } from '../../core/ids.ts';
import type { ItemResolver } from '../item-memory.ts';

const encoder = new TextEncoder();

/** Returns the items of a request as JSON, for the next one that continues it. */
export function toTurn(items: readonly unknown[]): Uint8Array<ArrayBuffer> {
  return encoder.encode(JSON.stringify(items.filter(isNoTrigger)));
}

/** A compaction trigger counts only once. */
function isNoTrigger(item: unknown): boolean {
  return !isObject(item) || item['type'] !== 'compaction_trigger';
}

/** Returns the error with the paths of the client's input, which did not contain the history. */
export function withoutHistory(error: unknown, historyLength: number): unknown {
  if (!(error instanceof ApiError) || historyLength === 0 || !error.param.startsWith('input[')) return error;
  const rebased = (text: string): string =>
    text.replaceAll(/\binput\[(\d+)\]/g, (_all, index: string) => {
      const own = Number(index) - historyLength;
      return own < 0 ? 'previous_response_id' : `input[${own}]`;
    });
  const { code, status, headers, cause } = error;
  return new ApiError(code, { param: rebased(error.param), message: rebased(error.message), status, headers, cause });
}

/** Works on the request with the items that it refers to. Errors have the paths of the client's input. */
export function withItems<Result>(
  { identity, value }: { readonly identity: Identity; readonly value: unknown },
  { itemMemory }: { readonly itemMemory: ItemResolver },
  work: () => Result,
): Result {
  const earlier = itemMemory.resolve(identity, value);
  try {
    return work();
  } catch (error) {
    throw withoutHistory(error, earlier);
  }
}
