import { expect } from 'chai';
import { withUpdates } from '../../../src/core/request/configuration-update.ts';
import type { ConfigurationUpdate, CreateResponse, InputItem } from '../../../src/contract/types.ts';

const hi: InputItem = { type: 'message', role: 'user', content: 'Hi' };
const update = (fields: Omit<ConfigurationUpdate, 'type'>): InputItem => ({ type: 'configuration_update', ...fields });
const effort = (to: 'low' | 'high') => update({ reasoning: { effort: to } });
const json = { format: { type: 'json_object' } } as const;
const plain = { format: { type: 'text' } } as const;

describe('withUpdates', () => {
  const cases: { name: string; input: CreateResponse['input']; own?: Partial<CreateResponse>; becomes: object }[] = [
    { name: 'leaves a text alone', input: 'Hi', own: { reasoning: { effort: 'low' } }, becomes: { effort: 'low' } },
    { name: 'takes an effort where the request has none', input: [hi, effort('low')], becomes: { effort: 'low' } },
    {
      name: 'takes the last effort for that of the request, and keeps what else that says',
      input: [effort('low'), hi, effort('high'), hi],
      own: { reasoning: { effort: 'low', summary: 'auto' } },
      becomes: { effort: 'high', summary: 'auto' },
    },
    {
      name: 'keeps an effort that later updates say nothing of',
      input: [effort('high'), update({}), update({ reasoning: {} }), update({ text: plain })],
      becomes: { effort: 'high', text: plain },
    },
    {
      name: 'takes the last text for that of the request, and keeps what else that says',
      input: [update({ text: plain }), hi, update({ text: json })],
      own: { text: { ...plain, verbosity: 'low' } },
      becomes: { text: { ...json, verbosity: 'low' } },
    },
  ];
  for (const { name, input, own, becomes } of cases) {
    it(name, () => {
      const { reasoning, text, ...others } = withUpdates({ model: 'm', input, ...own });
      expect({ ...reasoning, ...(text !== undefined && { text }) }).to.deep.equal(becomes);
      expect(others).to.deep.equal({ model: 'm', input });
    });
  }

  it('changes nothing of what it is given', () => {
    const request: CreateResponse = { model: 'm', input: [effort('high')], reasoning: { effort: 'low' } };
    const before = structuredClone(request);
    withUpdates(request);
    expect(request).to.deep.equal(before);
  });
});
