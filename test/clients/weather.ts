/** The tool which the tests of the official SDK offer, over whichever transport. */
export const WEATHER = {
  type: 'function',
  name: 'weather',
  description: 'The weather of a city.',
  strict: true,
  parameters: {
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
    additionalProperties: false,
  },
} as const;
