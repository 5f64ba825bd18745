/** Histories of any items of other servers, in any order and cut anywhere. */

import { expect } from 'chai';
import * as fc from 'fast-check';
import { DIALECTS } from '../../../src/core/dialects.ts';
import { toChatRequest } from '../../../src/core/request/request.ts';
import type { ChatMessage } from '../../../src/core/chat.ts';
import { validateCreateResponse } from '../../../src/requests/validate.ts';
import { FOREIGN_ITEMS, HOSTED_CALLS } from '../../support/foreign-items.ts';
import { runs } from '../../support/property.ts';

const id = fc.constantFrom('call_a', 'call_b', 'call_c');
const item = fc.oneof(
  fc.constantFrom(...FOREIGN_ITEMS, ...HOSTED_CALLS),
  id.map((call_id) => ({ type: 'function_call', call_id, name: 'look', arguments: '{}' })),
  id.map((call_id) => ({ type: 'function_call_output', call_id, output: 'rain' })),
  fc.constant({ type: 'function_call_output', name: 'look', output: 'rain' }),
  fc.constant({ type: 'reasoning', summary: [], encrypted_content: 'gAAAAABo' }),
  fc.constantFrom('user', 'assistant', 'developer').map((role) => ({ role, content: 'Hi' })),
  // The fields of a hosted call may be anything.
  fc
    .tuple(
      fc.constantFrom(...HOSTED_CALLS),
      fc.dictionary(fc.constantFrom('action', 'output', 'result'), fc.jsonValue()),
    )
    .map(([call, odd]) => ({ ...call, ...odd })),
);

/** Every call has its output right behind its message, and no output is without a call. */
function expectPaired(messages: readonly ChatMessage[]): void {
  let open: string[] = [];
  for (const message of messages) {
    if (message.role === 'tool') {
      expect(open.shift()).to.equal(message.tool_call_id);
      continue;
    }
    expect(open).to.deep.equal([]);
    if (message.role === 'assistant') open = (message.tool_calls ?? []).map((call) => call.id);
  }
  expect(open).to.deep.equal([]);
}

describe('any history', () => {
  it('becomes a chat request in which each call has its output', () => {
    fc.assert(
      fc.property(fc.array(item, { maxLength: 20 }), fc.constantFrom(...Object.values(DIALECTS)), (items, dialect) => {
        const input = structuredClone([...items, { role: 'user', content: 'And?' }]);
        const options = { dialect, upstreamDialect: 'x', modelAliases: new Map(), hostedTools: 'drop' } as const;
        const { chat } = toChatRequest(validateCreateResponse({ model: 'm', input }), options);
        expectPaired(chat.messages);
        expect(chat.messages.at(-1)?.role).to.equal('user');
      }),
      runs(2000),
    );
  });
});
