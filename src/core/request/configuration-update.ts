import type { CreateResponse, ReasoningEffort, TextParam } from '../../contract/types.ts';

/**
 * Returns the request with its `configuration_update` items applied. The last one wins, because
 * clients leave the earlier ones in the history.
 */
export function withUpdates(request: CreateResponse): CreateResponse {
  if (typeof request.input === 'string') return request;
  let effort: ReasoningEffort | undefined;
  let text: TextParam | undefined;
  for (const item of request.input) {
    if (item.type !== 'configuration_update') continue;
    effort = item.reasoning?.effort ?? effort;
    if (item.text !== undefined) text = Object.assign(text ?? {}, item.text);
  }
  if (effort === undefined && text === undefined) return request;
  return {
    ...request,
    ...(effort !== undefined && { reasoning: { ...request.reasoning, effort } }),
    ...(text !== undefined && { text: { ...request.text, ...text } }),
  };
}
