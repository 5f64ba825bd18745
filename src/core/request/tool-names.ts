export type ToolRef = ({ readonly kind: 'function' | 'custom' } & ToolName) | { readonly kind: BuiltInKind };

export interface ToolName {
  readonly name: string;
  readonly namespace?: string;
}

export type BuiltInKind = 'tool_search' | 'local_shell' | 'shell' | 'apply_patch';

export interface ToolNames {
  /** Returns a unique `[a-zA-Z0-9_-]{1,64}`, which is the tool's own name where possible. */
  readonly towardsBackend: (tool: ToolRef) => string;
  /** Grows with each name that is assigned. */
  readonly originals: ReadonlyMap<string, ToolRef>;
}

const BACKEND_NAME = /^[a-zA-Z0-9_-]{1,64}$/;
const MAX_LENGTH = 64;
const MAX_ENDING_LENGTH = 8;
const SEPARATOR = '__';
const MIN_NAMESPACE_LENGTH = 8;

/**
 * Assigns names in both directions. No generated name takes a valid name of a tool that was offered
 * in the same group, and no later group changes a name, since the backend has read it.
 */
export function createToolNames(...groups: readonly (readonly ToolRef[])[]): ToolNames {
  const backendNames = new Map<string, string>();
  const originals = new Map<string, ToolRef>();
  const lastNumbers = new Map<string, number>();

  for (const offered of groups) {
    for (const tool of offered) if (isOwnName(tool)) towardsBackend(tool);
    for (const tool of offered) if (BACKEND_NAME.test(flatName(tool))) towardsBackend(tool);
    for (const tool of offered) towardsBackend(tool);
  }
  return { towardsBackend, originals };

  function towardsBackend(tool: ToolRef): string {
    const key = toolKey(tool);
    const known = backendNames.get(key);
    if (known !== undefined) return known;
    const backendName = freeName(shortName(tool).replaceAll(/[^a-zA-Z0-9_-]/g, '_'));
    backendNames.set(key, backendName);
    originals.set(backendName, tool);
    return backendName;
  }

  function freeName(wanted: string): string {
    if (wanted.length <= MAX_LENGTH && !originals.has(wanted)) return wanted;
    const base = wanted.slice(0, MAX_LENGTH - MAX_ENDING_LENGTH);
    // A history may hold thousands of names with the same beginning.
    let n = lastNumbers.get(base) ?? 1;
    do n += 1;
    while (originals.has(`${base}_${n}`));
    lastNumbers.set(base, n);
    return `${base}_${n}`;
  }
}

/** Returns the name fields alone. */
export function nameOf({
  name,
  namespace,
}: {
  readonly name: string;
  readonly namespace?: string | undefined;
}): ToolName {
  return namespace === undefined ? { name } : { name, namespace };
}

/** Returns one key per tool. A function and a custom tool with one name are two tools. */
export function toolKey(tool: ToolRef): string {
  return 'name' in tool ? JSON.stringify([tool.kind, tool.namespace ?? null, tool.name]) : tool.kind;
}

function isOwnName(tool: ToolRef): boolean {
  return (!('name' in tool) || tool.namespace === undefined) && BACKEND_NAME.test(flatName(tool));
}

function flatName(tool: ToolRef): string {
  if (!('name' in tool)) return tool.kind;
  return tool.namespace === undefined ? tool.name : `${tool.namespace}${SEPARATOR}${tool.name}`;
}

/** The namespace is cut, because the model tells its tools apart by their own names. */
function shortName(tool: ToolRef): string {
  const flat = flatName(tool);
  if (flat.length <= MAX_LENGTH || !('name' in tool) || tool.namespace === undefined) return flat;
  const room = MAX_LENGTH - MAX_ENDING_LENGTH - SEPARATOR.length - tool.name.length;
  return `${tool.namespace.slice(0, Math.max(room, MIN_NAMESPACE_LENGTH))}${SEPARATOR}${tool.name}`;
}
