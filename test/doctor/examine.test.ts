import { expect } from 'chai';
import { examine, findDialect, type Finding } from '../../src/doctor/examine.ts';
import { PROBES } from '../../src/doctor/probes.ts';
import { DIALECTS } from '../../src/core/dialects.ts';
import { startScriptedBackend, type ScriptedBackend, type Stage } from '../support/backend.ts';
import { BEHAVIOURS, chatsOf, noMaxTokens, play, strictTemplate } from '../support/dialect-backends.ts';
import { useHeldTime } from '../support/held-time.ts';
import { useRealSockets } from '../support/real-sockets.ts';

describe('examine', () => {
  useRealSockets();

  let backend: ScriptedBackend;
  let shown: string[];

  beforeEach(async () => {
    backend = await startScriptedBackend();
    shown = [];
  });
  afterEach(() => backend.close());

  const ask = (options: { readonly totalMs?: number; readonly timeoutMs?: number } = {}) =>
    examine({
      baseUrl: backend.baseUrl,
      apiKey: undefined,
      model: undefined,
      timeoutMs: 60_000,
      totalMs: 60_000,
      signal: new AbortController().signal,
      onStart: (name) => shown.push(name),
      ...options,
    });

  const resultOf = (findings: readonly Finding[], name: string) => findings.find((one) => one.name === name)?.result;

  const LONGER = ['second turn', 'optional fields', 'prefix cache', 'abort'];

  it('asks one question after the other, and tells which', async () => {
    backend.always(play(BEHAVIOURS.sglang));
    const { findings } = await ask();
    const names = ['models', 'model', 'chat', 'keys', ...PROBES.map(({ name }) => name), ...LONGER];
    expect(findings.map(({ name }) => name)).to.deep.equal(names);
    expect(shown).to.deep.equal(names.filter((name) => name !== 'model'));
  });

  it('asks nothing more once its time is over', async () => {
    backend.always(play(BEHAVIOURS.sglang));
    const { findings, isFine } = await ask({ totalMs: 0 });
    const late = findings.filter(({ reason }) => reason === 'no time was left for it');
    const names = [...PROBES.map(({ name }) => name), ...LONGER];
    expect(late.map(({ name, result }) => [name, result])).to.deep.equal(names.map((name) => [name, 'unclear']));
    expect(chatsOf(backend.requests)).to.have.length(1);
    expect(isFine).to.equal(false);
  });

  for (const { status, result } of [
    { status: 200, result: 'no' },
    { status: 401, result: 'yes' },
    { status: 403, result: 'yes' },
    { status: 429, result: 'unclear' },
  ]) {
    it(`says ${result} to the keys where models are for all, and a completion with a made-up key gets a ${status}`, async () => {
      const script = play({});
      backend.always(async (stage) => {
        const { request } = stage;
        const isMadeUp = request.headers.authorization?.startsWith('Bearer probe-') === true;
        request.headers.authorization = '';
        if (!isMadeUp || request.method === 'GET' || status === 200) return script(stage);
        stage.start(status, { 'content-type': 'application/json' });
        stage.end('{}');
      });
      const { findings, checksKeys } = await ask();
      expect(resultOf(findings, 'keys')).to.equal(result);
      expect(checksKeys).to.equal(result);
    });
  }

  describe('in time', () => {
    const passTime = useHeldTime();

    for (const [how, answer] of [
      ['that is not answered', (stage: Stage) => Promise.all([stage.hang(), passTime(300)])],
      ['whose connection breaks', (stage: Stage) => stage.cut('reset')],
    ] as const) {
      it(`goes on after a question ${how}`, async () => {
        const script = play({});
        backend.always(async (stage) => {
          const { response_format: format } = stage.request.body as { response_format?: unknown };
          await (format === undefined ? script(stage) : answer(stage));
        });
        const { findings, isFine } = await ask({ timeoutMs: 300 });
        expect(resultOf(findings, 'json_schema')).to.equal('unclear');
        expect(resultOf(findings, 'images')).to.equal('yes');
        expect(isFine).to.equal(true);
      });
    }
  });

  for (const { what, refused, isFine } of [
    { what: 'one of the two limits', refused: ['max_completion_tokens'], isFine: true },
    { what: 'tools', refused: ['tools'], isFine: true },
    { what: 'streams', refused: ['stream'], isFine: false },
  ]) {
    it(`is ${isFine ? '' : 'not '}content without ${what}`, async () => {
      backend.always(
        play({
          refuse: (chat) =>
            refused.some((field) => chat[field] !== undefined) ? [400, { error: { message: 'not here' } }] : undefined,
        }),
      );
      expect((await ask()).isFine).to.equal(isFine);
    });
  }

  it('is not content with limits that are not kept', async () => {
    backend.always(async (stage) => {
      const { request } = stage;
      const chat = request.body as Record<string, unknown>;
      // As if it had been asked without one.
      if (JSON.stringify(chat['messages'] ?? '').includes('Count')) chat['max_tokens'] = 1000;
      await play(BEHAVIOURS.generic)(stage);
    });
    const { findings, isFine } = await ask();
    expect(resultOf(findings, 'max_tokens')).to.equal('no');
    expect(isFine).to.equal(false);
  });

  it('takes a 500 for a no, and what passes for not clear', async () => {
    const statuses = new Map([
      ['tools', 500],
      ['response_format', 503],
    ]);
    backend.always(
      play({
        refuse: (chat) => {
          const status = [...statuses].find(([field]) => chat[field] !== undefined)?.[1];
          return status === undefined ? undefined : [status, { error: { message: 'not now' } }];
        },
      }),
    );
    const { findings } = await ask();
    expect(resultOf(findings, 'tools')).to.equal('no');
    expect(resultOf(findings, 'json_object')).to.equal('unclear');
  });
});

describe('findDialect', () => {
  useRealSockets();

  let backend: ScriptedBackend;

  beforeEach(async () => {
    backend = await startScriptedBackend();
  });
  afterEach(() => backend.close());

  const ask = (isKnown = false) =>
    findDialect({
      baseUrl: backend.baseUrl,
      apiKey: undefined,
      model: undefined,
      timeoutMs: 60_000,
      totalMs: 60_000,
      signal: new AbortController().signal,
      onStart: () => undefined,
      isKnown,
    });

  it('asks a backend with a telling sign for one chat and a tool', async () => {
    backend.always(play(BEHAVIOURS.vllm));
    const { choice, callsTools } = await ask();
    expect(choice).to.deep.include({ dialect: 'vllm', equivalents: [] });
    expect({ callsTools, chats: chatsOf(backend.requests).length }).to.deep.equal({ callsTools: true, chats: 2 });
  });

  it('asks a backend without signs what it refuses', async () => {
    backend.always(play({ refuse: noMaxTokens }));
    const { choice } = await ask();
    expect(DIALECTS[choice.dialect].tokenLimitField).to.equal('max_completion_tokens');
  });

  it('asks no more where the dialect is known', async () => {
    backend.always(play({ refuse: strictTemplate }));
    await ask(true);
    expect(chatsOf(backend.requests)).to.have.lengthOf(2);
  });

  it('says that a backend refuses tools', async () => {
    backend.always(play({ refuse: ({ tools }) => (tools === undefined ? undefined : [400, { error: 'no tools' }]) }));
    expect(await ask()).to.include({ callsTools: false });
  });
});
