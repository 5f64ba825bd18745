import { expect } from 'chai';
import { ApiError } from '../../../src/core/errors.ts';
import { checkServiceTier, REFUSED_FIELDS, whyRefused } from '../../../src/core/request/refused-fields.ts';

describe('the fields that keys with funds or limits may not send', () => {
  it('are known in all letters, each with its reason', () => {
    for (const [name, reason] of Object.entries(REFUSED_FIELDS)) {
      for (const written of [name, name.toUpperCase(), name.replace('s', '\u017f').replace('k', '\u212a')]) {
        expect(whyRefused(written), written).to.equal(reason);
      }
    }
  });

  it('are not those of the chat format, nor those that ordinary clients send beside them', () => {
    for (const name of [
      'chat_template_kwargs',
      'documents',
      'extra_body',
      'frequency_penalty',
      'functions',
      'keep_alive',
      'logit_bias',
      'metadata',
      'n',
      'parallel_tool_calls',
      'prompt_cache_key',
      'reasoning',
      'reasoning_effort',
      'response_format',
      'session_id',
      'stop',
      'stream_options',
      'think',
      'thinking',
      'tool_choice',
      'transforms',
      'usage',
      'user',
      'verbosity',
      'model',
      'messages',
      'max_tokens',
      'temperature',
      'tools',
      'top_k',
      'seed',
      'constructor',
      '',
    ]) {
      expect(whyRefused(name), name).to.equal(undefined);
    }
  });
});

describe('the tier of service', () => {
  for (const tier of [undefined, null, 'auto', 'default', 'flex', 'on_demand']) {
    it(`may be ${tier}`, () => {
      expect(() => checkServiceTier(tier)).not.to.throw();
    });
  }

  for (const tier of ['priority', 'Default', 'scale', 'performance', '', 1, ['default']]) {
    it(`may not be ${JSON.stringify(tier)}, which may have a price of its own`, () => {
      expect(() => checkServiceTier(tier))
        .to.throw(ApiError)
        .that.includes({ code: 'unsupported_parameter', param: 'service_tier' });
    });
  }
});
