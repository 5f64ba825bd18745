import { createInquirer, type RawReply } from './inquiry.ts';
import { makeUpKey, tryMadeUpKey } from '../../backend/probe.ts';
import { chooseDialect, type Abilities, type DialectChoice } from './dialect-choice.ts';
import type { Evidence } from './dialect-signs.ts';
import type { ChatChunk } from '../../core/chat.ts';
import { ApiError } from '../../core/errors.ts';
import { CliError } from '../context.ts';
import { readSaid, refusalIn, type Said } from './answer.ts';
import { askFirstChat, askForModels, idOf, secretsOf, type Backend } from './contact.ts';
import { CHAT, no, PROBES, unclear, yes, type Manner, type Probe, type ProbeName, type Finish } from './probes.ts';

export interface Finding extends Finish {
  readonly name: 'models' | 'model' | 'chat' | 'keys' | ProbeName;
}

export interface Examination {
  readonly model: string;
  readonly findings: readonly Finding[];
  readonly isFine: boolean;
  readonly checksKeys: Finish['result'];
  readonly abilities: Abilities;
  readonly choice: DialectChoice;
}

export interface ExaminationOptions {
  readonly baseUrl: string;
  readonly apiKey: string | undefined;
  readonly model: string | undefined;
  readonly timeoutMs: number;
  /** Later questions stay unclear. */
  readonly totalMs: number;
  readonly signal: AbortSignal;
  readonly onStart: (name: string) => void;
  readonly onFinding: (finding: Finding) => void;
}

const ESSENTIAL: readonly Finding['name'][] = ['chat', 'stream'];

/**
 * Asks the backend one question after the other. Throws CliError when it refuses even the smallest.
 */
export async function examine(options: ExaminationOptions): Promise<Examination> {
  const { baseUrl, apiKey, timeoutMs, signal } = options;
  const inquirer = createInquirer({ baseUrl, apiKey, connectTimeoutMs: timeoutMs, timeoutMs });
  try {
    return await ask({ baseUrl, apiKey, timeoutMs, signal, inquirer }, options);
  } finally {
    await inquirer.close();
  }
}

async function ask(backend: Backend, options: ExaminationOptions): Promise<Examination> {
  const untilMs = performance.now() + options.totalMs;
  const findings: Finding[] = [];
  const evidence = createEvidence();
  const note = (name: Finding['name'], verdict: Finish): void => {
    const finding = { name, ...verdict };
    findings.push(finding);
    options.onFinding(finding);
  };

  options.onStart('models');
  const { models, reply } = await askForModels(backend);
  evidence.addReply(reply, models ?? []);
  note('models', judgeModels(models, reply.status));
  const { model, verdict } = chooseModel(options.model, models);
  note('model', verdict);

  options.onStart('chat');
  const chat = await askFirstChat(backend, model);
  evidence.addAnswer(chat.reply, chat.said);
  note('chat', CHAT.judge(chat.said));

  const manner = { model, limitField: chat.limitField };
  options.onStart('keys');
  const keys = await checkKeys(backend, manner);
  note('keys', keys);

  for (const probe of PROBES) {
    options.onStart(probe.name);
    const isLate = performance.now() > untilMs;
    note(probe.name, isLate ? unclear('no time was left for it') : await put(probe, { backend, manner, evidence }));
  }
  const isYes = (name: Finding['name']): boolean => findings.some((one) => one.name === name && one.result === 'yes');
  const abilities = toAbilities(findings, evidence.hasThinkTags());
  return {
    model,
    findings,
    isFine: ESSENTIAL.every(isYes) && (isYes('max_tokens') || isYes('max_completion_tokens')),
    checksKeys: keys.result,
    abilities,
    choice: chooseDialect(evidence.value, abilities),
  };
}

function judgeModels(models: readonly ChatChunk[] | undefined, status: number): Finish {
  if (models === undefined) return no(`${status}: the backend has no list of models`);
  return models.length === 0 ? no('the list is empty') : yes(models.length === 1 ? 'one' : `${models.length} of them`);
}

function chooseModel(
  wanted: string | undefined,
  models: readonly ChatChunk[] | undefined,
): { readonly model: string; readonly verdict: Finish } {
  const ids = (models ?? []).flatMap((model) => idOf(model) ?? []);
  const model = wanted ?? ids[0];
  if (model === undefined) throw new CliError('The backend lists no models: name one by --model.');
  if (wanted === undefined) return { model, verdict: yes(`${model}, the first one listed`) };
  if (models === undefined) return { model, verdict: unclear(`${model}; there is no list to find it in`) };
  return { model, verdict: ids.includes(model) ? yes(`${model} is listed`) : no(`${model} is not listed`) };
}

/** The list of models is public at OpenRouter, so completions are tried too. */
async function checkKeys({ baseUrl, timeoutMs, signal }: Backend, manner: Manner): Promise<Finish> {
  const { kind } = await tryMadeUpKey(baseUrl, { timeoutMs, signal });
  if (kind === 'refused') return yes('a made-up key is refused');
  const inquirer = createInquirer({ baseUrl, apiKey: makeUpKey(), connectTimeoutMs: timeoutMs, timeoutMs });
  try {
    const { status } = await inquirer.ask('/chat/completions', { body: CHAT.ask(manner), signal });
    if (status === 401 || status === 403) return yes('a made-up key gets no completion');
    return status < 300 ? no('a made-up key gets completions too') : unclear(`${status} to a made-up key`);
  } catch (error) {
    return judgeFailure(error);
  } finally {
    await inquirer.close();
  }
}

interface Question {
  readonly backend: Backend;
  readonly manner: Manner;
  readonly evidence: ReturnType<typeof createEvidence>;
}

/** Throws only when it is interrupted. */
async function put(probe: Probe, { backend, manner, evidence }: Question): Promise<Finish> {
  const secrets = secretsOf(backend);
  try {
    const reply = await backend.inquirer.ask('/chat/completions', { body: probe.ask(manner), signal: backend.signal });
    const refusal = refusalIn(reply, secrets);
    if (refusal !== undefined)
      return probe.judgeRefusal?.(refusal.message) ?? judgeRefusal(reply.status, refusal.message);
    const said = readSaid(reply, secrets);
    evidence.addAnswer(reply, said);
    return probe.judge(said);
  } catch (error) {
    return judgeFailure(error);
  }
}

function judgeFailure(error: unknown): Finish {
  if (error instanceof ApiError) return unclear(error.message);
  throw error;
}

const PASSING = new Set([401, 402, 403, 408, 409, 425, 429, 502, 503, 504, 529]);

/** llama.cpp refuses with a 500: the question differs in one respect from one that was answered. */
function judgeRefusal(status: number, message: string): Finish {
  const reason = `${status}: ${message}`;
  return PASSING.has(status) ? unclear(reason) : no(reason);
}

function createEvidence() {
  const headers: Record<string, string> = {};
  const models: ChatChunk[] = [];
  const answers: ChatChunk[] = [];
  const reasoningIn = new Set<string>();
  const addHeaders = (reply: RawReply): void => {
    for (const [name, value] of Object.entries(reply.headers)) headers[name] = String(value);
  };
  return {
    value: { headers, models, answers } satisfies Evidence,
    hasThinkTags: () => reasoningIn.has('<think>'),
    addReply(reply: RawReply, listed: readonly ChatChunk[]) {
      addHeaders(reply);
      models.push(...listed);
    },
    addAnswer(reply: RawReply, said: Said) {
      addHeaders(reply);
      answers.push(...said.chunks);
      for (const place of said.reasoningIn) reasoningIn.add(place);
    },
  };
}

function toAbilities(findings: readonly Finding[], thinkTags: boolean): Abilities {
  const results = new Map(findings.map(({ name, result }) => [name, result]));
  const is = (name: ProbeName): boolean | undefined => {
    const result = results.get(name);
    return result === 'yes' ? true : result === 'no' ? false : undefined;
  };
  return {
    maxTokens: is('max_tokens'),
    maxCompletionTokens: is('max_completion_tokens'),
    developerRole: is('developer role'),
    laterSystem: is('system message later on'),
    userAfterUser: is('user messages in a row'),
    thinkTags,
  };
}
