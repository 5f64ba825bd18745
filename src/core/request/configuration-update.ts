import type { ConfigurationUpdate, CreateResponse } from '../../contract/types.ts';

/**
 * Applies the `configuration_update` items of the input to the request; returns the request itself
 * when there are none. The last item that names an effort or a text format wins, because clients
 * leave the earlier ones in the history.
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
