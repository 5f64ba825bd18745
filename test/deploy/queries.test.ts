import { expect } from 'chai';
import type { AlertReadings } from '../../src/telemetry/instruments.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { readExposition } from '../support/exposition.ts';
import { readDashboard, readRules } from './queries.ts';

const ALERTS: AlertReadings = {
  groups: [{ group: 'g', of: 'day', ratio: 1 }],
  reached: [{ account: 'key', of: 'day', threshold: 80, count: 1 }],
  alerts: [{ type: 'store.failing', result: 'sent', count: 1 }],
};

describe('the queries of the dashboard and the rules', () => {
  let served: ReadonlySet<string>;

  before(async () => {
    const none = { connections: () => ({ busy: 0, idle: 0 }) };
    const metrics = createMetrics({
      providerName: 'p',
      backend: none,
      relay: none,
      backends: () => [],
      webSockets: { count: 0 },
      store: { isFailing: () => false },
      alerts: { readings: ALERTS },
    });
    const families = readExposition(await metrics.show());
    served = new Set(
      [...families].flatMap(([name, { type }]) =>
        type === 'histogram' ? ['_bucket', '_sum', '_count'].map((end) => name + end) : [name],
      ),
    );
  });

  for (const { title, query } of [...readDashboard(), ...readRules()]) {
    it(`ask for metrics that are served: ${title}, ${query.trim()}`, () => {
      const named = query.match(/\b(?:responses_gateway|gen_ai|nodejs|process)_\w+(?=[{[),\s]|$)/g) ?? [];
      const labels = new Set(['gen_ai_request_model']);
      const metrics = named.filter((name) => !labels.has(name));
      expect(metrics.length + Number(/\bup\b/.test(query))).to.be.greaterThan(0);
      expect(metrics.filter((name) => !served.has(name))).to.deep.equal([]);
    });
  }

  it('are as many as the panels of a dashboard need, and rules of two severities, each with its place in a guide', () => {
    expect(readDashboard()).to.have.length.greaterThan(25);
    expect(readRules()).to.have.length.greaterThan(10);
    expect(new Set(readRules().map(({ severity }) => severity))).to.deep.equal(new Set(['page', 'ticket']));
    const unsplit = readRules().filter(({ query, value }) => value === query.trim());
    expect(unsplit).to.deep.equal([]);
    // That the guides and headings are there is looked at with those of the messages.
    for (const { title, runbook } of readRules()) {
      expect(runbook, title).to.match(/^http:\/\/127\.0\.0\.1:8080\/docs\/[\w-]+#[\w-]+$/);
    }
  });
});
