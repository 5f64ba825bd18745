import { expect } from 'chai';
import { findNodeProblem } from '../../src/process/start-problem.ts';

describe('findNodeProblem', () => {
  for (const version of ['18.20.8', '20.20.2', '22.6.0', '22.19.9']) {
    it(`refuses Node ${version} in one line that says what is needed`, () => {
      expect(findNodeProblem(version)).to.match(
        new RegExp(`^[^\\n]*needs Node 22\\.20 or newer[^\\n]*${version}[^\\n]*$`),
      );
    });
  }

  for (const version of ['22.20.0', '22.21.1', '23.0.0', '24.21.0', '25.0.0-nightly20251001']) {
    it(`takes Node ${version}`, () => {
      expect(findNodeProblem(version)).to.equal(undefined);
    });
  }
});
