import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { abortJson } from '../../src/doctor/abort.ts';
import type { Finish } from '../../src/doctor/probes.ts';
import type { Script } from '../support/backend.ts';
import { useQuestion } from '../support/doctor-question.ts';
import { useHeldTime } from '../support/held-time.ts';
import { useRealSockets } from '../support/real-sockets.ts';

const OK = JSON.stringify({ choices: [{ index: 0, message: { content: 'OK' }, finish_reason: 'stop' }] });

interface Server {
  /** How many requests it answers at a time; others wait their turn. */
  readonly slots: number;
  readonly msPerToken: number;
  /** Whether it stops for a client that has gone. */
  readonly stops: boolean;
}

/** Its model goes on until the limit, whatever it is asked. */
function serve({ slots, msPerToken, stops }: Server): Script {
  let free = slots;
  const queue: (() => void)[] = [];
  const release = (): void => {
    const next = queue.shift();
    if (next === undefined) free += 1;
    else next();
  };
  return async ({ request, start, end, res }) => {
    const { max_tokens: tokens } = request.body as { readonly max_tokens: number };
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => queue.push(resolve));
    if (!res.destroyed) {
      const work = delay(tokens * msPerToken);
      await (stops ? Promise.race([work, request.closed]) : work);
    }
    release();
    if (res.destroyed) return;
    start(200, { 'content-type': 'application/json' });
    end(OK);
  };
}

const YES = 'the next request was answered at once';
const BESIDE = 'other requests are answered beside it, so that time does not tell';
const TOO_SOON = 'the answer came too soon to abort it';

describe('abortJson', () => {
  useRealSockets();
  const passTime = useHeldTime();
  const asking = useQuestion();

  async function find(): Promise<Finish> {
    const found = abortJson(asking.question);
    // Longer than any of these servers works.
    await passTime(120_000);
    return found;
  }

  // 512 tokens in 2.7 s are those of a small model in llama.cpp.
  for (const { slots, msPerToken, stops, result, reason } of [
    { slots: 1, msPerToken: 5.3, stops: true, result: 'yes', reason: YES },
    { slots: 1, msPerToken: 5.3, stops: false, result: 'no', reason: 'the next request still waited 0.8 s later' },
    { slots: 2, msPerToken: 5.3, stops: true, result: 'yes', reason: YES },
    { slots: 2, msPerToken: 5.3, stops: false, result: 'no', reason: 'the next request still waited 0.8 s later' },
    { slots: 4, msPerToken: 10, stops: true, result: 'yes', reason: YES },
    { slots: 4, msPerToken: 10, stops: false, result: 'no', reason: 'the next request still waited 0.8 s later' },
    { slots: 1, msPerToken: 100, stops: true, result: 'yes', reason: YES },
    { slots: 1, msPerToken: 100, stops: false, result: 'no', reason: 'the next request still waited 4.8 s later' },
    { slots: 5, msPerToken: 5.3, stops: true, result: 'unclear', reason: BESIDE },
    { slots: 1, msPerToken: 0.1, stops: true, result: 'unclear', reason: TOO_SOON },
    { slots: 1, msPerToken: 2, stops: true, result: 'unclear', reason: TOO_SOON },
    // Its long request ends by itself just behind the abort.
    { slots: 1, msPerToken: 3, stops: false, result: 'unclear', reason: TOO_SOON },
  ] as const) {
    const does = stops ? 'stops' : 'goes on';
    it(`says ${result} of a server that ${does}, with ${slots} at a time and ${msPerToken} ms for a token`, async () => {
      asking.backend.always(serve({ slots, msPerToken, stops }));
      expect(await find()).to.deep.equal({ result, reason });
    });
  }

  it('leaves nothing behind', async () => {
    asking.backend.always(serve({ slots: 2, msPerToken: 5.3, stops: false }));
    await find();
    const closings = await Promise.all(asking.backend.requests.map(({ closed }) => closed));
    expect(closings.filter(({ aborted }) => aborted)).to.have.length(3);
  });

  it('says nothing of a server that refuses a request beside others', async () => {
    const script = serve({ slots: 1, msPerToken: 5.3, stops: true });
    let count = 0;
    asking.backend.always((stage) => {
      count += 1;
      if (count < 3) return script(stage);
      stage.start(429, { 'content-type': 'application/json' });
      stage.end('{"error": {"message": "one at a time"}}');
    });
    expect(await find()).to.deep.equal({ result: 'unclear', reason: 'the next request failed' });
  });
});
