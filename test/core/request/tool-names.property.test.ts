import { expect } from 'chai';
import * as fc from 'fast-check';
import { createToolNames, toolKey, type ToolRef } from '../../../src/core/request/tool-names.ts';
import { runs } from '../../support/property.ts';

/** Names that collide easily: long, odd, equal but for what no backend takes. */
const name = fc
  .array(fc.constantFrom('a', 'b', '_', '-', '.', ' ', '2', '__', '_2', 'é', '👩‍🚀', 'n'.repeat(30)), {
    minLength: 1,
    maxLength: 4,
  })
  .map((pieces) => pieces.join(''));

const tool: fc.Arbitrary<ToolRef> = fc.oneof(
  fc.record({ kind: fc.constantFrom('function', 'custom'), name }),
  fc.record({ kind: fc.constantFrom('function', 'custom'), name, namespace: name }),
  fc.record({ kind: fc.constantFrom('tool_search', 'local_shell', 'shell', 'apply_patch') }),
  fc.record({ kind: fc.constant('function'), name: fc.constantFrom('shell', 'a__b', '__proto__', 'constructor') }),
);
const tools = fc.uniqueArray(tool, { selector: toolKey, maxLength: 20 });

describe('tool names', () => {
  it('are what every backend takes, differ from each other and lead back exactly', () => {
    fc.assert(
      fc.property(tools, tools, (offered, earlier) => {
        const names = createToolNames(offered);
        const all = new Map([...offered, ...earlier].map((tool) => [toolKey(tool), tool]));
        const backendNames = [...all.values()].map((tool) => {
          const backendName = names.towardsBackend(tool);
          expect(backendName).to.match(/^[a-zA-Z0-9_-]{1,64}$/);
          expect(names.originals.get(backendName), backendName).to.deep.equal(tool);
          expect(names.towardsBackend(structuredClone(tool))).to.equal(backendName);
          return backendName;
        });
        expect(new Set(backendNames).size).to.equal(all.size);
      }),
      runs(1000),
    );
  });

  it('stay as they are where a backend takes them and no other tool has them', () => {
    const plain = fc.uniqueArray(fc.stringMatching(/^[a-zA-Z0-9_-]{1,64}$/), { maxLength: 10 });
    fc.assert(
      fc.property(plain, tools, (plain, others) => {
        const functions = plain.map((name): ToolRef => ({ kind: 'function', name }));
        const odd = others.filter(
          (tool) => 'name' in tool && /[^a-zA-Z0-9_-]/.test(tool.name + (tool.namespace ?? '')),
        );
        const names = createToolNames([...odd, ...functions]);
        expect(functions.map(names.towardsBackend)).to.deep.equal(plain);
      }),
      runs(500),
    );
  });
});
