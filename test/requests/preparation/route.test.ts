import { expect } from 'chai';
import { DIALECTS } from '../../../src/core/dialects.ts';
import { createRoutes } from '../../../src/core/routes.ts';
import { routeChat } from '../../../src/requests/preparation/route.ts';

describe('routeChat', () => {
  it('refuses a large body that has too much to be read, also for the only backend', () => {
    const backend = { name: '', dialect: DIALECTS.generic, upstreamDialect: 'generic', weight: 1 } as const;
    const routes = createRoutes([{ ...backend, modelAliases: new Map(), models: null }]);
    const body = Buffer.from(`{"model":"m"${',"a":0'.repeat(50_001)}}`);
    expect(() => routeChat(body, ['me'], { routes, imageUrls: 'any', authMode: 'static' })).to.throw(
      'The body has more than 50000 fields.',
    );
  });
});
