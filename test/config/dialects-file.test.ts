import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { ConfigError, readConfig } from '../../src/config/config.ts';
import { DIALECTS } from '../../src/core/dialects.ts';
import type { Environment } from '../../src/config/settings.ts';
import { startScriptedBackend, type ScriptedBackend } from '../support/backend.ts';
import { openGateway, type TestGateway } from '../support/gateway.ts';

describe('DIALECTS_FILE', () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'dialects-'));
  });

  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  function write(content: unknown): string {
    const path = join(folder, 'dialects.json');
    writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
    return path;
  }

  function problemsOf(env: Environment): readonly string[] {
    try {
      readConfig(env);
    } catch (error) {
      if (error instanceof ConfigError) return error.problems;
      throw error;
    }
    return [];
  }

  it('gives UPSTREAM_DIALECT other names, each a built-in kind of backend and what differs from it', () => {
    const own = { extends: 'vllm', afterOutputs: 'assistant', callIds: 'nine-alphanumeric', reasoningField: null };
    const path = write({ 'vllm-mistral': own, other: { extends: 'openai' } });
    const config = readConfig({ DIALECTS_FILE: path, UPSTREAM_DIALECT: 'vllm-mistral' });
    const { extends: _base, ...differences } = own;
    expect(config.dialect).to.deep.equal({ ...DIALECTS.vllm, ...differences });
    expect(config.upstreamDialect).to.equal('vllm-mistral');
  });

  it('leaves the built-in names as they are', () => {
    const path = write({ mine: { extends: 'openai' } });
    expect(readConfig({ DIALECTS_FILE: path, UPSTREAM_DIALECT: 'groq' }).dialect).to.deep.equal(DIALECTS.groq);
  });

  const refused: { name: string; content: unknown; line: RegExp }[] = [
    { name: 'a list', content: [], line: /^DIALECTS_FILE: the file must be object$/ },
    { name: 'no kind at all', content: {}, line: /^DIALECTS_FILE: the file is not valid/ },
    {
      name: 'a kind without a base',
      content: { mine: { thinkTags: true } },
      line: /^DIALECTS_FILE: mine must say which built-in kind of backend it extends$/,
    },
    {
      name: 'a base that does not exist',
      content: { mine: { extends: 'acme' } },
      line: /^DIALECTS_FILE: mine\.extends must be one of generic, openai, /,
    },
    {
      name: 'a kind on top of an own one',
      content: { mine: { extends: 'generic' }, more: { extends: 'mine' } },
      line: /^DIALECTS_FILE: more\.extends must be one of /,
    },
    {
      name: 'a property that does not exist',
      content: { mine: { extends: 'generic', systemrole: 'system' } },
      line: /^DIALECTS_FILE: mine\.systemrole is not a property of a kind of backend$/,
    },
    {
      name: 'a value that does not exist',
      content: { mine: { extends: 'generic', callIds: 'short' } },
      line: /^DIALECTS_FILE: mine\.callIds must be one of any, up-to-40, nine-alphanumeric$/,
    },
    {
      name: 'a value of the wrong type',
      content: { mine: { extends: 'generic', thinkTags: 'yes' } },
      line: /^DIALECTS_FILE: mine\.thinkTags must be one of true, false, opened$/,
    },
    {
      name: 'an effort that does not exist',
      content: { mine: { extends: 'generic', efforts: ['low', 'huge'] } },
      line: /^DIALECTS_FILE: mine\.efforts\.1 must be one of none, minimal, /,
    },
    {
      name: 'fields for an effort that does not exist',
      content: { mine: { extends: 'generic', effortFields: { off: {} } } },
      line: /^DIALECTS_FILE: mine\.effortFields\.off is not a property of a kind of backend$/,
    },
    {
      name: 'fields for an effort that are none',
      content: { mine: { extends: 'generic', effortFields: { none: 'off' } } },
      line: /^DIALECTS_FILE: mine\.effortFields\.none must be object$/,
    },
    {
      name: 'a built-in name',
      content: { openai: { extends: 'generic' } },
      line: /^DIALECTS_FILE: openai is the name of a built-in kind of backend$/,
    },
    {
      name: 'a name in capitals',
      content: { Mine: { extends: 'generic' } },
      line: /^DIALECTS_FILE: Mine must be a name of lower-case letters, digits and hyphens$/,
    },
  ];
  for (const { name, content, line } of refused) {
    it(`with ${name} stops the start with one line that says so`, () => {
      const problems = problemsOf({ DIALECTS_FILE: write(content), UPSTREAM_DIALECT: 'mine' });
      expect(problems).to.have.length(1);
      expect(problems[0]).to.match(line);
    });
  }

  it('tells all of its mistakes at once, beside those of the other settings', () => {
    const path = write({ one: { extends: 'generic', callIds: 1 }, two: { thinkTags: 5 } });
    expect(problemsOf({ DIALECTS_FILE: path, PORT: 'x' })).to.have.length(4);
  });

  it('has to hold the name that is not a built-in one', () => {
    const path = write({ mine: { extends: 'generic' } });
    const [line, ...more] = problemsOf({ DIALECTS_FILE: path, UPSTREAM_DIALECT: 'yours' });
    expect(line).to.match(/^UPSTREAM_DIALECT: must be one of generic, .*, together, mine \(it is "yours"\)$/);
    expect(more).to.deep.equal([]);
  });

  it('is not needed for the built-in names, of which UPSTREAM_DIALECT is one', () => {
    expect(problemsOf({ UPSTREAM_DIALECT: 'OpenAI' })[0]).to.match(
      /^UPSTREAM_DIALECT: must be one of generic, openai, /,
    );
  });

  describe('in a gateway', () => {
    let backend: ScriptedBackend;
    let gateway: TestGateway;

    beforeEach(async () => {
      backend = await startScriptedBackend();
      gateway = await openGateway({
        UPSTREAM_BASE_URL: backend.baseUrl,
        UPSTREAM_DIALECT: 'mine',
        DIALECTS_FILE: write({ mine: { extends: 'mistral', tokenLimitField: 'max_completion_tokens' } }),
      });
    });

    afterEach(async () => {
      await gateway.close();
      await backend.close();
    });

    it('decides what the backend is asked', async () => {
      backend.reply({ json: { choices: [{ message: { content: 'Hi' }, finish_reason: 'stop' }] } });
      await gateway.create({ model: 'm', input: 'Hi', max_output_tokens: 5, reasoning: { effort: 'low' } });
      expect(backend.requests[0]?.body).to.deep.equal({
        model: 'm',
        messages: [{ role: 'user', content: 'Hi' }],
        stream: false,
        max_completion_tokens: 5,
        reasoning_effort: 'high',
      });
    });
  });
});
