import { expect } from 'chai';
import { SEED } from '../../support/property.ts';
import { simulate } from './check.ts';
import { FAULTS, plantInSimulation } from './faults.ts';

describe('a simulation of the whole life of a request', () => {
  it('keeps all promises in a thousand histories', async () => {
    const { tried, text } = await simulate({ seed: SEED, histories: 1000 });
    expect(text, `with --seed ${SEED}`).to.equal(undefined);
    expect(tried).to.equal(1000);
  });

  for (const fault of FAULTS) {
    it(`finds ${fault.name} within ${fault.within} histories, and tells the same of it each time`, async () => {
      const planted = await plantInSimulation(fault);
      const { text, path = '' } = await planted.simulate({ seed: SEED, histories: fault.within, isShort: true });
      expect(text, 'what is told of the history').to.contain('BROKEN');
      for (const time of ['second', 'third']) {
        const again = await planted.simulate({ seed: SEED, histories: 1, path, isShort: true });
        expect(again.text, `what is told of it for the ${time} time`).to.equal(text);
      }
    });
  }

  it('shows the shortest history that breaks a promise, and plays it again', async () => {
    const [fault] = FAULTS;
    if (fault === undefined) throw new Error('there is no fault to plant');
    const planted = await plantInSimulation(fault);
    const { text, path = '' } = await planted.simulate({ seed: SEED, histories: fault.within });
    const [, first, second] = text?.split('\n') ?? [];
    expect(first).to.match(/^ {3}1\. alice asks p0 for JSON \(r0, no key/);
    expect(second).to.equal('   2. then everything comes to rest');
    const again = await planted.simulate({ seed: SEED, histories: 1, path, isShort: true });
    expect(again.text).to.equal(text);
  });
});
