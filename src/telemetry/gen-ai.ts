/** Follows OpenTelemetry's conventions: https://opentelemetry.io/docs/specs/semconv/gen-ai/ */

import type { RequestFacts } from './facts.ts';

const PROVIDERS: ReadonlyMap<string, string> = new Map([
  ['azure', 'azure.ai.openai'],
  ['mistral', 'mistral_ai'],
]);

/** Returns the value of `gen_ai.provider.name` for a dialect. */
export function toProviderName(dialect: string): string {
  return PROVIDERS.get(dialect) ?? dialect;
}

export const OPERATION = 'chat';

export function isModelCall({ endpoint }: RequestFacts): boolean {
  return endpoint === 'responses' || endpoint === 'responses.compact' || endpoint === 'chat.completions';
}
