import { expect } from 'chai';
import { rememberUsedFields } from '../../../src/core/request/used-fields.ts';

const origin = (model: string) => ({ dialect: 'generic', model });

describe('rememberUsedFields', () => {
  it('keeps the first field of a model, since another one would change a conversation', () => {
    const fields = rememberUsedFields();
    fields.note(origin('m'), 'reasoning');
    fields.note(origin('m'), 'reasoning_content');
    expect(fields.of(origin('m'))).to.equal('reasoning');
    expect(fields.of({ dialect: 'vllm', model: 'm' })).to.equal(undefined);
  });

  it('knows in another thread what it knew here', () => {
    const fields = rememberUsedFields();
    fields.note(origin('m'), 'reasoning');
    expect(rememberUsedFields(structuredClone(fields.table)).of(origin('m'))).to.equal('reasoning');
  });

  it('forgets the oldest of more than 1,000 models', () => {
    const fields = rememberUsedFields();
    for (let model = 0; model <= 1000; model++) fields.note(origin(String(model)), 'reasoning');
    expect([fields.table.size, fields.of(origin('0')), fields.of(origin('1'))]).to.deep.equal([
      1000,
      undefined,
      'reasoning',
    ]);
  });
});
