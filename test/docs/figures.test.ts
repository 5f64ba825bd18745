import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import packageJson from '../../package.json' with { type: 'json' };
import { generateFigures, PROMISES_PATH, readFigures } from '../support/generate-figures.ts';

describe('the figures in the guide of the promises', () => {
  it('are those that the programs wrote (else: npm run types)', () => {
    expect(readFileSync(PROMISES_PATH, 'utf8')).to.include('<!-- figures -->').and.to.equal(generateFigures());
  });

  it('are of programs that there are', () => {
    const figures = Object.entries(readFigures());
    expect(figures.map(([program]) => program)).to.include.members(['test:kill', 'test:cluster', 'test:simulate']);
    for (const [program, { command, found }] of figures) {
      expect(packageJson.scripts).to.have.property(program);
      expect(command.startsWith(`npm run ${program}`), command).to.equal(true);
      expect(found).to.match(/\d/);
    }
  });
});
