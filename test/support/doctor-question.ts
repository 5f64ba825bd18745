/** A question of the doctor to a scripted backend. */

import type { Seen } from '../../src/doctor/dialect-choice.ts';
import { createInquirer } from '../../src/doctor/inquiry.ts';
import type { Question } from '../../src/doctor/question.ts';
import { startScriptedBackend, type ScriptedBackend } from './backend.ts';

export interface Asking {
  readonly backend: ScriptedBackend;
  readonly question: Question;
}

/** For a `describe`: each of its tests gets a scripted backend, and a question to it. */
export function useQuestion(): Asking {
  let backend: ScriptedBackend;
  let question: ReturnType<typeof openQuestion>;

  beforeEach(async () => {
    backend = await startScriptedBackend();
    question = openQuestion(backend.baseUrl);
  });
  afterEach(async () => {
    await question.close();
    await backend.close();
  });

  return {
    get backend() {
      return backend;
    },
    get question() {
      return question;
    },
  };
}

function openQuestion(baseUrl: string): Question & { readonly close: () => Promise<void> } {
  const address = { baseUrl, apiKey: undefined, timeoutMs: 60_000 };
  const inquirer = createInquirer(address);
  return {
    backend: { ...address, inquirer, signal: new AbortController().signal },
    manner: { model: 'm', limitField: 'max_tokens' },
    onAnswer: () => undefined,
    close: () => inquirer.close(),
  };
}

/** What doctor found where no question had a clear answer. */
export const NOT_CLEAR: Seen = { is: () => undefined, thinkTags: false, wanted: [] };

/** What doctor found where these questions alone had a clear answer. */
export function clear(results: Readonly<Record<string, boolean>>, others: Partial<Seen> = {}): Seen {
  return { ...NOT_CLEAR, is: (name) => results[name], ...others };
}
