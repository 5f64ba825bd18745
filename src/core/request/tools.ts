import type {
  CreateResponse,
  CustomTool,
  FunctionTool,
  LocalShellTool,
  NamespaceTool,
  ApplyPatchTool,
  ShellTool,
  ToolEcho,
  ToolParam,
  ToolSearchTool,
} from '../../contract/types.ts';
import type { HostedToolsPolicy } from '../../contract/settings-types.ts';
import type { ChatTool, ChatToolChoice } from '../chat.ts';
import { INPUT_PARAMETER } from '../reply/custom-input.ts';
import { ApiError } from '../errors.ts';
import { isList, listOf } from '../json.ts';
import { lazily } from '../lazily.ts';
import type { Dialect } from '../dialects.ts';
import { enforceToolChoice, hostedToolError, toChosenTool, type Callable } from './tool-choice.ts';
import { createToolNames, nameOf, toolKey, type ToolRef } from './tool-names.ts';

/** What the reply needs of the tools. It can be sent to another thread. */
export interface CallableTools {
  /** By the name that the backend knows. */
  readonly originals: ReadonlyMap<string, ToolRef>;
  /** How many of `originals` are offered. The others, behind them, are only in the history. */
  readonly offeredCount: number;
  readonly callable: Callable;
}

/** What a response repeats of them. */
export interface EchoedTools {
  readonly echo: readonly ToolEcho[];
}

export interface ReplyTools extends CallableTools, EchoedTools {}

export interface ToolPlan extends ReplyTools {
  readonly dropped: readonly string[];
  readonly offered: readonly ChatTool[];
  readonly choice?: ChatToolChoice;
  readonly nameTowardsBackend: (tool: ToolRef) => string;
}

type ClientTool =
  | FunctionTool
  | CustomTool
  | NamespaceTool
  | ToolSearchTool
  | LocalShellTool
  | ShellTool
  | ApplyPatchTool;

interface Offer {
  readonly tool: ToolRef;
  readonly description?: string;
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly strict?: boolean;
}

interface Hosted {
  readonly hosted: string;
  readonly path: string;
}

interface ToolContext {
  readonly path: string;
  readonly namespace?: string;
}

type ToOffers<Type extends ClientTool['type']> = (
  tool: Extract<ClientTool, { type: Type }>,
  context: ToolContext,
) => readonly (Offer | Hosted)[];

const TOOLS: { readonly [Type in ClientTool['type']]: ToOffers<Type> } = {
  function: ({ name, description, parameters, strict }, { namespace }) => [
    {
      tool: { kind: 'function', ...nameOf({ name, namespace }) },
      ...(description !== undefined && { description }),
      parameters: toRootSchema(parameters),
      ...(strict !== undefined && { strict }),
    },
  ],
  custom: (custom, { namespace }) => [
    {
      tool: { kind: 'custom', ...nameOf({ name: custom.name, namespace }) },
      description: describeCustomTool(custom),
      parameters: objectSchema({ [INPUT_PARAMETER]: string('The whole input of the tool, as plain text.') }, [
        INPUT_PARAMETER,
      ]),
    },
  ],
  namespace({ name, description, tools }, { path }) {
    const offers = tools.flatMap((tool, index) => {
      const context = { path: `${path}.tools[${index}]`, namespace: name };
      // A call has room for only one namespace, so nested ones are not offered.
      return tool.type === 'namespace' ? [toHosted(tool, context)] : toOffers(tool, context);
    });
    return description === undefined || description === '' ? offers : describeNamespace(name, description, offers);
  },
  tool_search: ({ type, execution, description, parameters }, context) =>
    execution === 'client'
      ? [
          {
            tool: { kind: 'tool_search' },
            description: description ?? 'Searches for more tools, which can be called once they have been found.',
            parameters: toRootSchema(
              parameters,
              objectSchema({ query: string('What the tool should do.') }, ['query']),
            ),
          },
        ]
      : [toHosted({ type }, context)],
  local_shell: () => [
    {
      tool: { kind: 'local_shell' },
      description: "Runs a command on the user's machine and returns its output.",
      parameters: objectSchema(
        {
          command: strings('The program and its arguments.'),
          working_directory: string('The folder to run it in.'),
          timeout_ms: number('The time limit in milliseconds.'),
        },
        ['command'],
      ),
    },
  ],
  shell: ({ type, environment }, context) =>
    environment?.type === undefined || environment.type === 'local'
      ? [
          {
            tool: { kind: 'shell' },
            description: "Runs shell commands on the user's machine and returns their output.",
            parameters: objectSchema(
              {
                commands: strings('The commands, each a line for the shell.'),
                timeout_ms: number('The time limit in milliseconds.'),
                max_output_length: number('The most characters of output to return.'),
              },
              ['commands'],
            ),
          },
        ]
      : [toHosted({ type }, context)],
  apply_patch: () => [
    {
      tool: { kind: 'apply_patch' },
      description: "Creates, changes or deletes one file on the user's machine.",
      parameters: objectSchema(
        {
          type: { type: 'string', enum: ['create_file', 'update_file', 'delete_file'] },
          path: string('The path of the file.'),
          diff: string(
            'For create_file and update_file: the change in the V4A diff format. Sections begin with "@@", ' +
              'and lines with " " (kept), "-" (removed) or "+" (added). In a new file every line begins with "+".',
          ),
        },
        ['type', 'path'],
      ),
    },
  ],
};

/**
 * Decides which tools the backend is offered. Throws ApiError for a hosted tool that is forced or
 * rejected, for a `tool_choice` that names no tool, and for too many tools. `toolChoice` says what
 * the backend knows of that field.
 */
export function planTools(
  request: Pick<CreateResponse, 'tools' | 'tool_choice' | 'input'>,
  hostedTools: HostedToolsPolicy,
  toolChoice: Dialect['toolChoice'] = 'named',
): ToolPlan {
  const offers = new Map<string, Offer>();
  const dropped = new Set<string>();
  let given = 0;
  const groups = givenTools(request).map(({ tools, path }) => {
    const found = tools.flatMap((tool, index) => {
      const offered = toOffers(tool, { path: `${path}[${index}]` });
      given += offered.length;
      if (given > MAX_TOOLS) throw tooManyTools(`${path}[${index}]`);
      return offered;
    });
    for (const offer of found) {
      if ('tool' in offer) offers.set(toolKey(offer.tool), offer);
      else if (hostedTools === 'drop') dropped.add(offer.hosted);
      else throw hostedToolError(offer.hosted, `${offer.path}.type`);
    }
    return found.flatMap((offer) => ('tool' in offer ? [offer.tool] : []));
  });
  const names = createToolNames(...groups);
  const offeredCount = names.originals.size;
  const isOffered = (tool: ToolRef) => offers.has(toolKey(tool));
  const enforced = enforceToolChoice(request.tool_choice, toolChoice, isOffered, names.towardsBackend);
  const { choice } = enforced;
  const offered = [...offers.values()]
    .filter(({ tool }) => enforced.mayOffer(tool))
    .map((offer) => toChatTool(offer, names.towardsBackend(offer.tool)));
  if (offered.length === 0 && choice !== undefined && choice !== 'auto' && choice !== 'none') {
    throw new ApiError('invalid_request', {
      param: 'tool_choice',
      message: 'tool_choice asks for a call, but no tool that this gateway can offer is left in tools.',
    });
  }
  return {
    offered,
    ...(offered.length > 0 && choice !== undefined && { choice }),
    echo: (request.tools ?? []).flatMap(toEcho),
    dropped: [...dropped],
    nameTowardsBackend: (tool) => names.towardsBackend(isOffered(tool) ? tool : (builtInOf(tool, isOffered) ?? tool)),
    originals: names.originals,
    offeredCount,
    callable: enforced.callable,
  };
}

/**
 * Returns a function that finds the tool that the backend calls by a name; undefined when
 * `tool_choice` forbids it.
 */
export function createToolFinder(tools: ReplyTools): (backendName: string) => ToolRef | undefined {
  const { originals, callable } = tools;
  const findFitting = lazily(() => createFittingTools(tools));
  const mayCall = (tool: ToolRef): boolean => callable === 'any' || callable.has(toolKey(tool));
  return (name) => {
    const tool = originals.get(name) ?? findFitting()(name) ?? { kind: 'function', name };
    return mayCall(tool) ? tool : undefined;
  };
}

/**
 * What models leave of the format of their template in a name (openai/openai-agents-python#2232), or
 * number it by.
 */
const LEAKED = /(?<=.)(?:["<].*|:\d+)$/s;
const SEPARATORS = /__|[./:]/;

/**
 * Models call tools without the prefix of their name (NousResearch/hermes-agent PR#61336), with
 * another separator behind it (openai/codex#23186), or with a prefix of their own. They also write
 * ` bash`, `Bash` and `get-by-id` for `bash` and `get_by_id` (anomalyco/opencode#24924, PR#31514).
 * Returns a function that finds the one tool that such a name fits; undefined when it fits none or
 * several.
 */
function createFittingTools({ originals, offeredCount, callable }: ReplyTools) {
  const offered = [...originals]
    .slice(0, offeredCount)
    .filter(([, tool]) => callable === 'any' || callable.has(toolKey(tool)))
    .map(([name, tool]) => ({ name, tool, parts: partsOf(name) }));
  return (written: string): ToolRef | undefined => {
    const name = written.replace(LEAKED, '');
    const parts = partsOf(name);
    const exact = offered.find((one) => one.name === name);
    const same = offered.filter((one) => one.parts.length === parts.length && endsWith(one.parts, parts));
    const fitting = offered.filter((one) => endsWith(one.parts, parts) || endsWith(parts, one.parts));
    return exact?.tool ?? onlyOf(same)?.tool ?? onlyOf(fitting)?.tool;
  };
}

function partsOf(name: string): readonly string[] {
  return name.trim().toLowerCase().replaceAll('-', '_').split(SEPARATORS);
}

function endsWith(parts: readonly string[], end: readonly string[]): boolean {
  return end.length <= parts.length && end.every((part, at) => part === parts[parts.length - end.length + at]);
}

function onlyOf<Value>(values: readonly Value[]): Value | undefined {
  return values.length === 1 ? values[0] : undefined;
}

/** Returns a function that says whether the name of an offered tool begins so, and goes on. */
export function createNameBeginnings({ originals }: CallableTools): (text: string) => boolean {
  // Nearly every call has the name of a tool in one piece, and needs no search.
  const sortNames = lazily(() => [...originals.keys()].toSorted());
  return (text) => {
    if (originals.has(text)) return false;
    const names = sortNames();
    let from = 0;
    for (let to = names.length; from < to;) {
      const middle = (from + to) >> 1;
      if ((names[middle] ?? '') < text) from = middle + 1;
      else to = middle;
    }
    return names[from]?.startsWith(text) ?? false;
  };
}

/** The schema limits each list alone. This limits all lists of a request together. */
const MAX_TOOLS = 10_000;

function tooManyTools(param: string): ApiError {
  const message = `With ${param} the request has more than ${MAX_TOOLS} tools, those in namespaces and in input counted.`;
  return new ApiError('invalid_request', { param, message });
}

/** Returns the tools that the client executes, including those in namespaces. */
export function clientToolsOf(tools: readonly ToolParam[]): ToolRef[] {
  return tools.flatMap((tool) =>
    toOffers(tool, { path: '' }).flatMap((offer) => ('tool' in offer ? [offer.tool] : [])),
  );
}

/** Returns the tools of the request, then those of each item. */
function givenTools({ tools = [], input }: Pick<CreateResponse, 'tools' | 'input'>) {
  const given = [{ tools, path: 'tools' }];
  if (typeof input === 'string') return given;
  for (const [index, item] of input.entries()) {
    if (item.type !== 'additional_tools' && item.type !== 'tool_search_output') continue;
    given.push({ tools: item.tools, path: `input[${index}].tools` });
  }
  return given;
}

function toOffers(tool: ToolParam, context: ToolContext): readonly (Offer | Hosted)[] {
  if (!mayModelCall(tool)) return [];
  return isClientTool(tool) ? offersOf(tool.type, tool, context) : [toHosted(tool, context)];
}

/** Others are for programs that a server runs, and clients refuse calls of the model. */
function mayModelCall(tool: ToolParam): boolean {
  const callers = 'allowed_callers' in tool ? listOf(tool.allowed_callers) : [];
  return callers.length === 0 || callers.includes('direct');
}

function offersOf<Type extends ClientTool['type']>(
  type: Type,
  tool: Extract<ClientTool, { type: Type }>,
  context: ToolContext,
): readonly (Offer | Hosted)[] {
  return TOOLS[type](tool, context);
}

function toHosted({ type }: ToolParam, { path }: ToolContext): Hosted {
  return { hosted: type, path };
}

function isClientTool(tool: ToolParam): tool is ClientTool {
  return Object.hasOwn(TOOLS, tool.type);
}

/** The chat format has no free-form tools, so the grammar goes into the description. */
function describeCustomTool({ description, format }: CustomTool): string {
  const parts = description === undefined ? [] : [description];
  if (format?.type === 'grammar' && format.definition !== undefined) {
    parts.push(`The input must match this ${format.syntax ?? ''} grammar:\n${format.definition}`);
  }
  return parts.join('\n\n');
}

/** The chat format has no namespaces, so the description goes to the first tool. */
function describeNamespace(
  name: string,
  description: string,
  offers: readonly (Offer | Hosted)[],
): readonly (Offer | Hosted)[] {
  const first = offers.findIndex((offer) => 'tool' in offer);
  return offers.map((offer, index) => {
    if (index !== first || !('tool' in offer)) return offer;
    const about = `About all tools of ${name}: ${description}`;
    return { ...offer, description: offer.description === undefined ? about : `${offer.description}\n\n${about}` };
  });
}

/** A client replays a failed call of a built-in tool as a function call (see call-writer.ts). */
function builtInOf(tool: ToolRef, isOffered: (tool: ToolRef) => boolean): ToolRef | undefined {
  if (tool.kind !== 'function' || tool.namespace !== undefined) return undefined;
  const builtIn = toChosenTool({ type: tool.name });
  return builtIn !== undefined && isOffered(builtIn) ? builtIn : undefined;
}

function toChatTool({ description, parameters, strict }: Offer, name: string): ChatTool {
  return {
    type: 'function',
    function: {
      name,
      ...(description !== undefined && description !== '' && { description }),
      parameters,
      ...(strict !== undefined && { strict }),
    },
  };
}

function toEcho(tool: ToolParam): ToolEcho[] {
  if (!isClientTool(tool)) return [];
  if (tool.type === 'namespace') {
    const shown: NamespaceTool = { ...tool, tools: tool.tools.filter(isOffer) };
    return [shown];
  }
  if (tool.type !== 'function') return isOffer(tool) ? [tool] : [];
  const { name, description, parameters, strict } = tool;
  return [
    {
      type: 'function',
      name,
      description: description ?? null,
      parameters: parameters ?? null,
      strict: strict ?? null,
    },
  ];
}

function isOffer(tool: ToolParam): boolean {
  return tool.type !== 'namespace' && toOffers(tool, { path: '' }).every((offer) => 'tool' in offer);
}

/**
 * Returns the schema with what backends want to see at its root, whatever else is there. Some refuse
 * a function without parameters, and DeepSeek, Kimi and OpenAI one without `type: "object"` or
 * `properties` (farion1231/cc-switch#4783, #4864, langchain-ai/langchain-mcp-adapters#137). PHP writes
 * an empty object as an empty list.
 */
function toRootSchema(
  schema: Readonly<Record<string, unknown>> | undefined,
  otherwise = objectSchema({}, []),
): Readonly<Record<string, unknown>> {
  if (schema === undefined) return otherwise;
  const properties = schema['properties'] ?? {};
  return { ...schema, type: 'object', properties: isList(properties) && properties.length === 0 ? {} : properties };
}

function objectSchema(properties: Readonly<Record<string, unknown>>, required: readonly string[]) {
  return { type: 'object', properties, required, additionalProperties: false };
}

function string(description: string) {
  return { type: 'string', description };
}

function strings(description: string) {
  return { type: 'array', items: { type: 'string' }, description };
}

function number(description: string) {
  return { type: 'number', description };
}
