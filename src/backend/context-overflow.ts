import type { ErrorWords } from './error-body.ts';

const CODES = new Set([
  'context_length_exceeded', // OpenAI, Azure, Groq, Together, Cerebras
  'exceed_context_size_error', // llama.cpp
  'model_context_window_exceeded', // Z.ai
]);

/** The patterns are narrow: "too many tokens" per minute must not match. */
const WORDINGS: readonly RegExp[] = [
  /maximum context length/i, // OpenAI, Azure, vLLM, DeepSeek, Mistral, OpenRouter, Fireworks
  /exceed(?:s|ed|ing)? .{0,40}\bcontext (?:window|length|size|limit)/i, // OpenAI, llama.cpp, Ollama, LM Studio
  /context (?:window|length|size|limit) (?:is |was |has been )?exceed/i, // MiniMax, many proxies
  /(?:longer|greater|larger) than the (?:model'?s )?(?:maximum )?context (?:window|length|size)/i, // SGLang, LM Studio
  /(?:prompt|input) (?:is )?too long/i, // Ollama, Anthropic, Bedrock, Fireworks
  /prompt exceeds max(?:imum)? length/i, // Zhipu
  /reduce the length of (?:the|your) (?:input )?(?:messages|prompt)/i, // Groq, Cerebras
  /input token count.{0,40}exceeds the maximum/i, // Google
  /maximum prompt length is \d/i, // xAI
  /exceeded model token limit/i, // Moonshot
  /range of input length should be/i, // Alibaba
  /prompt token count of \d+ exceeds the limit/i, // GitHub Copilot
  /inputs`? tokens \+ `?max_new_tokens`? must be <= \d/i, // Together, text-generation-inference
  /inputs`? must have less than \d+ tokens/i, // text-generation-inference
];

/** Returns whether the error says that the request exceeds the context window of the model. */
export function isContextOverflow(words: ErrorWords): boolean {
  return words.codes.some((code) => CODES.has(code)) || WORDINGS.some((wording) => wording.test(words.message));
}
