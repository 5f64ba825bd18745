import { expect } from 'chai';
import { DIALECTS, toDialect, type DialectName } from '../../../src/core/dialects.ts';
import { ApiError } from '../../../src/core/errors.ts';
import { checkField, checkModelSuffix, checkServiceTier } from '../../../src/core/request/bounded-fields.ts';

function refusalOf(field: string, name: DialectName): ApiError | undefined {
  const at = field.lastIndexOf('.') + 1;
  try {
    checkField(field.slice(0, at), field.slice(at), DIALECTS[name]);
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
  return undefined;
}

interface Documented {
  readonly source: string;
  readonly dialects: readonly DialectName[];
  readonly taken: readonly string[];
  readonly refused: readonly string[];
}

/** What the references of these programs and services have beside OpenAI's format. */
const DOCUMENTED: readonly Documented[] = [
  {
    source: 'platform.openai.com/docs/api-reference/chat/create',
    dialects: ['openai', 'azure', 'generic'],
    taken: ['messages', 'temperature', 'reasoning_effort', 'response_format', 'metadata', 'store', 'verbosity', 'n'],
    refused: ['audio', 'modalities', 'prediction', 'web_search_options'],
  },
  {
    source: 'docs.litellm.ai/docs/proxy/{tag_routing,reliability,client_side_fallbacks}',
    dialects: ['generic', 'openai', 'openrouter', 'google', 'vllm'],
    taken: [],
    refused: ['tags', 'fallbacks', 'num_retries', 'mock_testing_fallbacks', 'extra_body.tags', 'extra_body.fallbacks'],
  },
  {
    source: 'docs.litellm.ai/docs/completion/{drop_params,knowledgebase,reliable_completions}, providers/litellm_proxy',
    dialects: ['generic', 'openai', 'openrouter', 'google', 'vllm'],
    taken: [],
    refused: [
      'additional_drop_params',
      'drop_params',
      'vector_store_ids',
      'context_window_fallback_dict',
      'api_base',
      'base_url',
      'custom_llm_provider',
      'user_config',
      'model_list',
      'prompt_id',
      'prompt_variables',
    ],
  },
  {
    source: 'openrouter.ai/docs/api-reference/overview, openrouter.ai/docs/features/presets',
    dialects: ['openrouter'],
    taken: ['top_k', 'top_a', 'min_p', 'repetition_penalty', 'transforms', 'reasoning', 'include_reasoning', 'usage'],
    refused: ['models', 'route', 'provider', 'preset', 'plugins', 'modalities', 'image_config', 'session_id'],
  },
  {
    source: 'ai.google.dev/gemini-api/docs/openai',
    dialects: ['google', 'generic'],
    taken: [
      'extra_body',
      'extra_body.google',
      'extra_body.google.thinking_config',
      'extra_body.google.thinking_config.thinking_budget',
      'extra_body.google.thinking_config.include_thoughts',
    ],
    refused: [
      'cached_content',
      'extra_body.cached_content',
      'extra_body.google.cached_content',
      'extra_body.google.tools',
      'extra_body.google.thinking_config.tools',
      'extra_body.extra_body',
    ],
  },
  {
    source: 'docs.vllm.ai: entrypoints/openai/chat_completion/protocol.py, renderers/params.py',
    dialects: ['vllm'],
    taken: [
      'top_k',
      'min_p',
      'stop_token_ids',
      'structured_outputs',
      'chat_template_kwargs',
      'documents',
      'cache_salt',
    ],
    refused: [
      'min_tokens',
      'ignore_eos',
      'priority',
      'mm_processor_kwargs',
      'media_io_kwargs',
      'chat_template',
      'use_beam_search',
      'best_of',
      'kv_transfer_params',
      'vllm_xargs',
      'prompt_logprobs',
    ],
  },
  {
    source: 'github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md',
    dialects: ['llamacpp'],
    taken: ['top_k', 'repeat_penalty', 'cache_prompt', 'grammar', 'samplers', 'chat_template_kwargs', 'mirostat'],
    refused: ['n_predict', 'id_slot', 'n_cmpl', 'lora', 'n_keep', 't_max_predict_ms', 'image_data', 'ignore_eos'],
  },
  {
    source: 'help.aliyun.com/zh/model-studio: 通义千问API参考',
    dialects: ['generic', 'openai'],
    taken: [],
    refused: [
      'vl_high_resolution_images',
      'enable_search',
      'search_options',
      'enable_code_interpreter',
      'thinking_budget',
    ],
  },
];

describe('a chat completion of a key with funds or limits', () => {
  for (const { source, dialects, taken, refused } of DOCUMENTED) {
    for (const name of dialects) {
      it(`to ${name} has only fields that cost no more than is reserved: ${source}`, () => {
        for (const field of taken) expect(refusalOf(field, name), field).to.equal(undefined);
        for (const field of refused) {
          expect(refusalOf(field, name), field).to.include({ code: 'unsupported_parameter', param: field });
        }
      });
    }
  }

  for (const [field, written] of [
    ['STREAM', 'stream'],
    ['max_to\u212aens', 'max_tokens'],
    ['\u017ftream', 'stream'],
    ['Top_K', 'top_k'],
    ['stream_options.INCLUDE_USAGE', 'include_usage'],
  ] as const) {
    it(`must have its fields in small letters, since some backends read others too: ${field}`, () => {
      expect(refusalOf(field, 'vllm')?.message).to.contain(`${field} is not supported`);
      expect(refusalOf(field, 'vllm')?.message).to.match(new RegExp(`it must be written ${written}\\.$`));
    });
  }

  it('may have what the operator lists in a dialect, and not what the operator calls unbounded', () => {
    const own = toDialect({ extends: 'generic', parameters: ['enable_thinking'], unboundedParameters: ['modalities'] });
    expect(() => checkField('', 'enable_thinking', own)).not.to.throw();
    expect(() => checkField('', 'modalities', own)).to.throw(ApiError, /no more than is reserved/);
  });

  for (const model of ['m:online', 'm: Online ', 'm:free:NITRO', '@preset/dear', 'openai/m@preset/dear']) {
    it(`may not name the model ${model}, which costs more`, () => {
      expect(() => checkModelSuffix(model))
        .to.throw(ApiError)
        .that.includes({ code: 'unsupported_parameter', param: 'model' });
    });
  }

  for (const model of ['m:online-lora', '@cf/meta/m', 'm@20250101', 'm:nitrogen', 'preset/m']) {
    it(`may name the model ${model}`, () => {
      expect(() => checkModelSuffix(model)).not.to.throw();
    });
  }
});

describe('the tier of service', () => {
  for (const tier of [undefined, null, 'auto', 'scale']) {
    it(`may be ${tier}`, () => {
      expect(() => checkServiceTier(tier)).not.to.throw();
    });
  }

  for (const tier of [1, true, ['default']]) {
    it(`may not be ${JSON.stringify(tier)}, which is no name`, () => {
      expect(() => checkServiceTier(tier))
        .to.throw(ApiError)
        .that.includes({ code: 'unsupported_parameter', param: 'service_tier' });
    });
  }
});
