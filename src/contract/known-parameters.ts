import createResponseSchema from '../../schemas/create-response.json' with { type: 'json' };

/** Whether the Responses format has this parameter. */
export function isKnownParameter(name: string): boolean {
  return Object.hasOwn(createResponseSchema.properties, name);
}
