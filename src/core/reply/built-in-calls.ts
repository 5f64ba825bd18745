import type { LocalShellAction, OutputItem, PatchOperation, ShellAction } from '../../contract/types.ts';
import { isObject } from '../json.ts';
import { readBoundedJson } from '../json-size.ts';
import type { BuiltInKind } from '../request/tool-names.ts';

type BuiltInItem = Extract<
  OutputItem,
  { type: 'tool_search_call' | 'local_shell_call' | 'shell_call' | 'apply_patch_call' }
>;
type WithoutFrame<Item> = Item extends unknown ? Omit<Item, 'id' | 'call_id' | 'status'> : never;

export type BuiltInCall = WithoutFrame<BuiltInItem>;

/** Returns the fields of the tool's item; undefined when the tool cannot take these arguments. */
export function toBuiltInCall(kind: BuiltInKind, argumentsJson: string): BuiltInCall | undefined {
  const args = readBoundedJson(argumentsJson === '' ? '{}' : argumentsJson);
  return isObject(args) ? CALLS[kind](args) : undefined;
}

type Arguments = Readonly<Record<string, unknown>>;

const CALLS: { readonly [Kind in BuiltInKind]: (args: Arguments) => BuiltInCall | undefined } = {
  tool_search: (args) => ({ type: 'tool_search_call', execution: 'client', arguments: args }),
  local_shell(args) {
    const command = toArgv(args['command']);
    if (command === undefined) return undefined;
    const action: LocalShellAction = { type: 'exec', command, env: toStringMap(args['env']) };
    if (typeof args['working_directory'] === 'string') action.working_directory = args['working_directory'];
    if (typeof args['timeout_ms'] === 'number') action.timeout_ms = args['timeout_ms'];
    if (typeof args['user'] === 'string') action.user = args['user'];
    return { type: 'local_shell_call', action };
  },
  shell(args) {
    const commands = toStrings(args['commands']);
    if (commands === undefined) return undefined;
    const action: ShellAction = {
      commands,
      timeout_ms: toNumber(args['timeout_ms']),
      max_output_length: toNumber(args['max_output_length']),
    };
    return { type: 'shell_call', action, environment: { type: 'local' } };
  },
  apply_patch({ type, path, diff }) {
    if (!isPatchType(type) || typeof path !== 'string' || path === '') return undefined;
    // Clients expect a diff for these types. Without one a file is created empty.
    const given = typeof diff === 'string' ? { diff } : type === 'delete_file' ? {} : { diff: '' };
    return { type: 'apply_patch_call', operation: { type, path, ...given } };
  },
};

/** Models also write a command as one line, which only a shell can split. */
function toArgv(value: unknown): string[] | undefined {
  return typeof value === 'string' && /\s/.test(value.trim()) ? ['sh', '-c', value] : toStrings(value);
}

/** Models also write a single command as one string. */
function toStrings(value: unknown): string[] | undefined {
  if (typeof value === 'string') return [value];
  return Array.isArray(value) && value.every((entry) => typeof entry === 'string') ? value : undefined;
}

function toNumber(value: unknown): number | null {
  return typeof value === 'number' ? value : null;
}

function toStringMap(value: unknown): Record<string, string> {
  if (!isObject(value)) return {};
  return Object.fromEntries(
    Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );
}

function isPatchType(value: unknown): value is PatchOperation['type'] {
  return value === 'create_file' || value === 'update_file' || value === 'delete_file';
}
