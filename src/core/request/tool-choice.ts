import type { AllowedTools, CreateResponse } from '../../contract/types.ts';
import type { ChatToolChoice, NamedTool } from '../chat.ts';
import { ApiError } from '../errors.ts';
import type { Dialect } from '../dialects.ts';
import { nameOf, toolKey, type ToolRef } from './tool-names.ts';

export type Callable = 'any' | ReadonlySet<string>;

/** Many backends ignore a choice, so a call that breaks it is not passed on. */
export interface EnforcedChoice {
  readonly choice?: ChatToolChoice;
  mayOffer(tool: ToolRef): boolean;
  /** The keys of the tools that may be called. */
  readonly callable: Callable;
}

/** Throws ApiError for a tool that is hosted or not offered. */
export function enforceToolChoice(
  choice: CreateResponse['tool_choice'],
  known: Dialect['toolChoice'],
  isOffered: (tool: ToolRef) => boolean,
  towardsBackend: (tool: ToolRef) => string,
): EnforcedChoice {
  if (choice === undefined) return { mayOffer: any, callable: 'any' };
  // Another list of tools costs the prompt cache, so the list is cut only where it has to be.
  if (choice === 'none') return { choice, mayOffer: known === 'ignored' ? none : any, callable: new Set() };
  if (typeof choice === 'string') return { choice, mayOffer: any, callable: 'any' };
  if (isAllowedTools(choice)) {
    const allowed = allowedTools(choice, isOffered);
    const isAllowed = (tool: ToolRef): boolean => allowed.has(toolKey(tool));
    const { mode = 'auto' } = choice;
    if (known !== 'allowed' || allowed.size === 0) return { choice: mode, mayOffer: isAllowed, callable: allowed };
    const tools = choice.tools.flatMap((entry) => toChosenTool(entry) ?? []).map(toNamed);
    return { choice: { type: 'allowed_tools', allowed_tools: { mode, tools } }, mayOffer: any, callable: allowed };
  }
  const word = WORDS.get(choice.type);
  if (word !== undefined) throw choiceInObject(choice.type, word);
  const chosen = toChosenTool(choice);
  if (chosen === undefined) throw hostedToolError(choice.type, 'tool_choice.type');
  if (!isOffered(chosen)) throw unknownToolError('name' in chosen ? 'tool_choice.name' : 'tool_choice.type');
  const callable = new Set([toolKey(chosen)]);
  const isChosen = (tool: ToolRef): boolean => callable.has(toolKey(tool));
  if (known !== 'allowed' && known !== 'named') return { choice: 'required', mayOffer: isChosen, callable };
  return { choice: toNamed(chosen), mayOffer: any, callable };

  function toNamed(tool: ToolRef): NamedTool {
    return { type: 'function', function: { name: towardsBackend(tool) } };
  }
}

/** Anthropic's format has these words in an object, `any` for `required`. */
const WORDS: ReadonlyMap<string, string> = new Map([
  ['auto', 'auto'],
  ['none', 'none'],
  ['required', 'required'],
  ['any', 'required'],
]);

function choiceInObject(type: string, word: string): ApiError {
  return new ApiError('invalid_request', {
    param: 'tool_choice',
    message: `tool_choice must be the word alone in the place of an object of the type "${type}": write "tool_choice": "${word}".`,
  });
}

function any(): boolean {
  return true;
}

function none(): boolean {
  return false;
}

/** Returns how many calls of a reply are passed on; null without a limit. */
export function maxCallsOf({
  parallel_tool_calls: parallel,
  max_tool_calls: max,
}: Pick<CreateResponse, 'parallel_tool_calls' | 'max_tool_calls'>): number | null {
  return parallel === false ? Math.min(1, max ?? 1) : (max ?? null);
}

function allowedTools(choice: AllowedTools, isOffered: (tool: ToolRef) => boolean): ReadonlySet<string> {
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
