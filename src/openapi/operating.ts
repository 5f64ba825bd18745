import type { Operation } from './operation.ts';

const HTML = { 'text/html': undefined } as const;

export const OPERATING: readonly Operation[] = [
  {
    id: 'getLanding',
    method: 'get',
    path: '/',
    tag: 'Operation',
    summary: 'Say what this is',
    description: 'A page for browsers, JSON for programs.',
    replies: {
      200: {
        description: 'Where to go from here.',
        content: { 'application/json': 'operate.json#/$defs/Landing', ...HTML },
      },
    },
    errors: [],
  },
  {
    id: 'getDocs',
    method: 'get',
    path: '/docs',
    tag: 'Operation',
    summary: 'List the guides',
    replies: { 200: { description: 'A page.', content: HTML } },
    errors: [],
  },
  {
    id: 'getGuide',
    method: 'get',
    path: '/docs/{guide}',
    tag: 'Operation',
    summary: 'Read a guide, or this description',
    parameters: [
      {
        name: 'guide',
        in: 'path',
        description:
          'The name of a guide of the list, `api` for this description, or a file of `src/deploy` such as `alerts.yml`.',
        schema: { type: 'string' },
      },
    ],
    replies: { 200: { description: 'A page.', content: HTML } },
    errors: ['not_found'],
  },
  {
    id: 'getOpenApi',
    method: 'get',
    path: '/openapi.json',
    tag: 'Operation',
    summary: 'Get this description',
    replies: { 200: { description: 'OpenAPI 3.1.', content: { 'application/json': undefined } } },
    errors: [],
  },
  {
    id: 'getConsole',
    method: 'get',
    path: '/console/',
    tag: 'Operation',
    summary: 'Open the console',
    description: 'Try requests, watch records and see usage. The API key stays in the browser tab.',
    replies: { 200: { description: 'A page.', content: HTML } },
    errors: [],
  },
  {
    id: 'getHealth',
    method: 'get',
    path: '/healthz',
    tag: 'Operation',
    summary: 'Ask whether the process answers',
    replies: {
      200: { description: 'It does.', content: { 'application/json': 'operate.json#/$defs/Health' } },
    },
    errors: [],
  },
  {
    id: 'getReadiness',
    method: 'get',
    path: '/readyz',
    tag: 'Operation',
    summary: 'Ask whether requests should be sent here',
    replies: {
      200: { description: 'They should.', content: { 'application/json': 'operate.json#/$defs/Readiness' } },
      503: {
        description: 'They should not: the gateway drains, no record can be written, or no backend can be reached.',
        content: { 'application/json': 'operate.json#/$defs/Readiness' },
      },
    },
    errors: [],
  },
  {
    id: 'getMetrics',
    method: 'get',
    path: '/metrics',
    tag: 'Operation',
    summary: 'Read the metrics',
    auth: 'metricsToken',
    replies: { 200: { description: 'In the text format of Prometheus.', content: { 'text/plain': undefined } } },
    errors: ['missing_api_key', 'invalid_api_key'],
  },
];
