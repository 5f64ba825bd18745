import type { ConfigurationUpdate, CreateResponse } from '../../contract/types.ts';

/**
 * Returns the request with its `configuration_update` items applied. The last one wins, because
 * clients leave the earlier ones in the history.
 */
export function withUpdates(request: CreateResponse): CreateResponse {
  if (typeof request.input === 'string') return request;
  return request.input.reduce(
    (updated, item) => (item.type === 'configuration_update' ? withUpdate(updated, item) : updated),
    request,
  );
}

function withUpdate(request: CreateResponse, { reasoning, text }: ConfigurationUpdate): CreateResponse {
  return {
    ...request,
    ...(reasoning?.effort !== undefined && { reasoning: { ...request.reasoning, effort: reasoning.effort } }),
    ...(text !== undefined && { text: { ...request.text, ...text } }),
  };
}
