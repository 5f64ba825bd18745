import { execFileSync } from 'node:child_process';
import { expect } from 'chai';
import { SNIPPETS } from '../../src/console/snippets.js';
import type { CreateResponse } from '../../src/contract/types.ts';

const NASTY = `"double" 'single' \\ \${x} \`tick\` $HOME $(id) %s {x}\n\t— ümlaut 🙂 \u2028 </script> '''`;

describe('the request as code, with everything that could end a literal early', () => {
  it('reaches curl as it is', () => {
    const request: CreateResponse = { model: NASTY, input: NASTY, instructions: NASTY, stream: true };
    const command = SNIPPETS.find(({ id }) => id === 'curl')?.write(request, 'http://127.0.0.1:8080/api/v1');
    const script = `curl() { printf '%s\\0' "$@"; }\n${command}`;
    const args = execFileSync('sh', ['-c', script], { encoding: 'utf8' }).split('\0');
    expect(JSON.parse(args.at(args.indexOf('-d') + 1) ?? '')).to.deep.equal(request);
    expect(args).to.include('-N');
  });
});
