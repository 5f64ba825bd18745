/** The names that may stand on the wire: what packages of clients declare, beside what the tables here have. */

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import createResponse from '../../../schemas/create-response.json' with { type: 'json' };
import eventSchema from '../../../schemas/event.json' with { type: 'json' };
import { isTranslatedType } from '../../../src/core/request/items.ts';
import { fieldsOf, membersOf, typesOf } from './declarations.ts';

export interface Vocabulary {
  readonly items: readonly string[];
  readonly tools: readonly string[];
  readonly events: readonly string[];
  readonly parameters: readonly string[];
}

/** Each reads an installed package. Codex declares only items. */
export const PACKAGES = {
  openai(folder: string): Vocabulary {
    const [stable, beta] = ['', 'beta/'].map((part) =>
      readFileSync(join(folder, `resources/${part}responses/responses.d.ts`), 'utf8'),
    ) as [string, string];
    return {
      items: [...typesOf(stable, 'ResponseInputItem'), ...typesOf(beta, 'BetaResponseInputItem')],
      tools: [...typesOf(stable, 'Tool'), ...typesOf(beta, 'BetaTool')],
      events: [...typesOf(stable, 'ResponseStreamEvent'), ...typesOf(stable, 'ResponsesServerEvent')],
      parameters: fieldsOf(stable, 'ResponseCreateParamsBase'),
    };
  },

  '@ai-sdk/openai'(folder: string): Vocabulary {
    const source = readFileSync(join(folder, 'src/responses/openai-responses-api.ts'), 'utf8');
    return {
      items: [
        ...typesOf(source, 'OpenAIResponsesInputItem'),
        ...membersOf(source, 'openaiResponsesModeledOutputItemTypes'),
      ],
      tools: typesOf(source, 'OpenAIResponsesTool'),
      events: membersOf(source, 'openaiResponsesModeledChunkTypes'),
      parameters: [],
    };
  },

  '@openai/codex'(folder: string): Vocabulary {
    const home = mkdtempSync(join(tmpdir(), 'codex-types-'));
    try {
      const args = [join(folder, 'bin/codex.js'), 'app-server', 'generate-ts', '--experimental', '--out', home];
      const env = { PATH: process.env['PATH'], HOME: home, CODEX_HOME: home };
      execFileSync(process.execPath, args, { env, stdio: 'ignore' });
      const items = typesOf(readFileSync(join(home, 'ResponseItem.ts'), 'utf8'), 'ResponseItem');
      return { items, tools: [], events: [], parameters: [] };
    } finally {
      rmSync(home, { recursive: true });
    }
  },
} as const;

/** Returns the names that no table has. */
export function missingOf({ items, tools, events, parameters }: Vocabulary): Vocabulary {
  return {
    items: missing(items, (type) => isTranslatedType(type) || LEFT_OUT_ITEMS.has(type)),
    tools: missing(tools, (type) => CLIENT_TOOLS.has(type) || HOSTED_TOOLS.has(type)),
    events: missing(events, (type) => SENT_EVENTS.has(type) || NEVER_SENT.has(type.split('.')[1] ?? '')),
    parameters: missing(
      parameters,
      (name) => Object.hasOwn(createResponse.properties, name) || LEFT_OUT_PARAMETERS.has(name),
    ),
  };
}

function missing(names: readonly string[], isKnown: (name: string) => boolean): readonly string[] {
  return [...new Set(names)].filter((name) => !isKnown(name));
}

/** The model is not told of them. They are named in `x-dropped-items`. */
const LEFT_OUT_ITEMS = new Set([
  'context_compaction',
  'mcp_approval_request',
  'mcp_approval_response',
  'mcp_list_tools',
  'multi_agent_call',
  'multi_agent_call_output',
  // Codex's own name for the types that it does not know.
  'other',
  'program',
  'program_output',
]);

const CLIENT_TOOLS = new Set(createResponse.$defs.ToolParam.allOf.map((rule) => rule.if.properties.type.const));

/** A server runs them. They are named in `x-dropped-tools`. */
const HOSTED_TOOLS = new Set([
  'code_interpreter',
  'computer',
  'computer_use_preview',
  'file_search',
  'image_generation',
  'mcp',
  'programmatic_tool_calling',
  'web_search',
  'web_search_2025_08_26',
  'web_search_preview',
  'web_search_preview_2025_03_11',
]);

const SENT_EVENTS = new Set(Object.values(eventSchema.$defs).map(({ properties }) => properties.type.const));

/** The second word of events about hosted calls, about what is optional, and about what is not offered here. */
const NEVER_SENT = new Set([
  'apply_patch_call_operation_diff',
  'audio',
  'code_interpreter_call',
  'code_interpreter_call_code',
  'compaction',
  'file_search_call',
  'image_generation_call',
  'mcp_call',
  'mcp_call_arguments',
  'mcp_list_tools',
  'queued',
  'shell_call_command',
  'shell_call_output_content',
  'steer',
  'web_search_call',
]);

/** They have no effect here. Some are named in `x-ignored-parameters`. */
const LEFT_OUT_PARAMETERS = new Set([
  'access_programs',
  'image',
  'moderation',
  'multi_agent',
  'prompt_cache_options',
  'prompt_cache_retention',
]);
