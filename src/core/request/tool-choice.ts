import type { AllowedTools, CreateResponse } from '../../contract/types.ts';
import type { ChatToolChoice } from '../chat.ts';
import { ApiError } from '../errors.ts';
import { nameOf, toolKey, type ToolRef } from './tool-names.ts';

/** Throws ApiError for a tool that is hosted or not offered. */
export function toChatToolChoice(
  choice: CreateResponse['tool_choice'],
  isOffered: (tool: ToolRef) => boolean,
  towardsBackend: (tool: ToolRef) => string,
): ChatToolChoice | undefined {
  if (choice === undefined || typeof choice === 'string') return choice;
  if (isAllowedTools(choice)) return choice.mode ?? 'auto';
  const tool = toChosenTool(choice);
  if (tool === undefined) throw hostedToolError(choice.type, 'tool_choice.type');
  if (!isOffered(tool)) throw unknownToolError('name' in tool ? 'tool_choice.name' : 'tool_choice.type');
  return { type: 'function', function: { name: towardsBackend(tool) } };
}

/** Returns the tools in `allowed_tools` by key. Throws ApiError for one that is not offered. */
export function allowedTools(
  choice: CreateResponse['tool_choice'],
  isOffered: (tool: ToolRef) => boolean,
): ReadonlySet<string> | undefined {
  if (!isAllowedTools(choice)) return undefined;
  const allowed = new Set<string>();
  for (const [index, entry] of choice.tools.entries()) {
    const tool = toChosenTool(entry);
    if (tool === undefined) continue;
    if (!isOffered(tool)) throw unknownToolError(`tool_choice.tools[${index}].${'name' in tool ? 'name' : 'type'}`);
    allowed.add(toolKey(tool));
  }
  return allowed;
}

/** Whether the choice is a list of tools that the model may call. */
export function isAllowedTools(choice: CreateResponse['tool_choice']): choice is AllowedTools {
  return typeof choice === 'object' && choice.type === 'allowed_tools';
}

/** Returns the tool that an entry of `tool_choice` names; undefined for hosted ones. */
export function toChosenTool(entry: { type: string; name?: string; namespace?: string }): ToolRef | undefined {
  switch (entry.type) {
    case 'function':
    case 'custom':
      return { kind: entry.type, ...nameOf({ name: entry.name ?? '', namespace: entry.namespace }) };
    case 'tool_search':
    case 'local_shell':
    case 'shell':
    case 'apply_patch':
      return { kind: entry.type };
    default:
      return undefined;
  }
}

function unknownToolError(param: string): ApiError {
  return new ApiError('invalid_request', { param, message: `${param} names no tool of this request.` });
}

/** Returns the error for a hosted tool. `param` is the path of its type. */
export function hostedToolError(type: string, param: string): ApiError {
  return new ApiError('unsupported_tool', {
    param,
    message:
      `Tools of type "${type}" would have to be executed by the server, which this gateway does not do. ` +
      'It offers the model tools that the client executes.',
  });
}
