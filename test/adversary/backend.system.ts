/** What a hostile backend does to all callers by one answer. Each test prints the figures that it saw. */
import { expect } from 'chai';
import { useRealSockets } from '../support/real-sockets.ts';
import { openScene, print, type Scene } from './scene.ts';

const MIB = 1024 * 1024;
const contents = (bytes: number): string => '{"content":"a"},'.repeat(bytes / 16);
const event = (json: string): string => `data: ${json}\n\ndata: [DONE]\n\n`;

describe('a hostile backend', () => {
  useRealSockets();

  let scene: Scene;
  afterEach(() => scene.close());

  for (const { name, answer, path = '/api/v1/responses', before } of [
    {
      name: 'an event of 200 kB that has words in many places',
      answer: event(`{"x":[${contents(200_000)}{}],"choices":[{"delta":{"content":"hi"}}]}`),
      before: 'more than 18.8 s of CPU',
    },
    { name: 'JSON of 30 MB in lists within lists', answer: '['.repeat(30 * MIB), before: '4.5 s of CPU' },
    {
      name: 'JSON of 7 MB in lists within lists',
      answer: `{"choices":[],"x":${'['.repeat(7 * MIB)}`,
      before: '545 ms of CPU',
    },
    {
      name: 'JSON of 7 MB in empty lists',
      answer: `{"choices":[],"x":[${'[],'.repeat(2.3 * MIB)}[]]}`,
      before: '263 ms of CPU',
    },
    {
      name: 'JSON of 7 MB in fields',
      answer: `{"choices":[],"x":{${Array.from({ length: 600_000 }, (_, n) => `"k${n}":1`).join()}}}`,
      before: '579 ms of CPU',
    },
    {
      name: 'a list of models of 7 MB in lists within lists',
      answer: `{"object":"list","data":${'['.repeat(7 * MIB)}${']'.repeat(7 * MIB)}}`,
      path: '/v1/models?client_version=1',
      before: '962 ms of CPU',
    },
    {
      name: 'a word of 30 MB',
      answer: event(`{"choices":[{"delta":{"content":"${'x'.repeat(30 * MIB)}"}}]}`),
      before: '0.6 to 1.1 s of CPU at a time',
    },
    {
      name: 'an error of 4 MB about routes',
      answer: `{"error":{"message":"${'route '.repeat(700_000)}","code":404}}`,
      before: 'hours of CPU (64 KiB: 443 ms)',
    },
    {
      name: 'a list of 20,000 models for Codex',
      answer: `{"object":"list","data":[${Array.from({ length: 20_000 }, (_, n) => `{"id":"m${n}"}`).join()}]}`,
      path: '/v1/models?client_version=1',
      before: '581 ms of CPU',
    },
    {
      name: '100,000 markers of one citation',
      answer: event(
        `{"citations":["x"],"choices":[{"delta":{"content":"${'[1]'.repeat(100_000)}"},"finish_reason":"stop"}]}`,
      ),
      before: '687 ms of CPU',
    },
  ]) {
    it(`costs little with ${name}`, async () => {
      const type = answer.startsWith('data:') ? 'text/event-stream' : 'application/json';
      const bytes = Buffer.from(answer);
      scene = await openScene({}, (res) => res.writeHead(200, { 'content-type': type }).end(bytes));
      const ask = async (): Promise<void> => {
        const isPost = path === '/api/v1/responses';
        const reply = await fetch(`${scene.url}${path}`, {
          method: isPost ? 'POST' : 'GET',
          headers: { authorization: 'Bearer a-key', 'content-type': 'application/json' },
          ...(isPost && { body: '{"model":"m","input":"x"}' }),
        });
        await reply.text();
      };
      await ask();
      const { cpuMs } = await scene.figures();
      const times = 3;
      for (let n = 0; n < times; n++) await ask();
      const cost = Math.round(((await scene.figures()).cpuMs - cpuMs) / times);
      print(name, before, `${cost} ms of CPU`);
      expect(cost).to.be.below(400);
    });
  }
});
