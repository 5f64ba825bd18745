import { expect } from 'chai';
import { createLearnt, type Learnt } from '../../../src/core/tokens/learnt.ts';

describe('what is learnt of models', () => {
  let learnt: Learnt;

  beforeEach(() => {
    learnt = createLearnt({ first: 1, min: 0.1, max: 10 });
  });

  it('forgets the caller that was seen longest ago beyond 10,000', () => {
    learnt.observe('its own', 'first', 2);
    for (let caller = 1; caller < 10_000; caller += 1) learnt.observe('m', `caller ${caller}`, 2);
    expect(learnt.knows('its own')).to.equal(true);
    learnt.observe('m', 'one more', 2);
    expect(learnt.knows('its own')).to.equal(false);
  });

  it('keeps a caller that is seen again', () => {
    learnt.observe('its own', 'first', 2);
    for (let caller = 1; caller < 10_000; caller += 1) learnt.observe('m', `caller ${caller}`, 2);
    learnt.observe('its own', 'first', 2);
    learnt.observe('m', 'one more', 2);
    expect(learnt.knows('its own')).to.equal(true);
  });

  it('forgets the model that a caller used longest ago beyond 64', () => {
    for (let model = 0; model < 64; model += 1) learnt.observe(`model ${model}`, 'one', 2);
    learnt.observe('model 0', 'one', 2);
    expect(learnt.knows('model 1')).to.equal(true);
    learnt.observe('model 64', 'one', 2);
    expect([learnt.knows('model 0'), learnt.knows('model 1')]).to.deep.equal([true, false]);
  });

  it('is known as long as any caller has taught it', () => {
    learnt.observe('model 0', 'another', 2);
    for (let model = 0; model < 65; model += 1) learnt.observe(`model ${model}`, 'one', 2);
    expect(learnt.knows('model 0')).to.equal(true);
  });
});
