import { expect } from 'chai';
import { expectAnswer, handshakesOf, METRICS_TOKEN, useCodex } from './codex.ts';
import { after, calling, SPECIAL } from './model-words.ts';
import { API_KEY, type Answer } from './strict-backend.ts';

const WEB_SOCKETS = { config: ['model_providers.gateway.supports_websockets=true'] };

describe('Codex CLI over a WebSocket', () => {
  const scene = useCodex({ settings: { METRICS_TOKEN } });

  const command = `printf '%s' '${SPECIAL}' > made.txt; echo made it`;
  const shellCalls: readonly { model: string; call: Answer }[] = [
    { model: 'test-model', call: calling('exec_command', { cmd: command }) },
    { model: 'gpt-5.5', call: calling('exec_command', { cmd: command }) },
    {
      model: 'gpt-6-sol',
      call: calling('exec', {
        input: `const r = await tools.exec_command({ cmd: ${JSON.stringify(command)} }); text(r.output);`,
      }),
    },
  ];
  for (const { model, call } of shellCalls) {
    it(`makes a file by a shell call as ${model}`, async () => {
      scene.backend.plays({ text: 'I make it.', ...call }, after('made it', { text: SPECIAL }));
      expectAnswer(await scene.codex.exec('Make a file.', { model, ...WEB_SOCKETS }), SPECIAL);
      expect(scene.codex.read('made.txt')).to.equal(SPECIAL);
      // Codex sent the output of its call alone; the backend got the whole conversation.
      const [first, second] = scene.backend.bodies;
      expect(second?.messages.slice(0, first?.messages.length)).to.deep.equal(first?.messages);
      expect(second?.messages.at(-2)?.content).to.equal('I make it.');
      expect(await handshakesOf(scene.baseUrl)).to.equal(1);
    });
  }

  it('goes on with a session by another connection', async () => {
    scene.backend.plays({ text: SPECIAL }, { text: 'Two.' });
    expectAnswer(await scene.codex.exec('First', WEB_SOCKETS), SPECIAL);
    expectAnswer(await scene.codex.exec('Second', { args: ['resume', '--last'], ...WEB_SOCKETS }), 'Two.');
    expect(scene.backend.bodies[1]?.messages.slice(-2)).to.deep.equal([
      { role: 'assistant', content: SPECIAL },
      { role: 'user', content: 'Second' },
    ]);
    expect(await handshakesOf(scene.baseUrl)).to.equal(2);
  });

  it('tries again what a backend was too busy for', async () => {
    scene.backend.plays({ status: 503, error: { message: 'busy' } }, { text: SPECIAL });
    expectAnswer(await scene.codex.exec('Hello', WEB_SOCKETS), SPECIAL);
    expect(scene.backend.requests.map(({ headers }) => headers.authorization)).to.deep.equal(
      Array.from({ length: 2 }, () => `Bearer ${API_KEY}`),
    );
  });

  it('shows at once what the backend says of a bad request', async () => {
    scene.backend.plays({ status: 400, error: { message: 'the temperature is odd' } });
    const { exitCode, printed } = await scene.codex.exec('Hello', WEB_SOCKETS);
    expect(printed).to.include('the temperature is odd');
    expect(exitCode).to.equal(1);
  });
});
