import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { readConfig } from '../../src/config/config.ts';
import { DIALECTS, isDialectName, type DialectName } from '../../src/core/dialects.ts';
import { startScriptedBackend, type ScriptedBackend } from '../support/backend.ts';
import { run, type CliRun, type Printed } from '../support/cli.ts';
import { BEHAVIOURS, chatsOf, play, type Behaviour } from '../support/dialect-backends.ts';
import { useRealSockets } from '../support/real-sockets.ts';

const KEY = 'sk-canary-canary-canary';

/** What the scripted backends take although their kind does not expect it of every model. */
const BETTER: Partial<Record<DialectName, object>> = {
  sglang: { systemPlace: 'in-place', userMessages: 'as-given' },
  ollama: { systemPlace: 'in-place' },
  moonshot: { systemPlace: 'in-place', userMessages: 'as-given', toolChoice: 'named' },
  google: { systemPlace: 'in-place', userMessages: 'as-given', toolChoice: 'named' },
  mistral: { systemPlace: 'in-place' },
  together: { systemPlace: 'in-place', userMessages: 'as-given' },
};

describe('doctor', () => {
  useRealSockets();
  // About thirty requests each, on a machine that may be busy.
  let backend: ScriptedBackend;

  beforeEach(async () => {
    backend = await startScriptedBackend();
  });
  afterEach(() => backend.close());

  function examine(options: readonly string[] = [], cli: CliRun = {}): Promise<Printed> {
    return run(['doctor', '--base-url', backend.baseUrl, '--key', KEY, ...options], cli);
  }

  async function examineAs(behaviour: Behaviour, options: readonly string[] = [], cli: CliRun = {}) {
    backend.always(play(behaviour));
    const printed = await examine(['--json', ...options], cli);
    return { ...printed, report: JSON.parse(printed.stdout) };
  }

  const resultsOf = (report: { findings: { name: string; result: string }[] }): Record<string, string> =>
    Object.fromEntries(report.findings.map(({ name, result }) => [name, result]));
  const reasonOf = (report: { findings: { name: string; reason: string }[] }, name: string): string | undefined =>
    report.findings.find((finding) => finding.name === name)?.reason;

  for (const dialect of Object.keys(DIALECTS).filter(isDialectName)) {
    it(`suggests ${dialect} for a backend of that kind`, async () => {
      const { status, report } = await examineAs(BEHAVIOURS[dialect]);
      expect(report.dialect).to.deep.include({ suggested: dialect, equivalents: [], set: 'generic' });
      const better = BETTER[dialect];
      expect(report.settings.UPSTREAM_DIALECT).to.equal(better === undefined ? dialect : 'my-backend');
      expect(report.dialects_file).to.deep.equal(better ? { 'my-backend': { extends: dialect, ...better } } : null);
      expect({ status, ok: report.ok }).to.deep.equal({ status: 0, ok: true });
    });
  }

  it('says of each question what the backend does', async () => {
    const { report } = await examineAs(BEHAVIOURS.vllm);
    const { 'prefix cache': prefixCache, ...results } = resultsOf(report);
    expect(results).to.deep.equal({
      models: 'yes',
      model: 'yes',
      keys: 'yes',
      chat: 'yes',
      stream: 'yes',
      'usage in streams': 'yes',
      max_tokens: 'yes',
      max_completion_tokens: 'yes',
      'developer role': 'no',
      'system message later on': 'no',
      'user messages in a row': 'no',
      tools: 'yes',
      'parallel tools': 'yes',
      'tool_choice required': 'yes',
      'tool_choice named': 'yes',
      'tool_choice none': 'yes',
      'parallel_tool_calls false': 'yes',
      json_schema: 'yes',
      json_object: 'yes',
      reasoning: 'yes',
      images: 'yes',
      'second turn': 'yes',
      'optional fields': 'yes',
      abort: 'unclear',
    });
    // Of a backend that reports no cached tokens a slow machine sees that it took as long again.
    expect(prefixCache).to.be.oneOf(['no', 'unclear']);
    expect(reasonOf(report, 'reasoning')).to.equal('in reasoning');
    expect(reasonOf(report, 'developer role')).to.equal('400: Unexpected message role.');
  });

  it('asks by the name of the limit that the backend takes', async () => {
    const { report } = await examineAs(BEHAVIOURS.openai);
    expect(resultsOf(report)).to.include({ max_tokens: 'no', max_completion_tokens: 'yes', tools: 'yes' });
    const withOld = chatsOf(backend.requests).filter((chat) => chat['max_tokens'] !== undefined);
    expect(withOld).to.have.length(2);
    for (const chat of chatsOf(backend.requests)) {
      expect(Number(chat['max_tokens'] ?? chat['max_completion_tokens'])).to.be.within(1, 512);
    }
  });

  it('notices a limit that is taken and not kept', async () => {
    const { report } = await examineAs(BEHAVIOURS.ollama);
    expect(resultsOf(report)).to.include({ max_tokens: 'yes', max_completion_tokens: 'no' });
    expect(reasonOf(report, 'max_completion_tokens')).to.match(/not kept: 100 tokens/);
  });

  it('notices that usage cannot be asked for', async () => {
    const { report } = await examineAs(BEHAVIOURS.mistral);
    expect(resultsOf(report)).to.include({ stream: 'yes', 'usage in streams': 'no' });
    expect(reasonOf(report, 'usage in streams')).to.match(/^422: .*stream_options.*not permitted/);
  });

  it('names the kinds between which it cannot tell', async () => {
    const { refuse } = BEHAVIOURS.openai;
    const { report } = await examineAs({ ...(refuse && { refuse }) });
    expect(report.dialect).to.deep.include({ suggested: 'openai', equivalents: ['azure', 'groq'] });
  });

  it('finds think blocks in any answer', async () => {
    const { report } = await examineAs({ ...BEHAVIOURS.groq, message: { content: '<think>\nHm\n</think>\nOK' } });
    expect(reasonOf(report, 'reasoning')).to.equal('in <think>');
    expect(report.dialects_file).to.deep.equal({ 'my-backend': { extends: 'groq', thinkTags: true } });
  });

  it('finds think blocks that the chat template opened, and names the setting', async () => {
    const { report } = await examineAs({ ...BEHAVIOURS.vllm, message: { content: 'Hm\n</think>\n\nOK' } });
    expect(reasonOf(report, 'reasoning')).to.equal('before </think>, in a block that the chat template opened');
    expect(report.dialects_file).to.deep.equal({ 'my-backend': { extends: 'vllm', thinkTags: 'opened' } });
  });

  it('finds the field in which a backend wants its thoughts back', async () => {
    const { report } = await examineAs({
      ...BEHAVIOURS.groq,
      message: { reasoning_content: 'Hm' },
      refuse: ({ messages }) =>
        messages.some(
          (message) => message.role === 'assistant' && 'tool_calls' in message && !('reasoning_content' in message),
        )
          ? [400, { error: { message: 'reasoning_content is missing' } }]
          : undefined,
    });
    expect(reasonOf(report, 'second turn')).to.match(/^it wants its reasoning_content back, else 400: /);
    expect(report.dialects_file).to.deep.equal({
      'my-backend': { extends: 'groq', reasoningField: 'reasoning_content' },
    });
  });

  it('recognises a kind by what only some answers show', async () => {
    const script = play(BEHAVIOURS.generic);
    backend.always((stage) => {
      const isStream = (stage.request.body as { stream?: unknown }).stream === true;
      return isStream ? play(BEHAVIOURS.groq)(stage) : script(stage);
    });
    expect(JSON.parse((await examine(['--json'])).stdout).dialect.suggested).to.equal('groq');
  });

  it('says where the dialect that is set does not suit', async () => {
    const { refuse } = BEHAVIOURS.generic;
    const options = ['--dialect', 'openai'];
    const { report } = await examineAs({ ...(refuse && { refuse }) }, options);
    expect(report.dialect.mismatch).to.deep.equal({
      systemRole: 'system',
      systemPlace: 'merged-first',
      userMessages: 'merged',
    });
    expect((await examine(options)).stdout).to.match(
      /UPSTREAM_DIALECT is openai, which does not fit: systemRole should be/,
    );
  });

  it('says what the backend takes better than the dialect that is set', async () => {
    const { report } = await examineAs({});
    const better = { systemPlace: 'in-place', userMessages: 'as-given', toolChoice: 'named' };
    expect(report.dialect).to.deep.include({ suggested: 'generic', mismatch: {}, better });
    expect(report.dialects_file).to.deep.equal({ 'my-backend': { extends: 'generic', ...better } });
    expect((await examine()).stdout).to.match(
      /^UPSTREAM_DIALECT is generic, and the backend supports more than that: systemPlace should be "in-place", /m,
    );
  });

  it('suggests settings with which the gateway starts, with a dialect of its own where none suits', async () => {
    const { refuse } = BEHAVIOURS.generic;
    const { report } = await examineAs({ ...BEHAVIOURS.groq, ...(refuse && { refuse }) });
    const { settings, dialects_file: own } = report;
    expect(own).to.deep.equal({
      'my-backend': { extends: 'groq', systemPlace: 'merged-first', userMessages: 'merged' },
    });
    const folder = mkdtempSync(join(tmpdir(), 'doctor-'));
    try {
      writeFileSync(join(folder, 'dialects.json'), JSON.stringify(own));
      const config = readConfig({ ...settings, DIALECTS_FILE: join(folder, settings.DIALECTS_FILE) });
      expect(config).to.deep.include({ upstreamBaseUrl: backend.baseUrl, defaultModelId: 'some-model' });
      expect(config.dialect).to.deep.equal({ ...DIALECTS.groq, systemPlace: 'merged-first', userMessages: 'merged' });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('has the gateway check the keys where the backend takes any', async () => {
    const script = play(BEHAVIOURS.vllm);
    backend.always((stage) => {
      stage.request.headers.authorization = 'Bearer any';
      return script(stage);
    });
    const report = JSON.parse((await examine(['--json'])).stdout);
    expect(resultsOf(report)).to.include({ keys: 'no' });
    expect(report.settings.AUTH_MODE).to.equal('static');
    expect((await examine()).stdout).to.match(/The backend takes any key.*API_KEYS/);
  });

  it('sends the key that is in the file of UPSTREAM_API_KEY_FILE, whatever AUTH_MODE says, unless an option names one', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'doctor-'));
    const file = join(folder, 'key');
    writeFileSync(file, 'sk-of-a-file\n');
    backend.always(play(BEHAVIOURS.vllm));
    const env = { UPSTREAM_BASE_URL: backend.baseUrl, UPSTREAM_API_KEY_FILE: file };
    try {
      const sent = async (line: string): Promise<string | undefined> => {
        const { status, stderr } = await run(line, { env });
        expect(status, stderr).to.equal(0);
        return backend.requests.at(-1)?.headers.authorization;
      };
      expect(await sent('doctor')).to.equal('Bearer sk-of-a-file');
      expect(await sent('doctor --key sk-of-an-option')).to.equal('Bearer sk-of-an-option');
      rmSync(file);
      const { status, stderr } = await run('doctor', { env });
      expect({ status, stderr }).to.deep.equal({ status: 78, stderr: 'UPSTREAM_API_KEY_FILE: cannot be read\n' });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('names what is odd in the answers, and what the gateway makes of it', async () => {
    const { report } = await examineAs({ choice: { finish_reason: 'eos' } });
    expect(report.oddities).to.deep.include({
      name: 'a finish reason of its own',
      reading: 'The words of other APIs are known. After an unknown one the answer counts as whole if its calls are.',
      known_of: ['together'],
    });
    const { stdout } = await examine();
    expect(stdout).to.contain('\na finish reason of its own: The words of other APIs are known. ');
  });

  it('gives the demo backend a clean bill', async () => {
    const { status, stdout } = await run('doctor');
    expect(stdout).to.match(
      /^Works with OpenAI SDK, Agents SDK, AI SDK, LangChain, Codex\.\n\nThe embedded demo backend/,
    );
    expect(stdout).not.to.match(/^UPSTREAM_BASE_URL=/m);
    expect(stdout)
      .to.match(/^chat +yes {2}/m)
      .and.match(/^stream +yes {2}/m);
    expect(stdout).to.match(/^Dialect\ngeneric\. /m);
    expect(stdout).to.include('keys: The demo backend takes any key').and.not.to.include('let the gateway check keys');
    expect(status).to.equal(0);
    const report = JSON.parse((await run('doctor --json')).stdout);
    expect(report).to.deep.include({ object: 'examination', base_url: null, model: 'demo', ok: true, oddities: [] });
    expect(report.verdict).to.equal('Works with OpenAI SDK, Agents SDK, AI SDK, LangChain, Codex.');
    expect(report.works_with[0]).to.deep.equal({ client: 'OpenAI SDK', works: 'yes', why: [] });
    expect(report.settings).to.deep.equal({
      UPSTREAM_DIALECT: 'generic',
      DEFAULT_MODEL_ID: 'demo',
      AUTH_MODE: 'passthrough',
    });
    expect(Object.keys(report.clients)).to.deep.equal(['openai-js', 'openai-python', 'ai-sdk', 'codex']);
  });

  it('prints the same as a table, with configurations for clients', async () => {
    backend.always(play(BEHAVIOURS.llamacpp));
    const { status, stdout, stderr } = await examine([], { env: { PUBLIC_BASE_URL: 'https://gateway.test' } });
    expect(stdout).to.match(/^user messages in a row +no +500: Conversation roles must alternate$/m);
    expect(stdout).to.match(
      /^llamacpp\. Recognised by the owner of its models, the field timings, its system_fingerprint\.$/m,
    );
    expect(stdout).to.contain(
      `UPSTREAM_BASE_URL=${backend.baseUrl}\nUPSTREAM_DIALECT=llamacpp\nDEFAULT_MODEL_ID=some-model\n`,
    );
    expect(stdout).to.contain('base_url = "https://gateway.test/api/v1"').and.contain('store: false');
    expect(stdout).to.contain('\nuser messages in a row: The gateway merges them.\n');
    expect({ status, stderr }).to.deep.equal({ status: 0, stderr: '' });
  });

  it('ends with 1 where the backend does not stream', async () => {
    const { status, stderr, report } = await examineAs({
      refuse: (chat) => (chat['stream'] === true ? [400, { error: { message: 'no streams here' } }] : undefined),
    });
    expect(resultsOf(report)).to.include({ chat: 'yes', stream: 'no' });
    expect(reasonOf(report, 'stream')).to.equal('400: no streams here');
    expect(report.ok).to.equal(false);
    expect(report.verdict).to.match(/Does not work with OpenAI SDK \(stream\)/);
    const finding = report.findings.find((one: { name: string }) => one.name === 'stream');
    expect(finding.means).to.equal('Text arrives all at once, or not at all.');
    expect(stderr).to.match(/The backend lacks what every client needs/);
    expect(status).to.equal(1);
  });

  it('ends with 1 where the model calls a tool that was not offered', async () => {
    const wrong = { id: 'call_1', type: 'function', function: { name: 'wrong_tool', arguments: '{}' } };
    const { status, report } = await examineAs({ message: { content: null, tool_calls: [wrong] } });
    expect(reasonOf(report, 'tools')).to.equal('called wrong_tool, which was not offered');
    expect(report.verdict).to.match(/Does not work with Agents SDK \(tools\), Codex \(tools\)\.$/);
    expect({ status, ok: report.ok }).to.deep.equal({ status: 1, ok: false });
  });

  it('takes a backend without usage for one that can be used', async () => {
    const none = { prompt_tokens: undefined, completion_tokens: undefined, total_tokens: undefined };
    const { status, report } = await examineAs({ usage: none, choice: { finish_reason: 'stop' } });
    expect(resultsOf(report)).to.include({ 'usage in streams': 'no', max_tokens: 'unclear' });
    expect(report.verdict).to.match(/^Works with OpenAI SDK, Agents SDK/);
    expect({ status, ok: report.ok }).to.deep.equal({ status: 0, ok: true });
  });

  describe('the model', () => {
    const modelOf = () => chatsOf(backend.requests).at(-1)?.['model'];

    it('is the first one listed', async () => {
      const { report } = await examineAs({});
      expect([report.model, modelOf()]).to.deep.equal(['some-model', 'some-model']);
    });

    it('is the one of DEFAULT_MODEL_ID, by the name which the backend knows', async () => {
      const env = { DEFAULT_MODEL_ID: 'mine', MODEL_ALIASES: '{"mine": "some-model"}' };
      const { report } = await examineAs({}, [], { env });
      expect(modelOf()).to.equal('some-model');
      expect(reasonOf(report, 'model')).to.equal('some-model is listed');
    });

    it('is the one of the option before that', async () => {
      const { report } = await examineAs({}, ['--model', 'other'], { env: { DEFAULT_MODEL_ID: 'mine' } });
      expect(modelOf()).to.equal('other');
      expect(resultsOf(report)).to.include({ model: 'no', chat: 'yes' });
    });
  });

  it('takes the key from UPSTREAM_API_KEY, whatever AUTH_MODE says', async () => {
    backend.always(play({}));
    const env = { UPSTREAM_BASE_URL: backend.baseUrl, UPSTREAM_API_KEY: KEY, AUTH_MODE: 'passthrough' };
    const { status } = await run('doctor', { env });
    expect(status).to.equal(0);
    const keys = new Set(backend.requests.map(({ headers }) => headers.authorization));
    expect([...keys].filter((key) => !key?.startsWith('Bearer probe-'))).to.deep.equal([`Bearer ${KEY}`]);
  });

  it('never shows the key, not even where the backend repeats it', async () => {
    const refuse: Behaviour['refuse'] = (chat) =>
      chat['tools'] === undefined ? undefined : [400, { error: { message: `not for ${KEY}` } }];
    backend.always(play({ refuse }));
    const table = await examine();
    const json = await examine(['--json']);
    expect(table.stdout).to.match(/^tools +no +400: not for \[redacted\]$/m);
    for (const { stdout, stderr } of [table, json]) expect(stdout + stderr).not.to.contain('canary');
  });

  it('lets the name of a model neither move the cursor nor run in a shell', async () => {
    const id = "x'; touch y;\u{1b}[2J\u{9b}";
    backend.always(play({ model: { id } }));
    const { stdout, stderr } = await examine();
    expect(stdout).to.contain("DEFAULT_MODEL_ID='x'\\''; touch y;\u{fffd}[2J\u{fffd}'\n");
    const refuse: Behaviour['refuse'] = () => [404, { error: { message: 'no such model', code: 'model_not_found' } }];
    backend.always(play({ model: { id }, refuse }));
    const refused = await examine();
    expect(refused.stderr).to.match(/The backend has no model "x'; touch y;/);
    for (const text of [stdout, stderr, refused.stderr]) expect(text).not.to.match(/[^\P{C}\n]/u);
  });

  it('refuses a key that no header can carry, without showing it', async () => {
    const { status, stderr } = await run(['doctor', '--base-url', backend.baseUrl, '--key', 'sk canary']);
    expect(stderr).to.equal('--key: must be visible ASCII characters without white space\n');
    expect(status).to.equal(2);
  });

  for (const { line, words } of [
    { line: '--base-url localhost:8000', words: /^--base-url: must be a URL that begins with http[^\n]+\n$/ },
    { line: '--dialect nope', words: /^--dialect: must be one of generic, [^\n]+\n$/ },
    { line: '--base-url x --dialect nope', words: /^--base-url: must be [^\n]+\n--dialect: must be [^\n]+\n$/ },
  ]) {
    it(`ends with 2 for ${line}, and names the option`, async () => {
      const { status, stderr } = await run(`doctor ${line}`);
      expect(stderr).to.match(words);
      expect(status).to.equal(2);
    });
  }

  it('ends with 78 for a setting that is wrong, and names it', async () => {
    const settings = { UPSTREAM_BASE_URL: 'localhost:8000' };
    const { status, stderr } = await run('doctor --model m', { env: settings });
    expect(stderr).to.match(/^UPSTREAM_BASE_URL: must be a URL/);
    expect(status).to.equal(78);
  });

  it('stops at Ctrl-C', async () => {
    const interruption = new AbortController();
    const script = play({});
    backend.always((stage) => {
      if (stage.request.method === 'GET') return script(stage);
      interruption.abort();
      return stage.hang();
    });
    const { status, stdout, stderr } = await examine([], { interruption: interruption.signal });
    expect(stderr).to.equal('Interrupted.\n');
    expect({ status, stdout }).to.deep.equal({ status: 1, stdout: '' });
    expect(await (await backend.request(2)).closed).to.include({ aborted: true });
  });

  it('shows one line that is written over on a terminal, and leaves nothing of it', async () => {
    backend.always(play({}));
    const { stderr } = await examine(['--no-color'], { isTTY: true });
    expect(stderr)
      .to.contain('\r\u{1b}[K⠙ models')
      .and.match(/ tools/);
    expect(stderr).to.satisfy((text: string) => text.endsWith('\r\u{1b}[K'));
    expect(stderr).not.to.contain('\n');
  });
});
