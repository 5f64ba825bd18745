import { expect } from 'chai';
import { chunkFromCompletion } from '../../src/core/reply/completion.ts';
import { loadFixtures } from '../support/fixtures.ts';
import { translate } from '../support/machine.ts';
import { mergeChunks } from '../support/merge-chunks.ts';
import { casesOf } from '../support/property.ts';
import { readAnswer } from '../support/read-answer.ts';
import { expectWellFormed } from '../support/well-formed.ts';

const UPDATE = process.env['UPDATE_FIXTURES'] === '1';

describe('fixtures', () => {
  const fixtures = loadFixtures();

  for (const fixture of fixtures) {
    const { name, request, settings, sse } = fixture;
    const answer = readAnswer(sse);
    const completion = mergeChunks(answer);

    describe(`${name}:`, () => {
      it('gives the expected events and a well-formed stream', () => {
        const events = translate(answer, request, settings);
        const response = expectWellFormed(events);
        if (UPDATE) fixture.update(events);
        expect(events).to.deep.equal(fixture.expectedEvents());
        expect(response).to.deep.equal(fixture.expectedResponse());
      });
      it('is read alike wherever its bytes are cut', () => {
        const read = (cuts: Iterable<number>): string => JSON.stringify(readAnswer(sse, cuts));
        for (const cut of casesOf([...sse.keys()]).slice(1)) {
          expect(read([cut]), `cut at byte ${cut}`).to.equal(JSON.stringify(answer));
        }
        expect(read(sse.keys()), 'byte by byte').to.equal(JSON.stringify(answer));
      });
      if (completion !== undefined) {
        it('gives the same response as one completion does', () => {
          const chunks = [chunkFromCompletion(completion)];
          const response = expectWellFormed(translate({ chunks, done: true }, request, settings));
          expect(response).to.deep.equal(fixture.expectedResponse());
        });
      }
    });
  }
});
