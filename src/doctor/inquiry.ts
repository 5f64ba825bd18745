import { keyHeaders } from '../backend/request-headers.ts';
import { contentType, isPlain } from '../backend/answer-reader.ts';
import { type BackendConnection, openConnection, openPool } from '../backend/connection.ts';
import type { Reachable } from '../core/routes.ts';
import { egressOf, toEndpoint } from '../backend/outbound.ts';
import type { ReplyHeaders } from '../backend/reply-headers.ts';

export interface RawReply {
  readonly status: number;
  readonly headers: ReplyHeaders;
  /** An event stream up to `[DONE]`, or the whole body; empty when it came compressed. */
  readonly text: string;
}

export interface Inquirer {
  /** Throws ApiError without a whole answer in time, or the signal's reason. */
  ask(path: string, options: { readonly body?: object; readonly signal: AbortSignal }): Promise<RawReply>;
  close(): Promise<void>;
}

export type InquirerOptions = Reachable & {
  readonly apiKey: string | undefined;
  /** For a backend that is known. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Of the connection, and then of the whole answer. */
  readonly timeoutMs: number;
};

const MAX_ANSWER_BYTES = 4 * 1024 * 1024;

export function createInquirer({ baseUrl, apiKey, headers: own, timeoutMs, ...backend }: InquirerOptions): Inquirer {
  const { origin, search } = new URL(baseUrl);
  const pool = openPool(origin, { connectTimeoutMs: timeoutMs, ...egressOf(backend) });
  const headers = {
    'content-type': 'application/json',
    'accept-encoding': 'identity',
    accept: 'application/json, text/event-stream',
    'user-agent': 'responses-gateway',
    ...(apiKey !== undefined && keyHeaders(apiKey, { keyHeader: search === '' ? 'authorization' : 'api-key' })),
    ...own,
  };
  return {
    async ask(path, { body, signal }) {
      const connection = await openConnection(pool, {
        path: toEndpoint(baseUrl, `.${path}`).path,
        headers,
        body: body === undefined ? null : JSON.stringify(body),
        signal,
        // Nothing refreshes this timer, so it limits the whole answer.
        firstByteTimeoutMs: timeoutMs,
      });
      const { status, headers: replyHeaders } = connection;
      return { status, headers: replyHeaders, text: await readText(connection) };
    },
    close: () => pool.destroy(),
  };
}

export async function withInquirer<Result>(
  options: InquirerOptions,
  use: (inquirer: Inquirer) => Promise<Result>,
): Promise<Result> {
  const inquirer = createInquirer(options);
  try {
    return await use(inquirer);
  } finally {
    await inquirer.close();
  }
}

async function readText(connection: BackendConnection): Promise<string> {
  const isStream = contentType(connection.headers) === 'text/event-stream';
  const decoder = new TextDecoder();
  let text = '';
  let length = 0;
  await connection.pipe((bytes) => {
    if (bytes === undefined) return undefined;
    length += bytes.length;
    text += decoder.decode(bytes, { stream: true });
    // Some backends keep the connection open after `[DONE]`.
    const isDone = isStream && /^data: ?\[DONE\]\s*$/m.test(text.slice(-bytes.length - 16));
    if (isDone || length > MAX_ANSWER_BYTES) connection.release();
    return undefined;
  });
  return isPlain(connection.headers) ? text : '';
}
