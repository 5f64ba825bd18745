import { expect } from 'chai';
import { abortJson } from '../../../src/cli/doctor/abort.ts';
import type { Stage } from '../../support/backend.ts';
import { useQuestion } from '../../support/doctor-question.ts';
import { useHeldTime } from '../../support/held-time.ts';
import { useRealSockets } from '../../support/real-sockets.ts';

const OK = JSON.stringify({ choices: [{ index: 0, message: { content: 'OK' }, finish_reason: 'stop' }] });

describe('abortJson', () => {
  useRealSockets();
  const passTime = useHeldTime();

  const asking = useQuestion();

  const answer = ({ start, end }: Stage): void => {
    start(200, { 'content-type': 'application/json' });
    end(OK);
  };
  const hang = ({ hang: wait }: Stage): Promise<void> => wait();

  it('says yes where the next request is answered as soon as the long one is given up', async () => {
    asking.backend.reply(hang, async (stage) => {
      await (
        await asking.backend.request(1)
      ).closed;
      answer(stage);
    });
    const finish = abortJson(asking.question, 1);
    await asking.backend.request(1);
    await passTime(300);
    await asking.backend.request(2);
    await passTime(1500);
    expect(await finish).to.deep.equal({ result: 'yes', reason: 'the next request was answered at once' });
    expect(await (await asking.backend.request(1)).closed).to.include({ aborted: true });
  });

  it('says no where the next request goes on waiting, and leaves nothing behind', async () => {
    asking.backend.reply(hang, hang);
    const finish = abortJson(asking.question, 1000);
    await asking.backend.request(1);
    await passTime(300);
    await asking.backend.request(2);
    await passTime(3000);
    await passTime(3000);
    expect(await finish).to.deep.equal({ result: 'no', reason: 'the next request still waited 3 s later' });
    expect(await (await asking.backend.request(2)).closed).to.include({ aborted: true });
  });

  it('cannot tell where other requests are answered beside it', async () => {
    asking.backend.reply(hang, answer);
    const finish = abortJson(asking.question, 1);
    await asking.backend.request(1);
    await passTime(300);
    expect(await finish).to.include({ result: 'unclear' });
    expect(await (await asking.backend.request(1)).closed).to.include({ aborted: true });
  });

  it('cannot tell where the answer comes at once', async () => {
    asking.backend.reply(answer);
    expect(await abortJson(asking.question, 1)).to.deep.equal({
      result: 'unclear',
      reason: 'the answer came too soon to abort it',
    });
    expect(asking.backend.requests).to.have.length(1);
  });
});
