/** Each oddity by itself at every recorded answer. `npm run lab strange` tries them together. */

import { expect } from 'chai';
import { faultOf, faultOfRequest, loadAnswers, loadConversations, NOTHING_TO_CHANGE } from './cases.ts';
import { FAULTS, findPlanted } from './faults.ts';
import { ODDITIES } from './oddities.ts';
import { REQUESTS } from './requests.ts';
import { WIRES } from './wires.ts';

describe('a backend', () => {
  const answers = loadAnswers();
  let tried = 0;

  function faultsOf<Case extends { readonly name: string; readonly dialect: string }>(
    cases: readonly Case[],
    find: (each: Case) => string | undefined,
  ): string[] {
    return cases.flatMap((each) => {
      const fault = find(each);
      if (fault !== NOTHING_TO_CHANGE) tried += 1;
      return fault === undefined || fault === NOTHING_TO_CHANGE ? [] : [`${each.name}, ${each.dialect}: ${fault}`];
    });
  }

  for (const oddity of ODDITIES) {
    it(`${oddity.means === 'same' ? 'is understood' : 'is not believed'} with ${oddity.name}`, () => {
      expect(faultsOf(answers, (answer) => faultOf(answer, [oddity]))).to.deep.equal([]);
    });
  }

  for (const wire of WIRES) {
    it(`is understood over ${wire.name}`, () => {
      expect(faultsOf(answers, (answer) => faultOf(answer, [], wire))).to.deep.equal([]);
    });
  }

  const conversations = loadConversations(answers);
  for (const oddity of REQUESTS) {
    it(`is asked as well for ${oddity.name}`, () => {
      expect(faultsOf(conversations, (each) => faultOfRequest(each, [oddity]))).to.deep.equal([]);
    });
  }

  after('says how many cases there were', () => {
    console.log(
      `\n  ${ODDITIES.length + WIRES.length + REQUESTS.length} oddities, ${answers.length} answers: ${tried} cases`,
    );
  });
});

describe('the search for oddities', () => {
  for (const fault of FAULTS) {
    it(`finds ${fault.name} within ${fault.within} tries`, async () => {
      const { text } = await findPlanted(fault);
      expect(text, 'what is wrong').to.be.a('string');
    });
  }
});
