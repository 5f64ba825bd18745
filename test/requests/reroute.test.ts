import { expect } from 'chai';
import { DIALECTS } from '../../src/core/dialects.ts';
import { ApiError } from '../../src/core/errors.ts';
import { createRoutes, type BackendSpec } from '../../src/core/routes.ts';
import { rerouterOf } from '../../src/requests/reroute.ts';
import type { Plan } from '../../src/requests/plan.ts';
import { onlyBackend } from '../support/only-backend.ts';

describe('rerouterOf', () => {
  let prepared: string[];
  let used: string[];

  beforeEach(() => {
    prepared = [];
    used = [];
  });

  function backend(name: string, spec: Partial<BackendSpec> = {}): BackendSpec {
    return onlyBackend({ name, isOnly: false, ...spec });
  }

  function planFor(backends: readonly BackendSpec[]): Plan {
    const route = createRoutes(backends).choose('m', () => '');
    return {
      endpoint: 'responses',
      model: 'm',
      backendModel: route.modelAliases.get('m') ?? 'm',
      route,
      stream: false,
      conversation: new Uint8Array(),
      inputSize: { textBytes: 2, mediaTokens: 0 },
      maxOutputTokens: null,
      choices: 1,
    };
  }

  const openai = { upstreamDialect: 'openai', dialect: DIALECTS.openai };

  function open(backends: readonly BackendSpec[], refusal?: Error) {
    const reroute = rerouterOf(planFor(backends), {
      async prepare(to) {
        prepared.push(to.name);
        if (refusal !== undefined) throw refusal;
        return planFor(backends.filter(({ name }) => name === to.name));
      },
      use({ route, backendModel }) {
        used.push(`${route.upstreamDialect} ${backendModel}`);
        return backendModel;
      },
    });
    return reroute ?? expect.fail('they are of several kinds');
  }

  it('prepares a request once for the backends that are alike, and goes back to the first plan', async () => {
    const alias = { modelAliases: new Map([['m', 'n']]) };
    const backends = [backend('a'), backend('b', openai), backend('c', openai), backend('d', alias)];
    const first = planFor(backends).route.alike[0];
    const reroute = open(backends);
    for (const to of [...backends, ...backends]) await reroute(to);
    const kinds = ['generic m', 'openai m', 'openai m', 'generic n'];
    expect(used).to.deep.equal([...kinds, ...kinds]);
    const expected = ['a', 'b', 'd'].filter((name) => name !== first && !(first === 'c' && name === 'b'));
    expect(prepared).to.deep.equal(expected);
  });

  it('skips a backend for which the request is refused', async () => {
    const backends = [backend('a'), backend('b', openai)];
    const [first] = planFor(backends).route.alike;
    const other = backends.find(({ name }) => name !== first) ?? expect.fail('there are two');
    const reroute = open(backends, new ApiError('unsupported_parameter'));
    expect(await reroute(other)).to.equal(undefined);
    expect(prepared).to.deep.equal([other.name]);
    expect(used).to.deep.equal([]);
  });

  for (const failure of [new ApiError('client_disconnected'), new ApiError('server_overloaded'), new Error('ours')]) {
    it(`passes on what says nothing of the backend: ${failure.message}`, async () => {
      const backends = [backend('a'), backend('b', openai)];
      const [first] = planFor(backends).route.alike;
      const other = backends.find(({ name }) => name !== first) ?? expect.fail('there are two');
      const thrown = await open(backends, failure)(other).catch((error: unknown) => error);
      expect(thrown).to.equal(failure);
    });
  }
});
