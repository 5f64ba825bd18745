/** Faults that a program of the lab must find: the real sources with one expression replaced as they are loaded. */

import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { expect } from 'chai';

export interface Fault {
  readonly name: string;
  /** In `src`. */
  readonly file: string;
  readonly right: string;
  readonly wrong: string;
  /** Several times as many cases as it took when it was planted. */
  readonly within: number;
}

const TESTS = new URL('..', import.meta.url).href;
const SOURCES = new URL('../../src/', import.meta.url).href;

/** Loads a program of `test/lab` once more, over sources with this fault. Throws where it has no place, or several. */
export async function plant(fault: Fault, program: string): Promise<unknown> {
  const at = `?fault=${encodeURIComponent(fault.name)}`;
  const place = `${SOURCES}${fault.file}${at}`;
  const hooks = registerHooks({
    resolve(specifier, context, next) {
      const found = next(specifier, context);
      const isOurs = found.url.startsWith(SOURCES) || found.url.startsWith(TESTS);
      return isOurs && context.parentURL?.endsWith(at) === true ? { ...found, url: `${found.url}${at}` } : found;
    },
    load(url, context, next) {
      const loaded = next(url, context);
      if (url !== place) return loaded;
      return { ...loaded, source: withFault(fault, Buffer.from(loaded.source as Uint8Array).toString()) };
    },
  });
  try {
    return await import(`${new URL(program, import.meta.url).href}${at}`);
  } finally {
    hooks.deregister();
  }
}

/** System tests plant faults minutes later, so this looks at once whether each still has its place. */
export function describeFaults(what: string, faults: readonly Fault[]): void {
  describe(`the faults that ${what} must find`, () => {
    for (const fault of faults) {
      it(`plants ${fault.name} in the source as it is now`, () => {
        const source = readFileSync(new URL(fault.file, SOURCES), 'utf8');
        expect(withFault(fault, source)).to.not.equal(source);
      });
    }
  });
}

function withFault(fault: Fault, source: string): string {
  const parts = source.split(fault.right);
  if (parts.length !== 2) throw new Error(`${fault.file} has ${parts.length - 1} times: ${fault.right}`);
  return parts.join(fault.wrong);
}
