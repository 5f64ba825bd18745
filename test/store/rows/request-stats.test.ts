import { expect } from 'chai';
import { toStep } from '../../../src/store/rows/request-stats.ts';

describe('the step of request statistics', () => {
  it('counts a key once that has one name under both secrets', () => {
    const span = { per: 'hour', fromMs: 0, untilMs: 1 } as const;
    expect(toStep({ of: ['key_1', 'key_1'], ...span }).scopes).to.deep.equal(['key_1']);
    expect(toStep({ of: ['young', 'old'], ...span }).scopes).to.deep.equal(['young', 'old']);
  });
});
