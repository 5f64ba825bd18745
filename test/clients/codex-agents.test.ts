import { expect } from 'chai';
import { expectAnswer, useCodex } from './codex.ts';
import type { ChatBody } from './complaints.ts';
import { calling } from './model-words.ts';
import type { Line } from './strict-backend.ts';

const TASK = 'Sub task: say hi.';
const RESULT = 'The sub-agent says hi.';

/** The requests of the agent and of its sub-agent come in any order, so one line has all that the model may have to say. */
describe('Codex CLI with a sub-agent', () => {
  const scene = useCodex();

  it('gives it a task and hears its answer, under a model name that it does not know', async () => {
    const line: Line = (body) => {
      if (lastOf(body).includes(TASK)) return { text: RESULT };
      const agentId = /"agent_id":"([^"]+)"/.exec(textOf(body))?.[1];
      return calling('wait_agent', { targets: [agentId] });
    };
    scene.backend.plays(calling('spawn_agent', { message: TASK }), line, line, { text: 'Done.' });
    expectAnswer(await scene.codex.exec('Main task.'), 'Done.');
    expect(textOf(scene.backend.bodies[3])).to.include(RESULT);
  });

  for (const model of ['gpt-5.6-sol', 'gpt-6-sol']) {
    it(`gives it a task and hears its answer as ${model}`, async () => {
      const line: Line = (body) =>
        lastOf(body).includes(TASK) ? { text: RESULT } : calling('wait_agent', { timeout_ms: 10_000 });
      scene.backend.plays(calling('spawn_agent', { task_name: 'sub', message: TASK }), line, line, { text: 'Done.' });
      expectAnswer(await scene.codex.exec('Main task.', { model }), 'Done.');
      expect(textOf(scene.backend.bodies[3])).to.include(RESULT);
    });
  }
});

function lastOf({ messages }: ChatBody): string {
  const content = messages.at(-1)?.content;
  return typeof content === 'string' ? content : '';
}

function textOf(body: ChatBody | undefined): string {
  return (body?.messages ?? []).map(({ content }) => (typeof content === 'string' ? content : '')).join('\n');
}
