import type { Asked } from '../turns/scenarios.ts';
import { withAx } from './ax.ts';
import { withEffect } from './effect.ts';
import { withDeepAgents, withLangGraph } from './langgraph.ts';
import { withLlamaIndex } from './llamaindex.ts';
import { withMastra } from './mastra.ts';
import { withMultiLlm } from './multi-llm.ts';
import { withOpenRouter } from './openrouter.ts';
import { withPortkey } from './portkey.ts';
import { withStrands } from './strands.ts';
import { withTanStack } from './tanstack.ts';

export interface Sdk {
  readonly package: string;
  /** Resolves with what the model said last. */
  readonly ask: (asked: Asked, stream: boolean) => Promise<string>;
  /** Where it asks in one way only, or well in one way only. */
  readonly only?: 'stream' | 'json';
  readonly dropsThoughts?: true;
  /** How it has the model say JSON; by a schema in the format of the text where it is not given. */
  readonly structured?: 'tool' | 'never';
  /** It refers to the response before, which the gateway must remember. */
  readonly refersToResponses?: true;
}

export const SDKS: Readonly<Record<string, Sdk>> = {
  'TanStack AI': { package: '@tanstack/ai-openai', ask: withTanStack, only: 'stream' },
  Mastra: { package: '@mastra/core', ask: withMastra },
  LangGraph: { package: 'langchain', ask: withLangGraph },
  deepagents: { package: 'deepagents', ask: withDeepAgents },
  'OpenRouter Agent': { package: '@openrouter/agent', ask: withOpenRouter, only: 'stream' },
  Strands: {
    package: '@strands-agents/sdk',
    ask: withStrands,
    only: 'stream',
    dropsThoughts: true,
    structured: 'tool',
  },
  Effect: { package: '@effect/ai-openai', ask: withEffect, dropsThoughts: true },
  // Its streams say their last piece twice.
  'LlamaIndex.TS': {
    package: '@llamaindex/openai',
    ask: withLlamaIndex,
    only: 'json',
    structured: 'never',
    dropsThoughts: true,
  },
  Ax: { package: '@ax-llm/ax', ask: withAx },
  'Portkey SDK': { package: 'portkey-ai', ask: withPortkey },
  'multi-llm-ts': { package: 'multi-llm-ts', ask: withMultiLlm, structured: 'never', refersToResponses: true },
};
