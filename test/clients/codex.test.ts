import { join } from 'node:path';
import { expect } from 'chai';
import { expectAnswer, useCodex } from './codex.ts';
import { after, calling, imagesOfLast, SPECIAL } from './model-words.ts';
import { PIXEL, PIXEL_URL } from './pixel.ts';
import { REASONING } from './scene.ts';
import type { Answer, Line, ModelCall } from './strict-backend.ts';

/** A model which Codex does not know, as any model of one's own. Others make it send other types of tools. */
const UNKNOWN = 'test-model';
/** `custom` and `tool_search`. */
const CUSTOM = 'gpt-5.5';
/** `additional_tools` and code mode: there is one `custom` tool, `exec`, which takes JavaScript that calls the others. */
const CODE_MODE = ['gpt-5.6-sol', 'gpt-6-sol'];

/** Code mode too; OpenAI is told of their effort by `configuration_update` items, one at least in every request. */
const WITH_EFFORT_UPDATES = ['gpt-6-astra', 'gpt-6.1-sol', 'gpt-6.1-terra'];
const AS_OPENAI = 'model_providers.gateway.name="OpenAI"';

const PATCH = `*** Begin Patch\n*** Add File: patched.txt\n+${SPECIAL}\n+second line\n*** End Patch`;
/** Codex begins its first turn without the tools of a server that takes more than a second to start, unless it is required. */
const MCP_SERVER = [
  'mcp_servers.probe.required=true',
  'mcp_servers.probe.startup_timeout_sec=120',
  `mcp_servers.probe.command=${JSON.stringify(process.execPath)}`,
  `mcp_servers.probe.args=${JSON.stringify([join(import.meta.dirname, 'mcp-server.ts')])}`,
];

describe('Codex CLI', () => {
  const scene = useCodex();

  describe('with tools', () => {
    const command = `printf '%s' '${SPECIAL}' > made.txt; echo made it`;
    const shellCalls: readonly { model: string; call: Answer }[] = [
      { model: UNKNOWN, call: calling('exec_command', { cmd: command }) },
      { model: CUSTOM, call: calling('exec_command', { cmd: command }) },
      ...CODE_MODE.map((model) => ({
        model,
        call: script(`const r = await tools.exec_command({ cmd: ${JSON.stringify(command)} }); text(r.output);`),
      })),
    ];
    for (const { model, call } of shellCalls) {
      it(`makes a file by a shell call as ${model}`, async () => {
        scene.backend.plays({ text: `I make it: ${SPECIAL}`, ...call }, after('made it', { text: SPECIAL }));
        expectAnswer(await scene.codex.exec('Make a file.', { model }), SPECIAL);
        expect(scene.codex.read('made.txt')).to.equal(SPECIAL);
        expect(scene.backend.bodies[1]?.messages.at(-2)?.content).to.equal(`I make it: ${SPECIAL}`);
      });
    }

    const patchCalls: readonly { model: string; call: Answer }[] = [
      { model: UNKNOWN, call: calling('exec_command', { cmd: `apply_patch <<'EOF'\n${PATCH}\nEOF` }) },
      { model: CUSTOM, call: calling('apply_patch', { input: PATCH }) },
      ...CODE_MODE.map((model) => ({
        model,
        call: script(`await tools.apply_patch(${JSON.stringify(PATCH)}); text("Success");`),
      })),
    ];
    for (const { model, call } of patchCalls) {
      it(`applies a patch as ${model}`, async () => {
        scene.backend.plays(call, after('Success', { text: 'It is patched.' }));
        expectAnswer(await scene.codex.exec('Patch it.', { model }), 'It is patched.');
        expect(scene.codex.read('patched.txt')).to.equal(`${SPECIAL}\nsecond line\n`);
      });
    }

    const mcpCalls: readonly { model: string; calls: readonly Line[] }[] = [
      { model: UNKNOWN, calls: [calling('ns_probe', { word: SPECIAL })] },
      {
        model: CUSTOM,
        calls: [
          calling('tool_search', { query: 'probe hears word', limit: 3 }),
          after('ns_probe', calling('ns_probe', { word: SPECIAL })),
        ],
      },
      ...CODE_MODE.map((model) => ({
        model,
        calls: [
          script(
            `const r = await tools.mcp__probe__ns_probe({ word: ${JSON.stringify(SPECIAL)} }); text(r.content[0].text);`,
          ),
        ],
      })),
    ];
    for (const { model, calls } of mcpCalls) {
      it(`asks a tool of an MCP server as ${model}`, async () => {
        scene.backend.plays(...calls, after(`probe heard ${SPECIAL}`, { text: 'It heard.' }));
        expectAnswer(await scene.codex.exec('Say a word to the probe.', { model, config: MCP_SERVER }), 'It heard.');
      });
    }

    it('asks a tool of an MCP server whose name is too long for the backend', async () => {
      scene.backend.plays(calling('ns_long', { word: 'hi' }), after('probe heard hi', { text: 'It heard.' }));
      expectAnswer(await scene.codex.exec('Say a word.', { config: MCP_SERVER }), 'It heard.');
    });

    it('waits for a script that runs on, and hears its news, in code mode', async () => {
      const news = 'notify("news"); text("begun"); await new Promise((go) => setTimeout(go, 800)); text("ended");';
      scene.backend.plays(
        script(`// @exec: {"yield_time_ms": 100}\n${news}`),
        ({ messages }) => {
          expect(JSON.stringify(messages.slice(-2)))
            .to.include('begun')
            .and.to.include('news');
          return calling('functions__wait', { cell_id: '1', yield_time_ms: 5000 });
        },
        after('ended', { text: 'It ended.' }),
      );
      expectAnswer(await scene.codex.exec('Run it.', { model: 'gpt-6-sol' }), 'It ended.');
    });

    it('runs parallel calls, each by itself', async () => {
      const calls: ModelCall[] = ['one', 'two'].map((word) => ({
        name: 'exec_command',
        arguments: { cmd: `echo ${word} > ${word}.txt; echo said ${word}` },
      }));
      scene.backend.plays({ calls }, after('said two', { text: 'Both.' }));
      expectAnswer(await scene.codex.exec('Do both.'), 'Both.');
      expect([scene.codex.read('one.txt'), scene.codex.read('two.txt')]).to.deep.equal(['one\n', 'two\n']);
      expect(scene.backend.bodies[1]?.messages.at(-2)?.content).to.include('said one');
    });
  });

  describe('with images', () => {
    it('shows the model an image of the prompt', async () => {
      const path = scene.codex.write('pixel.png', Buffer.from(PIXEL, 'base64'));
      scene.backend.plays({ text: 'A pixel.' });
      expectAnswer(await scene.codex.exec('What is it?', { args: ['-i', path] }), 'A pixel.');
      expect(imagesOfLast(scene.backend.bodies[0])).to.deep.equal([PIXEL_URL]);
    });

    it('shows the model an image that a tool of an MCP server gives', async () => {
      scene.backend.plays(calling('ns_picture', {}), { text: 'A pixel.' });
      expectAnswer(await scene.codex.exec('Look.', { config: MCP_SERVER }), 'A pixel.');
      expect(imagesOfLast(scene.backend.bodies[1])).to.deep.equal([PIXEL_URL]);
    });

    for (const model of [UNKNOWN, CUSTOM, ...CODE_MODE]) {
      it(`shows the model an image that it asks for as ${model}`, async () => {
        const path = scene.codex.write('pixel.png', Buffer.from(PIXEL, 'base64'));
        const view = `image(await tools.view_image({ path: ${JSON.stringify(path)} }));`;
        scene.backend.plays(CODE_MODE.includes(model) ? script(view) : calling('view_image', { path }), {
          text: 'A pixel.',
        });
        expectAnswer(await scene.codex.exec('Look.', { model }), 'A pixel.');
        expect(imagesOfLast(scene.backend.bodies[1])).to.deep.equal([PIXEL_URL]);
      });
    }
  });

  it('goes on with a session, and replays it', async () => {
    scene.backend.plays({ text: SPECIAL }, { text: 'Two.' });
    expectAnswer(await scene.codex.exec('First'), SPECIAL);
    expectAnswer(await scene.codex.exec('Second', { args: ['resume', '--last'] }), 'Two.');
    const [first, ...others] = scene.backend.bodies[1]?.messages.slice(-3) ?? [];
    // What Codex says of its surroundings may stand in the same message.
    expect(first?.content).to.match(/First$/);
    expect(others).to.deep.equal([
      { role: 'assistant', content: SPECIAL },
      { role: 'user', content: 'Second' },
    ]);
  });

  it('goes on with a session under a model name that has other tools', async () => {
    scene.backend.plays(script('text("looked");'), after('looked', { text: 'One.' }), { text: 'Two.' });
    expectAnswer(await scene.codex.exec('First', { model: 'gpt-6-sol' }), 'One.');
    expectAnswer(await scene.codex.exec('Second', { model: UNKNOWN, args: ['resume', '--last'] }), 'Two.');
    const { messages = [] } = scene.backend.bodies[2] ?? {};
    expect(messages.flatMap((message) => message.tool_calls ?? []).map((call) => call.function.name)).to.deep.equal([
      'functions__exec',
    ]);
  });

  it('gets an answer by a schema', async () => {
    const schema = {
      type: 'object',
      properties: { city: { type: 'string' } },
      required: ['city'],
      additionalProperties: false,
    };
    const path = scene.codex.write('schema.json', JSON.stringify(schema));
    scene.backend.plays({ text: '{"city":"Bonn"}' });
    expectAnswer(await scene.codex.exec('Which city?', { args: ['--output-schema', path] }), '{"city":"Bonn"}');
    expect(scene.backend.bodies[0]?.response_format).to.deep.equal({
      type: 'json_schema',
      json_schema: { name: 'codex_output_schema', strict: true, schema },
    });
  });

  for (const model of [UNKNOWN, CUSTOM, ...CODE_MODE]) {
    it(`compacts a long session, and goes on with the summary as ${model}`, async () => {
      const look = 'echo looked';
      scene.backend.plays(
        CODE_MODE.includes(model)
          ? script(`await tools.exec_command({ cmd: "${look}" });`)
          : calling('exec_command', { cmd: look }),
        after('CONTEXT CHECKPOINT COMPACTION', { text: 'SUMMARY: it looked.' }),
        { text: 'Done.' },
      );
      expectAnswer(await scene.codex.exec('Work.', { model, config: ['model_auto_compact_token_limit=15'] }), 'Done.');
      expect(JSON.stringify(scene.backend.bodies[2]?.messages)).to.include('SUMMARY: it looked.');
    });
  }

  for (const model of WITH_EFFORT_UPDATES) {
    it(`has another effort in each turn, where it takes the gateway for OpenAI, as ${model}`, async () => {
      const config = (effort: string) => [AS_OPENAI, `model_reasoning_effort="${effort}"`];
      scene.backend.plays(script('text("looked");'), after('looked', { text: 'One.' }), { text: 'Two.' });
      expectAnswer(await scene.codex.exec('First', { model, config: config('low') }), 'One.');
      const args = ['resume', '--last'];
      expectAnswer(await scene.codex.exec('Second', { model, config: config('high'), args }), 'Two.');
      expect(scene.backend.bodies.map((body) => body.reasoning_effort)).to.deep.equal(['low', 'low', 'high']);
    });
  }

  for (const model of [UNKNOWN, CUSTOM, ...CODE_MODE, ...WITH_EFFORT_UPDATES]) {
    it(`lets the gateway compact, where it takes that for OpenAI, as ${model}`, async () => {
      const look = 'echo looked';
      scene.backend.plays(
        model === UNKNOWN || model === CUSTOM
          ? calling('exec_command', { cmd: look })
          : script(`await tools.exec_command({ cmd: "${look}" });`),
        after('[The conversation ends here.', { text: 'SUMMARY: it looked.' }),
        after('SUMMARY: it looked.', { text: 'Done.' }),
      );
      const config = [AS_OPENAI, 'model_auto_compact_token_limit=15'];
      expectAnswer(await scene.codex.exec('Work.', { model, config }), 'Done.');
      expect(scene.backend.bodies[1]).not.to.have.property('tools');
      expect(scene.backend.bodies[2]).to.have.property('tools');
      expect(JSON.stringify(scene.backend.bodies[2]?.messages)).to.include('Work.').and.not.to.include(look);
    });
  }

  describe('when it fails', () => {
    it('says at once that the conversation is too long', async () => {
      const message = "This model's maximum context length is 8192 tokens. However, you requested 9001 tokens.";
      scene.backend.plays({ status: 400, error: { message, type: 'BadRequestError', param: null, code: 400 } });
      const run = await scene.codex.exec('Hello');
      expect(run.exitCode).to.equal(1);
      expect(run.printed).to.include("ran out of room in the model's context window");
    });

    it('shows at once what the backend says of a bad request', async () => {
      scene.backend.plays({ status: 400, error: { message: 'Images are not for this model.' } });
      const run = await scene.codex.exec('Hello');
      expect(run.exitCode).to.equal(1);
      expect(run.printed).to.include('Images are not for this model.');
    });

    it('says that the key is not good', async () => {
      const refusal = { status: 401, error: { message: 'This key has expired.' } };
      scene.backend.plays(refusal, refusal);
      const run = await scene.codex.exec('Hello');
      expect(run.exitCode).to.equal(1);
      expect(run.printed).to.include('This key has expired.');
    });

    it('says that the answer was cut by its length', async () => {
      scene.backend.plays({ text: 'Half an', finish: 'length' });
      const run = await scene.codex.exec('Hello');
      expect(run.exitCode).to.equal(1);
      expect(run.printed).to.include('max_output_tokens');
    });

    const passing: readonly { name: string; failure: Answer }[] = [
      {
        name: 'a rate limit',
        failure: {
          status: 429,
          error: { message: 'Slow down.', code: 'rate_limit_exceeded' },
          headers: { 'retry-after': '1' },
        },
      },
      { name: 'an overloaded backend', failure: { status: 503, error: { message: 'Overloaded.' } } },
      { name: 'a stream that breaks', failure: { text: 'Half an answ', ending: 'cut' } },
      {
        name: 'a call that breaks',
        failure: { ...calling('exec_command', { cmd: 'touch never.txt' }), ending: 'cut' },
      },
    ];
    for (const { name, failure } of passing) {
      it(`tries again after ${name}`, async () => {
        scene.backend.plays(failure, { text: SPECIAL });
        expectAnswer(await scene.codex.exec('Hello'), SPECIAL);
        expect(scene.codex.read('never.txt')).to.equal(undefined);
      });
    }

    for (const [when, answer] of [
      ['before the first word', { ending: 'silence' }],
      ['in the middle of the answer', { text: 'A long ans', ending: 'silence' }],
    ] as const) {
      it(`stops the model when it is interrupted ${when}`, async () => {
        scene.backend.plays(answer);
        const run = scene.codex.exec('Hello', { interrupt: scene.backend.request(1) });
        const request = await scene.backend.request(1);
        expect((await request.closed).aborted).to.equal(true);
        expect((await run).answer ?? '').to.equal('');
      });
    }
  });
});

for (const shown of ['summary', 'content', 'hidden']) {
  describe(`Codex CLI, where the model reasons and REASONING_OUTPUT is ${shown}`, () => {
    const scene = useCodex({ ...REASONING, settings: { ...REASONING.settings, REASONING_OUTPUT: shown } });

    const looking = calling('exec_command', { cmd: 'echo looked' });
    const lookingByScript = script('const r = await tools.exec_command({ cmd: "echo looked" }); text(r.output);');
    for (const model of shown === 'summary' ? [UNKNOWN, CUSTOM, ...CODE_MODE] : [UNKNOWN]) {
      it(`gives the model its thoughts back beside their call as ${model}`, async () => {
        const thought = `First I look. ${SPECIAL}`;
        scene.backend.plays(
          { reasoning: thought, ...(CODE_MODE.includes(model) ? lookingByScript : looking) },
          after('looked', { reasoning: 'Now I know.', text: 'Known.' }),
        );
        expectAnswer(await scene.codex.exec('Look.', { model }), 'Known.');
        expect(scene.backend.bodies[1]?.messages.at(-2)).to.include({ role: 'assistant', reasoning_content: thought });
      });
    }
  });
}

describe('Codex CLI with an alias of the model', () => {
  const scene = useCodex({ settings: { MODEL_ALIASES: `{"${CUSTOM}": "own-model"}` } });

  it('uses the tools which it has for the alias', async () => {
    scene.backend.plays(calling('apply_patch', { input: PATCH }), after('Success', { text: 'It is patched.' }));
    expectAnswer(await scene.codex.exec('Patch it.', { model: CUSTOM }), 'It is patched.');
    expect(scene.codex.read('patched.txt')).to.equal(`${SPECIAL}\nsecond line\n`);
    expect(scene.backend.bodies.map((body) => body.model)).to.deep.equal(['own-model', 'own-model']);
  });
});

describe('Codex CLI, where the model is slow', () => {
  const scene = useCodex({ settings: { keepaliveEventMs: 300 } });

  it('waits longer than it would for a silent stream', async () => {
    scene.backend.plays({ text: SPECIAL, pauseMs: 2500 });
    const config = ['stream_idle_timeout_ms=1000', 'stream_max_retries=0'].map(
      (line) => `model_providers.gateway.${line}`,
    );
    expectAnswer(await scene.codex.exec('Hello', { config }), SPECIAL);
  });
});

/** Code mode: what the model calls is JavaScript. */
function script(input: string): Answer {
  return calling('functions__exec', { input });
}
