import type { ConfigurationUpdate, CreateResponse } from '../../contract/types.ts';

/**
 * The request as the `configuration_update` items of its input change it; itself where there are none. The last of them that
 * names an effort, or a text format, holds in the place of the request's own: clients leave the earlier ones in the history.
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
