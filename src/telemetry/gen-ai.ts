/** What metrics and traces share of the GenAI conventions of OpenTelemetry: https://opentelemetry.io/docs/specs/semconv/gen-ai/ */

import type { RequestFacts } from '../requests/facts.ts';

/** Kinds of backends whose names the conventions have otherwise; those which they do not know keep their own. */
const PROVIDERS: ReadonlyMap<string, string> = new Map([
  ['azure', 'azure.ai.openai'],
  ['mistral', 'mistral_ai'],
]);

/** The value of `gen_ai.provider.name` for a backend of this dialect. */
export function toProviderName(dialect: string): string {
  return PROVIDERS.get(dialect) ?? dialect;
}

/** The value of `gen_ai.operation.name` for the requests that ask a model, which is the same for both endpoints. */
export const OPERATION = 'chat';

/** Whether the request is one that asks a model. */
export function isModelCall({ endpoint }: Pick<RequestFacts, 'endpoint'>): boolean {
  return endpoint === 'responses' || endpoint === 'responses.compact' || endpoint === 'chat.completions';
}
