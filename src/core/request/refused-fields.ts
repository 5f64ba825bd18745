/** A reservation bounds the cost of a request only if the backend is asked for nothing else. */

import { ApiError } from '../errors.ts';

const LIMITS_OUTPUT = 'it sets another limit of the output than max_tokens';
const WRITES_MORE = 'the model may write more than is reserved';
const NAMES_MODEL = 'it may choose another model or provider than model names';
const READS_MORE = 'the model may read more than is reserved';
const COSTS_EXTRA = 'the backend may charge for it in addition to the tokens';

export const REFUSED_FIELDS: Readonly<Record<string, string>> = {
  // llama.cpp prefers n_predict, TabbyAPI takes max_length, Ollama has a limit in options, and
  // text-generation-webui can take all that is left of the context.
  n_predict: LIMITS_OUTPUT,
  num_predict: LIMITS_OUTPUT,
  max_length: LIMITS_OUTPUT,
  max_new_tokens: LIMITS_OUTPUT,
  max_output_tokens: LIMITS_OUTPUT,
  max_tokens_to_sample: LIMITS_OUTPUT,
  max_gen_toks: LIMITS_OUTPUT,
  auto_max_new_tokens: LIMITS_OUTPUT,
  options: LIMITS_OUTPUT,
  // vLLM, SGLang, TabbyAPI and text-generation-webui have these, and NVIDIA has them in nvext.
  min_tokens: WRITES_MORE,
  min_new_tokens: WRITES_MORE,
  min_length: WRITES_MORE,
  ignore_eos: WRITES_MORE,
  ban_eos_token: WRITES_MORE,
  nvext: WRITES_MORE,
  // vLLM writes candidates that it does not send. n_cmpl is llama.cpp's name for n.
  best_of: WRITES_MORE,
  n_cmpl: WRITES_MORE,
  num_beams: WRITES_MORE,
  use_beam_search: WRITES_MORE,
  // OpenAI charges the unused tokens of a prediction as output.
  prediction: WRITES_MORE,
  // xAI sends such an answer later, when nobody charges for it.
  deferred: WRITES_MORE,
  // A template of a few bytes makes any input (vLLM, llama.cpp, text-generation-webui, TabbyAPI).
  chat_template: READS_MORE,
  chat_template_str: READS_MORE,
  prompt_template: READS_MORE,
  instruction_template: READS_MORE,
  instruction_template_str: READS_MORE,
  chat_instruct_command: READS_MORE,
  // What the model reads before or after the messages (text-generation-webui, TabbyAPI).
  character: READS_MORE,
  context: READS_MORE,
  user_bio: READS_MORE,
  response_prefix: READS_MORE,
  // Input that is kept elsewhere (LiteLLM's prompts, Google's caches, SGLang's sessions).
  prompt_id: READS_MORE,
  prompt_variables: READS_MORE,
  cached_content: READS_MORE,
  session_params: READS_MORE,
  // vLLM takes more frames of a film with this.
  media_io_kwargs: READS_MORE,
  // Documents that the backend searches (Azure).
  data_sources: READS_MORE,
  dataSources: READS_MORE,
  // OpenRouter has these; a preset can hold all of them.
  models: NAMES_MODEL,
  route: NAMES_MODEL,
  provider: NAMES_MODEL,
  preset: NAMES_MODEL,
  // SGLang, TGI, llama.cpp and LM Studio have these.
  lora_path: NAMES_MODEL,
  adapter_id: NAMES_MODEL,
  lora: NAMES_MODEL,
  draft_model: NAMES_MODEL,
  // LiteLLM and Vercel's gateway have these.
  fallbacks: NAMES_MODEL,
  context_window_fallbacks: NAMES_MODEL,
  content_policy_fallbacks: NAMES_MODEL,
  context_window_fallback_dict: NAMES_MODEL,
  model_list: NAMES_MODEL,
  user_config: NAMES_MODEL,
  api_base: NAMES_MODEL,
  base_url: NAMES_MODEL,
  custom_llm_provider: NAMES_MODEL,
  providerOptions: NAMES_MODEL,
  // OpenAI, Perplexity, OpenRouter, xAI, Qwen, Groq and Cohere have these.
  web_search_options: COSTS_EXTRA,
  plugins: COSTS_EXTRA,
  search_parameters: COSTS_EXTRA,
  enable_search: COSTS_EXTRA,
  search_options: COSTS_EXTRA,
  search_settings: COSTS_EXTRA,
  compound_custom: COSTS_EXTRA,
  enable_code_interpreter: COSTS_EXTRA,
  connectors: COSTS_EXTRA,
  // A second model judges the answer (Together).
  safety_model: COSTS_EXTRA,
  // Anthropic's own, which LiteLLM hands on.
  mcp_servers: COSTS_EXTRA,
  container: COSTS_EXTRA,
  speed: COSTS_EXTRA,
  inference_geo: COSTS_EXTRA,
  // Open WebUI searches, draws and reads files with these.
  features: COSTS_EXTRA,
  tool_ids: COSTS_EXTRA,
  files: COSTS_EXTRA,
  // Images and speech have prices of their own (OpenRouter, OpenAI).
  modalities: COSTS_EXTRA,
  image_config: COSTS_EXTRA,
  audio: COSTS_EXTRA,
};

/** These tiers cost no more than the default (OpenAI, Groq). */
const PLAIN_TIERS = new Set<unknown>([undefined, null, 'auto', 'default', 'flex', 'on_demand']);

const REASONS = new Map(Object.entries(REFUSED_FIELDS).map(([name, reason]) => [foldCase(name), reason]));

/** Returns why a field is refused, in any capitalization; else undefined. */
export function whyRefused(name: string): string | undefined {
  return REASONS.get(foldCase(name));
}

/** Go's JSON package ignores case, and reads the Kelvin sign as a k and the long s as an s. */
export function foldCase(name: string): string {
  return name.toUpperCase().toLowerCase();
}

/** Throws ApiError for the first field that is refused. */
export function checkFields(names: readonly string[]): void {
  for (const name of names) {
    const reason = whyRefused(name);
    if (reason !== undefined) throw refusedField(name, reason);
  }
}

/** Throws ApiError for a service tier with a price of its own. */
export function checkServiceTier(tier: unknown): void {
  if (!PLAIN_TIERS.has(tier)) throw refusedField('service_tier', 'only auto, default, flex and on_demand are taken');
}

/** OpenRouter: `:online` is its web plugin, `:nitro` takes the fastest provider, whatever it costs. */
const SUFFIXES = new Map([
  ['online', COSTS_EXTRA],
  ['nitro', NAMES_MODEL],
]);

/** Throws ApiError for the name of a model with a suffix that changes what it costs. */
export function checkModelSuffix(model: string): void {
  const [, ...suffixes] = model.split(':');
  for (const suffix of suffixes) {
    const reason = SUFFIXES.get(foldCase(suffix.trim()));
    if (reason !== undefined) throw refusedField('model', `with the suffix :${suffix.trim()} ${reason}`);
  }
}

/** The caller runs these tools. A backend may run others, and charge for it. */
export const TOOLS_OF_CALLER: ReadonlySet<unknown> = new Set(['function', 'custom']);

/** With any other field a tool may be one that the backend runs: LiteLLM knows Google's by their names alone. */
export const FIELDS_OF_TOOL: ReadonlySet<string> = new Set([
  'type',
  'function',
  'custom',
  'name',
  'description',
  'parameters',
  'strict',
  'cache_control',
]);
export const FIELDS_OF_FUNCTION: ReadonlySet<string> = new Set(['name', 'description', 'parameters', 'strict']);

/** Returns the error for a tool that the backend runs. */
export function refusedTool(param: string): ApiError {
  return refusedField(
    param,
    `only tools of the types function and custom are taken, with the fields of these, because ${COSTS_EXTRA}`,
  );
}

/** Returns the error for a refused field. `reason` ends its sentence. */
export function refusedField(param: string, reason: string): ApiError {
  const message = `${param} is not supported for an API key with funds or limits: ${reason}.`;
  return new ApiError('unsupported_parameter', { param, message });
}
