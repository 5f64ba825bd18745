import { expect } from 'chai';
import { currentHeaders, withCurrentKey } from '../../src/backend/current-key.ts';
import { onlyBackend } from '../support/only-backend.ts';

describe('the key of a backend in a file', () => {
  let nowMs: number;
  let inFile: string | undefined;
  let reads: number;
  let logged: string[];

  const open = () =>
    withCurrentKey(onlyBackend({ apiKey: 'first', apiKeyFile: '/run/key' }), {
      readKeyFile(path) {
        expect(path).to.equal('/run/key');
        reads += 1;
        return inFile;
      },
      nowMs: () => nowMs,
      log: { error: (_fields, message) => void logged.push(message) },
    });

  beforeEach(() => {
    nowMs = 5000;
    reads = 0;
    logged = [];
  });

  it('is read again after a second, when it is needed', () => {
    inFile = 'second';
    const spec = open();
    nowMs += 999;
    expect([spec.apiKey, reads]).to.deep.equal(['first', 0]);
    nowMs += 1;
    expect([spec.apiKey, spec.apiKey, reads]).to.deep.equal(['second', 'second', 1]);
    nowMs += 3_600_000;
    expect(reads).to.equal(1);
  });

  it('is in a header as often as that names a file', () => {
    const headers = { 'cf-access': '${file:/run/id}:${file:/run/secret}' };
    expect(currentHeaders(headers, (path) => path.slice('/run/'.length))).to.deep.equal({ 'cf-access': 'id:secret' });
  });

  it('stays while the file holds none, which is logged once', () => {
    inFile = undefined;
    const spec = open();
    for (let second = 0; second < 3; second += 1) {
      nowMs += 1000;
      expect(spec.apiKey).to.equal('first');
    }
    inFile = 'second';
    nowMs += 1000;
    expect(spec.apiKey).to.equal('second');
    expect(logged).to.have.lengthOf(1);
  });
});
