import type { CreateResponse, FunctionTool, ToolEcho } from '../types/contract.ts';
import type { ChatTool, ChatToolChoice } from './chat.ts';
import { ApiError } from './errors.ts';

/** The tools of one request on their way out, and the way back for the calls which the model makes of them. */
export interface ToolPlan {
  /** What the backend is offered; empty when no tool is left, and then `choice` is absent too. */
  readonly offered: readonly ChatTool[];
  readonly choice?: ChatToolChoice;
  /** The tools as the response object shows them. */
  readonly echo: readonly ToolEcho[];
  /** Types of tools that a server would have to execute and which were therefore left out. */
  readonly dropped: readonly string[];
  /** The name under which a backend knows a function: `[a-zA-Z0-9_-]{1,64}`, unique, the name itself where it can be. */
  nameTowardsBackend(name: string): string;
  /** The function that a backend's call is for; undefined when `allowed_tools` forbids the call. */
  functionOfCall(backendName: string): { readonly name: string } | undefined;
}

/**
 * Decides what the backend is offered (contract, section 2). Throws ApiError `unsupported_tool` for a hosted tool that is
 * forced, or given at all under `reject`, and `invalid_request` for a `tool_choice` that names no tool of the request.
 */
export function planTools(
  request: Pick<CreateResponse, 'tools' | 'tool_choice'>,
  hostedTools: 'drop' | 'reject',
): ToolPlan {
  const functions: FunctionTool[] = [];
  const dropped: string[] = [];
  for (const [index, tool] of (request.tools ?? []).entries()) {
    if (isFunctionTool(tool)) functions.push(tool);
    else if (hostedTools === 'drop') dropped.push(tool.type);
    else throw hostedToolError(tool.type, `tools[${index}].type`);
  }
  const names = createNames(functions.map((tool) => tool.name));
  const allowed = allowedNames(request.tool_choice, functions);
  const offered = functions
    .filter((tool) => allowed === undefined || allowed.has(tool.name))
    .map((tool) => toChatTool(tool, names.towardsBackend(tool.name)));
  const choice = toChatToolChoice(request.tool_choice, functions, names.towardsBackend);
  if (offered.length === 0 && choice !== undefined && choice !== 'auto' && choice !== 'none') {
    throw new ApiError('invalid_request', {
      param: 'tool_choice',
      message: 'tool_choice asks for a call, but no tool that this gateway can offer is left in tools.',
    });
  }
  return {
    offered,
    ...(offered.length > 0 && choice !== undefined && { choice }),
    echo: functions.map(toEcho),
    dropped: [...new Set(dropped)],
    nameTowardsBackend: names.towardsBackend,
    functionOfCall(backendName) {
      const name = names.original(backendName);
      return allowed === undefined || allowed.has(name) ? { name } : undefined;
    },
  };
}

function isFunctionTool(tool: { readonly type: string }): tool is FunctionTool {
  return tool.type === 'function';
}

function hostedToolError(type: string, param: string): ApiError {
  return new ApiError('unsupported_tool', {
    param,
    message: `Tools of type "${type}" would have to be executed by the server, which this gateway does not do. Only function tools are offered to the model.`,
  });
}

function allowedNames(
  choice: CreateResponse['tool_choice'],
  functions: readonly FunctionTool[],
): ReadonlySet<string> | undefined {
  if (typeof choice !== 'object' || !('tools' in choice)) return undefined;
  const known = new Set(functions.map((tool) => tool.name));
  const allowed = new Set<string>();
  for (const [index, tool] of choice.tools.entries()) {
    if (tool.type !== 'function') continue;
    if (tool.name === undefined || !known.has(tool.name)) throw unknownToolError(`tool_choice.tools[${index}].name`);
    allowed.add(tool.name);
  }
  return allowed;
}

function unknownToolError(param: string): ApiError {
  return new ApiError('invalid_request', { param, message: `${param} names no function of tools.` });
}

function toChatToolChoice(
  choice: CreateResponse['tool_choice'],
  functions: readonly FunctionTool[],
  towardsBackend: (name: string) => string,
): ChatToolChoice | undefined {
  if (choice === undefined || typeof choice === 'string') return choice;
  if ('tools' in choice) return choice.mode ?? 'auto';
  if (!('name' in choice) || choice.type !== 'function') throw hostedToolError(choice.type, 'tool_choice.type');
  if (!functions.some((tool) => tool.name === choice.name)) throw unknownToolError('tool_choice.name');
  return { type: 'function', function: { name: towardsBackend(choice.name) } };
}

function toChatTool(tool: FunctionTool, name: string): ChatTool {
  return {
    type: 'function',
    function: {
      name,
      ...(tool.description !== undefined && { description: tool.description }),
      // Some backends refuse a function without parameters; an empty object says the same.
      parameters: tool.parameters ?? { type: 'object', properties: {} },
      ...(tool.strict !== undefined && { strict: tool.strict }),
    },
  };
}

function toEcho(tool: FunctionTool): ToolEcho {
  return {
    type: 'function',
    name: tool.name,
    description: tool.description ?? null,
    parameters: tool.parameters ?? null,
    strict: tool.strict ?? null,
  };
}

const BACKEND_NAME = /^[a-zA-Z0-9_-]{1,64}$/;

/** Two-way names. Names a backend takes stand for themselves and are given out first, so no made-up one can be in their way. */
function createNames(offered: readonly string[]) {
  const backendNames = new Map<string, string>();
  const originals = new Map<string, string>();

  function claim(name: string, backendName: string): string {
    backendNames.set(name, backendName);
    originals.set(backendName, name);
    return backendName;
  }

  function towardsBackend(name: string): string {
    const known = backendNames.get(name);
    if (known !== undefined) return known;
    if (BACKEND_NAME.test(name) && !originals.has(name)) return claim(name, name);
    const base = name.replaceAll(/[^a-zA-Z0-9_-]/g, '_');
    let candidate = base.slice(0, 64);
    for (let n = 2; originals.has(candidate); n += 1) candidate = `${base.slice(0, 63 - String(n).length)}_${n}`;
    return claim(name, candidate);
  }

  for (const name of offered) if (BACKEND_NAME.test(name)) towardsBackend(name);
  for (const name of offered) towardsBackend(name);
  return { towardsBackend, original: (backendName: string) => originals.get(backendName) ?? backendName };
}
