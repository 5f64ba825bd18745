/** Histories of any items in any order, and cut anywhere, at each kind of backend. */

import { expect } from 'chai';
import * as fc from 'fast-check';
import { DIALECTS } from '../../../src/core/dialects.ts';
import { toChatRequest } from '../../../src/core/request/request.ts';
import type { ChatMessage } from '../../../src/core/chat.ts';
import { validateCreateResponse } from '../../../src/requests/preparation/validate.ts';
import { anyHistory } from '../../support/any-history.ts';
import { runs } from '../../support/property.ts';

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
      fc.property(anyHistory, fc.constantFrom(...Object.values(DIALECTS)), (items, dialect) => {
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
