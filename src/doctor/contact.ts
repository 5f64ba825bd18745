import { contentType } from '../backend/answer-reader.ts';
import { withInquirer, type Inquirer, type RawReply } from './inquiry.ts';
import type { ChatChunk } from '../core/chat.ts';
import type { ApiError } from '../core/errors.ts';
import { isList, isObject, readJson } from '../core/json.ts';
import { DoctorError } from './doctor-error.ts';
import { toVisible } from '../core/visible.ts';
import { readAnswer, refusalIn, type BackendAnswer } from './answer.ts';
import { explainNoAnswer, explainWrongScheme, type Address } from './no-answer.ts';
import { CHAT, type LimitField } from './probes.ts';

export type Backend = Address & {
  readonly inquirer: Inquirer;
  readonly apiKey: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
};

export interface ModelList {
  readonly models: readonly ChatChunk[] | undefined;
  readonly reply: RawReply;
}

/** Asks for the list of models. Throws DoctorError where this cannot be the base URL of a backend. */
export async function askForModels(backend: Backend): Promise<ModelList> {
  const reply = await askFirst(backend);
  const { status } = reply;
  if (status === 401 || status === 403) throw wrongKey(status, backend);
  if (status >= 300 && status < 400) throw redirected(reply);
  // nginx and servers in Go answer plain HTTP on a TLS port with these words.
  const wrongScheme = status === 400 ? await explainWrongScheme(backend) : undefined;
  if (wrongScheme !== undefined) throw new DoctorError(wrongScheme);
  const models = status < 300 ? modelsIn(reply.text) : undefined;
  if (models !== undefined) return { models, reply };
  if (await hasModels({ ...backend, baseUrl: `${backend.baseUrl}/v1` })) {
    throw new DoctorError(`${backend.baseUrl} lacks its /v1. Use ${backend.baseUrl}/v1.`);
  }
  if (isPage(reply)) {
    throw new DoctorError(`${backend.baseUrl}/models is a web page: this is not the base URL of a chat backend.`);
  }
  return { models: undefined, reply };
}

async function askFirst(backend: Backend): Promise<RawReply> {
  try {
    return await backend.inquirer.ask('/models', backend);
  } catch (error) {
    backend.signal.throwIfAborted();
    throw new DoctorError(await explainNoAnswer(error, backend));
  }
}

/** Sends no key, since the address may belong to someone else. */
async function hasModels({ signal, ...backend }: Address): Promise<boolean> {
  try {
    const withoutKey = { ...backend, apiKey: undefined, headers: {} };
    const reply = await withInquirer(withoutKey, (inquirer) => inquirer.ask('/models', { signal }));
    if (reply.status === 401 || reply.status === 403) return !isPage(reply);
    return reply.status < 300 && modelsIn(reply.text) !== undefined;
  } catch {
    signal.throwIfAborted();
    return false;
  }
}

/** Together sends a bare list. */
function modelsIn(text: string): readonly ChatChunk[] | undefined {
  const value = readJson(text);
  const list = isObject(value) ? value['data'] : value;
  return isList(list) ? list.filter(isObject) : undefined;
}

export function idOf(model: ChatChunk): string | undefined {
  return typeof model['id'] === 'string' && model['id'] !== '' ? model['id'] : undefined;
}

export interface FirstChat {
  readonly limitField: LimitField;
  readonly answer: BackendAnswer;
  readonly reply: RawReply;
}

/** Asks for the smallest completion, with either name of the limit. Throws DoctorError without one. */
export async function askFirstChat(backend: Backend, model: string): Promise<FirstChat> {
  const first = await askChat(backend, { model, limitField: 'max_tokens' });
  const isRefused = first.reply.status === 400 || first.reply.status === 422;
  const chat = isRefused ? await askChat(backend, { model, limitField: 'max_completion_tokens' }) : first;
  // When both are refused, the first refusal has another cause than the name.
  const answered = chat.reply.status < 300 ? chat : first;
  const { reply, limitField } = answered;
  const { status } = reply;
  if (status === 401 || status === 403) throw wrongKey(status, backend);
  if (status >= 300 && status < 400) throw redirected(reply);
  const refusal = refusalIn(reply, secretsOf(backend));
  if (refusal !== undefined) throw refused(refusal, status, { model, baseUrl: backend.baseUrl });
  return { limitField, reply, answer: readAnswer(reply, secretsOf(backend)) };
}

async function askChat(
  { inquirer, signal }: Backend,
  manner: { readonly model: string; readonly limitField: LimitField },
): Promise<{ readonly reply: RawReply; readonly limitField: LimitField }> {
  const reply = await inquirer.ask('/chat/completions', { body: CHAT.ask(manner), signal });
  return { reply, limitField: manner.limitField };
}

/** Returns what must not appear in messages that quote the backend. */
export function secretsOf({ apiKey, headers = {} }: Backend): readonly string[] {
  return [...(apiKey === undefined ? [] : [apiKey]), ...Object.values(headers)];
}

function isPage({ headers, text }: RawReply): boolean {
  return contentType(headers) === 'text/html' || text.trimStart().startsWith('<');
}

function wrongKey(status: number, { apiKey }: Backend): DoctorError {
  return new DoctorError(
    apiKey === undefined
      ? `The backend needs a key (${status}). Provide it with --key or UPSTREAM_API_KEY.`
      : `The backend does not accept the key (${status}).`,
  );
}

function redirected({ status, headers }: RawReply): DoctorError {
  const location = URL.parse(String(headers['location'] ?? ''));
  const target = location === null ? '' : ` to ${location.origin}${location.pathname}`;
  return new DoctorError(
    `The backend answers with a redirect (${status})${target}. The gateway does not follow redirects.`,
  );
}

function refused(
  { code, message }: ApiError,
  status: number,
  { model, baseUrl }: { readonly model: string; readonly baseUrl: string },
): DoctorError {
  if (code === 'model_not_found') {
    return new DoctorError(
      `The backend has no model ${toVisible(JSON.stringify(model))} (${status}): ${message.replace(/(?<![.!?])$/, '.')} --model names another.`,
    );
  }
  if (status === 404 || status === 405) {
    const words = code === 'not_found' ? `: ${message}` : '.';
    return new DoctorError(`There are no chat completions at ${baseUrl}/chat/completions (${status})${words}`);
  }
  return new DoctorError(`The backend refuses the smallest chat completion (${status}): ${message}`);
}
