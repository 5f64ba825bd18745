import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { generateFigures, GUARANTEES_PATH, readFigures } from '../support/generate-figures.ts';

describe('the figures in the guide of guarantees', () => {
  it('are those that the programs wrote (else: npm run types)', () => {
    expect(readFileSync(GUARANTEES_PATH, 'utf8')).to.include('<!-- figures -->').and.to.equal(generateFigures());
  });

  it('are of programs that there are', () => {
    const lab = readFileSync(join(import.meta.dirname, '../lab/run.ts'), 'utf8');
    const figures = Object.entries(readFigures());
    expect(figures.map(([program]) => program)).to.include.members(['lab kill', 'lab cluster', 'lab simulate']);
    for (const [program, { command, found }] of figures) {
      expect(lab).to.include(`\n  ${program.replace('lab ', '')}: {`);
      expect(command.startsWith(`npm run ${program}`), command).to.equal(true);
      expect(found).to.match(/\d/);
    }
  });
});
