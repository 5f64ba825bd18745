import { expect } from 'chai';
import { createStopController, type StopSignal } from '../../src/core/stop-signal.ts';

/** What each of the two kinds does is what the other one does. */
const kinds = [
  { name: 'a stop signal', open: createStopController },
  { name: 'an AbortSignal', open: () => new AbortController() },
] satisfies { name: string; open: () => { signal: StopSignal; abort(reason: unknown): void } }[];

for (const { name, open } of kinds) {
  describe(name, () => {
    const reason = new Error('enough');

    it('has not aborted at first', () => {
      const { signal } = open();
      signal.throwIfAborted();
      expect(signal).to.include({ aborted: false, reason: undefined });
    });

    it('throws the first of its reasons from then on', () => {
      const { signal, abort } = bound(open());
      abort(reason);
      abort(new Error('another'));
      expect(signal).to.include({ aborted: true, reason });
      expect(() => signal.throwIfAborted()).to.throw(reason);
    });

    it('tells each listener once, in order', () => {
      const { signal, abort } = bound(open());
      const told: string[] = [];
      signal.addEventListener('abort', () => told.push(`first sees ${signal.aborted}`));
      signal.addEventListener('abort', () => told.push('second'));
      abort(reason);
      abort(reason);
      expect(told).to.deep.equal(['first sees true', 'second']);
    });

    it('does not tell a listener that was removed', () => {
      const { signal, abort } = bound(open());
      const told: string[] = [];
      const removed = (): void => void told.push('removed');
      signal.addEventListener('abort', removed);
      signal.addEventListener('abort', () => told.push('other'));
      signal.removeEventListener('abort', removed);
      signal.removeEventListener('abort', removed);
      abort(reason);
      expect(told).to.deep.equal(['other']);
    });

    it('may lose a listener while it tells them', () => {
      const { signal, abort } = bound(open());
      const told: string[] = [];
      const removing = (): void => {
        told.push('removing');
        signal.removeEventListener('abort', removing);
      };
      signal.addEventListener('abort', removing);
      signal.addEventListener('abort', () => told.push('other'));
      abort(reason);
      expect(told).to.deep.equal(['removing', 'other']);
    });
  });
}

function bound(controller: { readonly signal: StopSignal; abort(reason: unknown): void }) {
  return { signal: controller.signal, abort: (reason: unknown) => controller.abort(reason) };
}
