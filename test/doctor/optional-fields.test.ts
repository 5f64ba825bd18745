import { expect } from 'chai';
import { askForOptionalFields } from '../../src/doctor/optional-fields.ts';
import { play } from '../support/dialect-backends.ts';
import { useQuestion } from '../support/doctor-question.ts';
import { useRealSockets } from '../support/real-sockets.ts';

describe('askForOptionalFields', () => {
  useRealSockets();

  const asking = useQuestion();

  function ask(refused: readonly string[], words: (field: string) => string, status = 400) {
    asking.backend.always(
      play({
        refuse: (chat) => {
          const field = refused.find((name) => chat[name] !== undefined);
          return field === undefined ? undefined : [status, { error: { message: words(field) } }];
        },
      }),
    );
    return askForOptionalFields(asking.question);
  }

  it('is content where all are taken, after one request', async () => {
    expect(await ask([], String)).to.deep.equal({ result: 'yes', reason: 'all that were tried are taken' });
    expect(asking.backend.requests).to.have.length(1);
  });

  it('names those that are refused one after the other', async () => {
    const finish = await ask(['verbosity', 'prompt_cache_key', 'user'], (field) => `Unknown parameter: "${field}"`);
    expect(finish).to.deep.equal({ result: 'no', reason: 'refused: verbosity, prompt_cache_key, user' });
  });

  it('finds those that the words of the backend do not name', async () => {
    const finish = await ask(['service_tier', 'verbosity'], () => 'bad request');
    expect(finish).to.deep.equal({
      result: 'no',
      reason:
        'refused in words that do not name it: verbosity, service_tier; leave it out of optionalFields (400: bad request)',
    });
  });

  it('takes a passing failure for none of them', async () => {
    expect(await ask(['user'], () => 'slow down', 429)).to.deep.equal({ result: 'unclear', reason: '429: slow down' });
  });
});
