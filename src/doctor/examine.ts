import { withInquirer, type RawReply } from './inquiry.ts';
import type { Reachable } from '../core/routes.ts';
import { makeUpKey, tryMadeUpKey } from '../backend/probe.ts';
import { chooseDialect, type DialectChoice, type Seen } from './dialect-choice.ts';
import { isRecognised, type Evidence } from './dialect-signs.ts';
import type { ChatChunk } from '../core/chat.ts';
import { TAGS } from '../core/reply/think-tags.ts';
import { DoctorError } from './doctor-error.ts';
import { odditiesIn, type Oddity } from './oddities.ts';
import { abortJson } from './abort.ts';
import type { BackendAnswer } from './answer.ts';
import { askFirstChat, askForModels, idOf, type Backend } from './contact.ts';
import { askForOptionalFields } from './optional-fields.ts';
import { CHAT, no, PROBES, unclear, yes, type Manner, type Probe, type ProbeName, type Finish } from './probes.ts';
import { askForPrefixCache } from './prefix-cache.ts';
import { askOnce, judgeFailure, type Question } from './question.ts';
import { askSecondTurn } from './second-turn.ts';

export interface Finding extends Finish {
  readonly name:
    | 'models'
    | 'model'
    | 'chat'
    | 'keys'
    | ProbeName
    | 'second turn'
    | 'optional fields'
    | 'prefix cache'
    | 'abort';
}

export interface Examination {
  readonly model: string;
  readonly findings: readonly Finding[];
  readonly isFine: boolean;
  readonly checksKeys: Finish['result'];
  readonly seen: Seen;
  /** What was odd in its answers, each once. */
  readonly oddities: readonly Oddity[];
  readonly choice: DialectChoice;
}

export type ExaminationOptions = Reachable & {
  readonly apiKey: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  readonly model: string | undefined;
  readonly timeoutMs: number;
  /** Later questions stay unclear. */
  readonly totalMs: number;
  readonly signal: AbortSignal;
  readonly onStart: (name: string) => void;
};

const ESSENTIAL: readonly Finding['name'][] = ['chat', 'stream'];
const LIMITS: readonly Finding['name'][] = ['max_tokens', 'max_completion_tokens'];

/**
 * Asks the backend one question after the other. Throws DoctorError when it refuses even the smallest.
 */
export function examine(options: ExaminationOptions): Promise<Examination> {
  return withInquirer(options, async (inquirer) => {
    const backend = { ...options, inquirer };
    const { model, findings, evidence, question, put, putProbes } = await begin(backend, options);
    options.onStart('keys');
    const keys = await checkKeys(backend, question.manner);
    findings.push({ name: 'keys', ...keys });
    await putProbes(() => true);
    const wanted = await putSecondTurn(put, question);
    await put('optional fields', () => askForOptionalFields(question));
    await put('prefix cache', () => askForPrefixCache(question));
    await put('abort', () => abortJson(question));
    backend.signal.throwIfAborted();

    const seen = toSeen(findings, evidence, wanted);
    return {
      model,
      findings,
      isFine: isFine(findings),
      checksKeys: keys.result,
      seen,
      oddities: evidence.oddities(),
      choice: chooseDialect(evidence.value, seen),
    };
  });
}

export interface Recognised {
  readonly model: string;
  readonly choice: DialectChoice;
  /** Is false only where the backend does not let this model call tools. */
  readonly callsTools: boolean;
}

/** The answers choose the dialect of a backend that no sign tells. */
const DIALECT_PROBES: ReadonlySet<string> = new Set<ProbeName>([
  'max_tokens',
  'max_completion_tokens',
  'developer role',
  'system message later on',
  'user messages in a row',
]);

/**
 * Asks only what an agent depends on: the model, whether it calls tools, and what chooses the
 * dialect, unless that is known or a sign tells it. Throws as `examine` does.
 */
export function findDialect(options: ExaminationOptions & { readonly isKnown: boolean }): Promise<Recognised> {
  return withInquirer(options, async (inquirer) => {
    const backend = { ...options, inquirer };
    const { model, findings, evidence, question, put, putProbes } = await begin(backend, options);
    await putProbes((name) => name === 'tools');
    const isFound = options.isKnown || isRecognised(evidence.value);
    if (!isFound) await putProbes((name) => DIALECT_PROBES.has(name));
    const wanted = isFound ? [] : await putSecondTurn(put, question);
    backend.signal.throwIfAborted();
    const seen = toSeen(findings, evidence, wanted);
    return {
      model,
      choice: chooseDialect(evidence.value, seen),
      callsTools: findings.every(({ name, result }) => name !== 'tools' || result !== 'no'),
    };
  });
}

type Put = (name: Finding['name'], ask: () => Promise<Finish>) => Promise<void>;

async function begin(backend: Backend, options: ExaminationOptions) {
  const untilMs = performance.now() + options.totalMs;
  const findings: Finding[] = [];
  const evidence = createEvidence();

  options.onStart('models');
  const { models, reply } = await askForModels(backend);
  evidence.addReply(reply, models ?? []);
  findings.push({ name: 'models', ...judgeModels(models, reply.status) });
  const { model, finish } = chooseModel(options.model, models);
  findings.push({ name: 'model', ...finish });

  options.onStart('chat');
  const { answer, limitField, ...chat } = await askFirstChat(backend, model);
  evidence.addAnswer(chat.reply, answer);
  findings.push({ name: 'chat', ...CHAT.judge(answer) });

  const manner = { model, limitField };
  const question: Question = { backend, manner, onAnswer: (...answer) => evidence.addAnswer(...answer) };
  const put: Put = async (name, ask) => {
    options.onStart(name);
    const isLate = performance.now() > untilMs;
    const found = isLate ? unclear('no time was left for it') : await ask().catch(judgeFailure);
    findings.push({ name, ...found });
  };
  const putProbes = async (isWanted: (name: ProbeName) => boolean): Promise<void> => {
    for (const probe of PROBES) if (isWanted(probe.name)) await put(probe.name, () => putProbe(probe, question));
  };
  return { model, findings, evidence, question, put, putProbes };
}

/** Returns the fields in which the backend wants thoughts back. */
async function putSecondTurn(put: Put, question: Question): Promise<readonly string[]> {
  let wanted: readonly string[] = [];
  await put('second turn', async () => {
    const turn = await askSecondTurn(question);
    ({ wanted } = turn);
    return turn.finish;
  });
  return wanted;
}

/** A backend that reports no usage does not show whether it keeps a limit, and can be used. */
function isFine(findings: readonly Finding[]): boolean {
  const resultOf = (name: Finding['name']): string | undefined => findings.find((one) => one.name === name)?.result;
  return (
    ESSENTIAL.every((name) => resultOf(name) === 'yes') &&
    LIMITS.some((name) => resultOf(name) !== 'no') &&
    !findings.some(({ isFault }) => isFault)
  );
}

function judgeModels(models: readonly ChatChunk[] | undefined, status: number): Finish {
  if (models === undefined) return no(`${status}: the backend has no list of models`);
  return models.length === 0 ? no('the list is empty') : yes(models.length === 1 ? 'one' : `${models.length} of them`);
}

function chooseModel(
  wanted: string | undefined,
  models: readonly ChatChunk[] | undefined,
): { readonly model: string; readonly finish: Finish } {
  const ids = (models ?? []).flatMap((model) => idOf(model) ?? []);
  const model = wanted ?? ids[0];
  if (model === undefined) throw new DoctorError('The backend lists no models: name one by --model.');
  if (wanted === undefined) return { model, finish: yes(`${model}, the first one listed`) };
  if (models === undefined) return { model, finish: unclear(`${model}; there is no list to find it in`) };
  return { model, finish: ids.includes(model) ? yes(`${model} is listed`) : no(`${model} is not listed`) };
}

/** The list of models is public at OpenRouter, so completions are tried too. */
async function checkKeys(backend: Backend, manner: Manner): Promise<Finish> {
  const { signal } = backend;
  const { kind } = await tryMadeUpKey(backend, backend);
  if (kind === 'refused') return yes('a made-up key is refused');
  return withInquirer({ ...backend, apiKey: makeUpKey() }, async (inquirer) => {
    const { status } = await inquirer.ask('/chat/completions', { body: CHAT.ask(manner), signal });
    if (status === 401 || status === 403) return yes('a made-up key gets no completion');
    return status < 300 ? no('a made-up key gets completions too') : unclear(`${status} to a made-up key`);
  }).catch(judgeFailure);
}

async function putProbe(probe: Probe, question: Question): Promise<Finish> {
  const answered = await askOnce(question, probe.ask(question.manner));
  if (answered.kind === 'answered') return probe.judge(answered.answer);
  return probe.judgeRefusal?.(answered.words) ?? answered.finish;
}

function createEvidence() {
  const headers: Record<string, string> = {};
  const models: ChatChunk[] = [];
  const answers: ChatChunk[] = [];
  const reasoningIn = new Set<string>();
  const oddities = new Set<Oddity>();
  const addHeaders = (reply: RawReply): void => {
    for (const [name, value] of Object.entries(reply.headers)) headers[name] = String(value);
  };
  return {
    value: { headers, models, answers } satisfies Evidence,
    thinkTags: () => (reasoningIn.has('</think>') ? 'opened' : TAGS.some(({ open }) => reasoningIn.has(open))),
    oddities: () => [...oddities],
    addReply(reply: RawReply, listed: readonly ChatChunk[]) {
      addHeaders(reply);
      models.push(...listed);
    },
    addAnswer(reply: RawReply, answer: BackendAnswer) {
      addHeaders(reply);
      answers.push(...answer.chunks);
      for (const field of answer.reasoningIn) reasoningIn.add(field);
      for (const oddity of odditiesIn(answer)) oddities.add(oddity);
    },
  };
}

function toSeen(
  findings: readonly Finding[],
  evidence: ReturnType<typeof createEvidence>,
  wanted: readonly string[],
): Seen {
  const results = new Map(findings.map(({ name, result }) => [name, result]));
  return {
    thinkTags: evidence.thinkTags(),
    wanted,
    is: (name) => {
      const result = results.get(name);
      return result === 'yes' ? true : result === 'no' ? false : undefined;
    },
  };
}
