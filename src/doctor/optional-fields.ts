import { fieldsRefusedIn, withoutFields, type OptionalField } from '../backend/refused-fields.ts';
import type { ChatRequest } from '../core/chat.ts';
import { CHAT, no, unclear, yes, type Finish } from './probes.ts';
import { askOnce, type Question } from './question.ts';

/** Other questions ask for the fields of streams and of tools. */
const FIELDS = {
  prompt_cache_key: 'doctor',
  reasoning_effort: 'low',
  verbosity: 'low',
  service_tier: 'auto',
  safety_identifier: 'doctor',
  logprobs: true,
  user: 'doctor',
} as const satisfies Partial<Record<OptionalField, unknown>>;

const NAMES = Object.keys(FIELDS).filter((name): name is keyof typeof FIELDS => name in FIELDS);

/** Finds the optional fields that the backend refuses, as the gateway finds them. */
export async function askForOptionalFields(question: Question): Promise<Finish> {
  const request: ChatRequest = { ...CHAT.ask(question.manner), ...FIELDS };
  const { messages } = request;
  const refused: OptionalField[] = [];
  for (;;) {
    const answered = await askOnce(question, { ...withoutFields(request, refused), messages });
    if (answered.kind === 'answered') {
      return refused.length === 0 ? yes('all that were tried are taken') : no(`refused: ${refused.join(', ')}`);
    }
    const { status, text } = answered.reply;
    const named = fieldsRefusedIn(status, text, request).filter((field) => !refused.includes(field));
    if (named.length === 0) return findUnnamed(question, refused, answered.finish);
    refused.push(...named);
  }
}

/** The gateway cannot leave out what a refusal does not name. */
async function findUnnamed(question: Question, named: readonly OptionalField[], refusal: Finish): Promise<Finish> {
  if (refusal.result === 'unclear') return refusal;
  const unnamed: string[] = [];
  for (const name of NAMES.filter((one) => !named.includes(one))) {
    const answered = await askOnce(question, { ...CHAT.ask(question.manner), [name]: FIELDS[name] });
    if (answered.kind === 'refused' && answered.finish.result === 'no') unnamed.push(name);
  }
  if (unnamed.length === 0) return unclear(refusal.reason);
  return no(
    `refused in words that do not name it: ${unnamed.join(', ')}; leave it out of optionalFields (${refusal.reason})`,
  );
}
