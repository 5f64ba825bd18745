import type { ChatRequest } from '../core/chat.ts';
import { ApiError } from '../core/errors.ts';
import { readAnswer, refusalIn, type BackendAnswer } from './answer.ts';
import { secretsOf, type Backend } from './contact.ts';
import type { RawReply } from './inquiry.ts';
import { no, unclear, type Finish, type Manner } from './probes.ts';

export interface Question {
  readonly backend: Backend;
  readonly manner: Manner;
  readonly onAnswer: (reply: RawReply, answer: BackendAnswer) => void;
}

export type Answered =
  | { readonly kind: 'answered'; readonly answer: BackendAnswer }
  | { readonly kind: 'refused'; readonly finish: Finish; readonly words: string; readonly reply: RawReply };

/** Asks for one completion. Throws ApiError without an answer, or the reason of the interruption. */
export async function askOnce(
  { backend, onAnswer }: Question,
  body: ChatRequest,
  signal = backend.signal,
): Promise<Answered> {
  const secrets = secretsOf(backend);
  const reply = await backend.inquirer.ask('/chat/completions', { body, signal });
  const refusal = refusalIn(reply, secrets);
  if (refusal !== undefined) {
    return { kind: 'refused', finish: judgeRefusal(reply.status, refusal.message), words: refusal.message, reply };
  }
  const answer = readAnswer(reply, secrets);
  onAnswer(reply, answer);
  return { kind: 'answered', answer };
}

/** Returns what a failure tells. Throws what is no failure of the backend. */
export function judgeFailure(error: unknown): Finish {
  if (error instanceof ApiError) return unclear(error.message);
  throw error;
}

const PASSING = new Set([401, 402, 403, 408, 409, 425, 429, 502, 503, 504, 529]);

/** llama.cpp refuses with a 500: the question differs in one respect from one that was answered. */
function judgeRefusal(status: number, message: string): Finish {
  const reason = `${status}: ${message}`;
  return PASSING.has(status) ? unclear(reason) : no(reason);
}
