/** Codex sends `?client_version=…` and expects entries of its own (`ModelInfo`) under `models`. */

import { isObject } from '../../core/json.ts';

/**
 * Returns the list with `models` added; undefined if it is no list. Models that Codex knows are
 * left out, since an entry would replace better metadata.
 */
export function withCodexModels(list: unknown): object | undefined {
  const data: unknown = isObject(list) ? list['data'] : undefined;
  if (!isObject(list) || !Array.isArray(data)) return undefined;
  const models = data.filter(isObject).flatMap((model) => {
    const id = model['id'];
    return typeof id === 'string' && !KNOWN_TO_CODEX.test(id) ? [toCodexModel(id, model)] : [];
  });
  return { ...list, models: models.map((model, priority) => ({ ...model, priority })) };
}

const KNOWN_TO_CODEX = /^(?:gpt-(?!oss)|codex-)/;

type Model = Readonly<Record<string, unknown>>;

/**
 * Codex drops the whole list if one of these fields is missing, and they change from version to
 * version. Values that no backend sends are those that Codex assumes for an unknown model.
 */
function toCodexModel(id: string, model: Model): object {
  const contextWindow = contextWindowOf(model);
  const modalities = modalitiesOf(model);
  return {
    slug: id,
    display_name: text(model['name']) ?? id,
    description: text(model['description']) ?? null,
    default_reasoning_level: text(model['default_reasoning_effort']) ?? null,
    supported_reasoning_levels: effortsOf(model).map((effort) => ({ effort, description: `Effort: ${effort}` })),
    shell_type: 'default',
    visibility: 'list',
    supported_in_api: true,
    availability_nux: null,
    upgrade: null,
    base_instructions: BASE_INSTRUCTIONS,
    model_messages: null,
    supports_reasoning_summaries: true,
    default_reasoning_summary: 'auto',
    support_verbosity: false,
    default_verbosity: null,
    apply_patch_tool_type: null,
    web_search_tool_type: 'text',
    truncation_policy: { mode: 'bytes', limit: 10_000 },
    supports_parallel_tool_calls: true,
    supports_image_detail_original: false,
    supports_search_tool: false,
    ...(contextWindow !== undefined && { context_window: contextWindow }),
    auto_compact_token_limit: null,
    effective_context_window_percent: 95,
    experimental_supported_tools: [],
    ...(modalities !== undefined && { input_modalities: modalities }),
  };
}

/** Codex uses these instead of its own instructions, and would otherwise send none. */
const BASE_INSTRUCTIONS = `You are a coding agent. You run in a terminal, in the Codex CLI, and work together with its user in one folder.

How to work:
- Find out before you act. Read the files that matter, look for names with rg, and follow the AGENTS.md files that hold for them.
- Do what you were asked for, completely, and no more. Mend the cause and not the symptom, and write as the code around it is written.
- Change files by the tools that you are given: with apply_patch where there is such a tool, otherwise by commands of the shell.
- Leave alone what is not yours: changes that were there before, other branches, files outside the task. Do not commit unless asked.
- Check what you did: build it, run the tests that are near to it. If you cannot, say so.
- Go on until the task is done. Ask only where a wrong guess would be expensive.

How to speak:
- Before a group of commands, say in a sentence what you are about to do. For longer work keep a plan with the tool for plans, if there is one.
- At the end say in a few sentences what has changed and where (path:line), what you have checked, and what is left. Do not repeat whole files.
- Say only what you have seen to be true.`;

/** Each backend has its own name for it (vLLM, OpenRouter, Together, Groq, Mistral, llama.cpp). */
function contextWindowOf(model: Model): number | undefined {
  const meta = isObject(model['meta']) ? model['meta'] : {};
  const candidates = [
    // What the operator says goes first.
    model['context_window'],
    model['max_model_len'],
    model['context_length'],
    model['max_context_length'],
    meta['n_ctx'],
    meta['n_ctx_train'],
  ];
  return candidates.find((value): value is number => Number.isSafeInteger(value) && Number(value) > 0);
}

function modalitiesOf(model: Model): readonly string[] | undefined {
  const { architecture, capabilities } = model;
  const own = model['input_modalities'] ?? (isObject(architecture) ? architecture['input_modalities'] : undefined);
  if (Array.isArray(own)) return own.includes('image') ? ['text', 'image'] : ['text'];
  if (isObject(capabilities) && typeof capabilities['vision'] === 'boolean') {
    return capabilities['vision'] ? ['text', 'image'] : ['text'];
  }
  return undefined;
}

function effortsOf({ reasoning_efforts: efforts }: Model): readonly string[] {
  return Array.isArray(efforts) ? efforts.filter((effort) => typeof effort === 'string') : [];
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
