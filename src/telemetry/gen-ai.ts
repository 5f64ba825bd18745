/**
 * What metrics and traces share of OpenTelemetry's GenAI conventions:
 * https://opentelemetry.io/docs/specs/semconv/gen-ai/
 */

import type { RequestFacts } from '../requests/facts.ts';

/** Dialects that have another name in the conventions. */
const PROVIDERS: ReadonlyMap<string, string> = new Map([
  ['azure', 'azure.ai.openai'],
  ['mistral', 'mistral_ai'],
]);

/** Returns the value of `gen_ai.provider.name` for a dialect. */
export function toProviderName(dialect: string): string {
  return PROVIDERS.get(dialect) ?? dialect;
}

/** The value of `gen_ai.operation.name` for all requests to a model. */
export const OPERATION = 'chat';

/** Whether the request is one that asks a model. */
export function isModelCall({ endpoint }: Pick<RequestFacts, 'endpoint'>): boolean {
  return endpoint === 'responses' || endpoint === 'responses.compact' || endpoint === 'chat.completions';
}
