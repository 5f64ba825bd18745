import { expect } from 'chai';
import { isContextOverflow } from '../../src/backend/context-overflow.ts';
import { readErrorBody } from '../../src/backend/error-body.ts';

/** The sentences are those of the backends, with other figures in them. */
const overflows: readonly (readonly [backend: string, message: string])[] = [
  ['OpenAI', "This model's maximum context length is 8192 tokens. However, your messages resulted in 8545 tokens."],
  ['OpenAI, newer', 'Your input exceeds the context window of this model. Please adjust your input and try again.'],
  [
    'Azure',
    "This model's maximum context length is 4096 tokens, however you requested 4100 tokens (100 in your prompt).",
  ],
  [
    'vLLM',
    "'max_tokens' is too large: 2000. This model's maximum context length is 4096 tokens and your request has 3000.",
  ],
  ['llama.cpp', 'the request exceeds the available context size, try increasing it'],
  ['llama.cpp, newer', 'request (14429 tokens) exceeds the available context size (8192 tokens), try increasing it'],
  ['llama-cpp-python', 'Requested tokens (2285) exceed context window of 2048'],
  ['Ollama', 'prompt too long; exceeded max context length by 1119046 tokens (ref: 96164522)'],
  ['Ollama, embedded', 'the input length exceeds the context length'],
  ['LM Studio', 'The number of tokens to keep from the initial prompt is greater than the context length.'],
  ['Mistral', 'Prompt contains 200000 tokens, too large for model with 131072 maximum context length'],
  ['Groq', 'Please reduce the length of the messages or completion.'],
  ['Cerebras', 'Please reduce the length of the messages or completion. Current length is 42328 while limit is 40000'],
  [
    'DeepSeek',
    "This model's maximum context length is 65536 tokens. However, you requested 69648 tokens (69648 in the messages).",
  ],
  ['OpenRouter', "This endpoint's maximum context length is 4096 tokens. However, you requested about 9000 tokens"],
  [
    'Together',
    'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: 9000 `inputs` tokens',
  ],
  ['text-generation-inference', 'Input validation error: `inputs` must have less than 4095 tokens. Given: 5000'],
  ['SGLang', "The input (61709 tokens) is longer than the model's context length (40960 tokens)."],
  ['SGLang, with output', "Requested token count exceeds the model's maximum context length of 4096 tokens."],
  ['Fireworks', 'The prompt is too long: 9000, model maximum context length: 8192'],
  ['Anthropic', 'prompt is too long: 213462 tokens > 200000 maximum'],
  ['Anthropic, with output', 'input length and `max_tokens` exceed context limit: 199759 + 8192 > 200000'],
  ['Bedrock', 'Input is too long for requested model.'],
  ['Google', 'The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).'],
  ['xAI', "This model's maximum prompt length is 131072 but the request contains 537812 tokens."],
  ['Moonshot', 'Invalid request: Your request exceeded model token limit: 262144 (requested: 291351)'],
  ['MiniMax', 'invalid params, context window exceeds limit (2013)'],
  ['Alibaba', 'Range of input length should be [1, 30720]'],
  ['Zhipu', 'Prompt exceeds max length'],
  ['GitHub Copilot', 'prompt token count of 70000 exceeds the limit of 64000'],
];

const others: readonly string[] = [
  'Rate limit reached for model x on tokens per minute (TPM): Limit 6000, Used 5000, Requested 2000.',
  'Request too large for model x on tokens per minute (TPM): Limit 6000, Requested 7000, please reduce your message size.',
  'Too many tokens, please wait before trying again.',
  'max_tokens is too large: 50000. This model supports at most 16384 completion tokens.',
  'You exceeded your current quota, please check your plan and billing details.',
  "Invalid 'messages[3]'. Content blocks are expected to be either text or image_url type.",
  'string too long. Expected a string with maximum length 10485760',
  'The file exceeds the size limit.',
];

describe('isContextOverflow', () => {
  for (const [backend, message] of overflows) {
    it(`recognises the words of ${backend}`, () => {
      expect(isContextOverflow(readErrorBody(JSON.stringify({ error: { message } })))).to.equal(true);
    });
  }

  for (const code of ['context_length_exceeded', 'exceed_context_size_error', 'model_context_window_exceeded']) {
    it(`recognises ${code} as code, as type, and in an error inside the message`, () => {
      for (const error of [{ code }, { type: code }, { message: JSON.stringify({ error: { message: 'x', code } }) }]) {
        expect(isContextOverflow(readErrorBody(JSON.stringify({ error: { message: 'x', ...error } })))).to.equal(true);
      }
    });
  }

  for (const message of others) {
    it(`does not take for one: ${message}`, () => {
      expect(isContextOverflow(readErrorBody(JSON.stringify({ error: { message } })))).to.equal(false);
    });
  }
});
