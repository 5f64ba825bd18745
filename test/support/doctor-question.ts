/** A question of the doctor to a scripted backend. */

import { createInquirer } from '../../src/cli/doctor/inquiry.ts';
import type { Question } from '../../src/cli/doctor/question.ts';

export function openQuestion(baseUrl: string): Question & { readonly close: () => Promise<void> } {
  const address = { baseUrl, apiKey: undefined, timeoutMs: 60_000 };
  const inquirer = createInquirer({ ...address, connectTimeoutMs: 60_000 });
  return {
    backend: { ...address, inquirer, signal: new AbortController().signal },
    manner: { model: 'm', limitField: 'max_tokens' },
    onAnswer: () => undefined,
    close: () => inquirer.close(),
  };
}
