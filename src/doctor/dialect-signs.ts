/**
 * Only one kind has a telling sign; other signs count where there is none. Host names are no signs,
 * since any kind can be behind any host.
 */

import type { ChatChunk } from '../core/chat.ts';
import { choiceOf } from '../core/reply/chunk.ts';
import { isDialectName, type DialectName } from '../core/dialects.ts';
import { isObject } from '../core/json.ts';

export interface Evidence {
  readonly headers: Readonly<Record<string, string>>;
  readonly models: readonly ChatChunk[];
  readonly answers: readonly ChatChunk[];
}

interface Sign {
  readonly name: string;
  readonly isConclusive: boolean;
  readonly isSeen: (evidence: Evidence) => boolean;
}

export interface Recognition {
  readonly dialect: DialectName;
  readonly signs: readonly string[];
  readonly isCertain: boolean;
}

const SIGNS: Readonly<Record<Exclude<DialectName, 'generic'>, readonly Sign[]>> = {
  openai: [
    header('openai-processing-ms'),
    header('openai-version'),
    hint(owner('openai', 'openai-internal', 'system')),
    hint(id(/^chatcmpl-[A-Za-z0-9]{29}$/)),
  ],
  // The filters come with every completion.
  azure: [
    field('prompt_filter_results'),
    choiceField('content_filter_results'),
    header('apim-request-id'),
    header('x-ms-region'),
  ],
  // ModelCard in vllm/entrypoints/openai/engine/protocol.py.
  vllm: [owner('vllm'), field('prompt_logprobs'), hint(choiceField('stop_reason')), hint(modelField('max_model_len'))],
  // ModelCard in srt/entrypoints/openai/protocol.py.
  sglang: [owner('sglang'), choiceField('matched_stop'), hint(modelField('max_model_len'))],
  // tools/server/server-context.cpp; the fingerprint is the build, as in b6123-abcdef1.
  llamacpp: [owner('llamacpp'), field('timings'), fingerprint(/^b\d+-/)],
  ollama: [fingerprint(/^fp_ollama$/), hint(owner('library'))],
  lmstudio: [owner('organization_owner')],
  deepseek: [owner('deepseek'), usageField('prompt_cache_hit_tokens'), hint(fingerprint(/_kvcache/))],
  moonshot: [owner('moonshot')],
  google: [owner('google')],
  mistral: [header('mistral-correlation-id'), owner('mistralai'), hint(id(/^[0-9a-f]{32}$/))],
  groq: [field('x_groq'), header('x-groq-region')],
  openrouter: [choiceField('native_finish_reason'), id(/^gen-\d+-/), hint(field('provider'))],
  together: [header('x-together-traceid'), hint(field('prompt')), hint(choiceField('seed'))],
};

/**
 * Returns the kinds with the most telling signs, else with the most signs; empty if it has none.
 */
export function recognise(evidence: Evidence): readonly Recognition[] {
  const candidates = Object.entries(SIGNS).flatMap(([dialect, signs]) => {
    const seen = signs.filter(({ isSeen }) => isSeen(evidence));
    return isDialectName(dialect) && seen.length > 0 ? [{ dialect, seen }] : [];
  });
  const best = candidates.reduce((most, { seen }) => Math.max(most, weightOf(seen)), 0);
  return candidates
    .filter(({ seen }) => weightOf(seen) === best)
    .map(({ dialect, seen }) => ({
      dialect,
      signs: seen.map(({ name }) => name),
      isCertain: seen.some(({ isConclusive: isTelling }) => isTelling),
    }));
}

/** Returns whether a telling sign of one kind alone is seen. */
export function isRecognised(evidence: Evidence): boolean {
  const [first, ...others] = recognise(evidence);
  return first?.isCertain === true && others.length === 0;
}

function weightOf(signs: readonly Sign[]): number {
  return signs.reduce((weight, { isConclusive: isTelling }) => weight + (isTelling ? 100 : 1), 0);
}

function header(name: string): Sign {
  return conclusive(`the header ${name}`, ({ headers }) => Object.hasOwn(headers, name));
}

function field(name: string): Sign {
  return conclusive(`the field ${name}`, ({ answers }) => answers.some((answer) => Object.hasOwn(answer, name)));
}

function choiceField(name: string): Sign {
  return conclusive(`the field ${name} of choices`, ({ answers }) =>
    answers.some((answer) => {
      const choice = choiceOf(answer);
      return choice !== undefined && Object.hasOwn(choice, name);
    }),
  );
}

function usageField(name: string): Sign {
  return conclusive(`the field ${name} of usage`, ({ answers }) =>
    answers.some(({ usage }) => isObject(usage) && Object.hasOwn(usage, name)),
  );
}

function fingerprint(pattern: RegExp): Sign {
  return conclusive('its system_fingerprint', ({ answers }) =>
    answers.some(({ system_fingerprint: text }) => typeof text === 'string' && pattern.test(text)),
  );
}

function id(pattern: RegExp): Sign {
  return conclusive('the form of its ids', ({ answers }) =>
    answers.some(({ id }) => typeof id === 'string' && pattern.test(id)),
  );
}

function owner(...names: readonly string[]): Sign {
  return conclusive('the owner of its models', ({ models }) =>
    models.some(({ owned_by: owner }) => typeof owner === 'string' && names.includes(owner)),
  );
}

function modelField(name: string): Sign {
  return conclusive(`the field ${name} of models`, ({ models }) => models.some((model) => Object.hasOwn(model, name)));
}

function conclusive(name: string, isSeen: Sign['isSeen']): Sign {
  return { name, isSeen, isConclusive: true };
}

function hint(sign: Sign): Sign {
  return { ...sign, isConclusive: false };
}
