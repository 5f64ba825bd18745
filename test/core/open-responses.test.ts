import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { expect } from 'chai';
import type { ResponseEvent } from '../../src/contract/types.ts';
import { loadFixtures } from '../support/fixtures.ts';
import { chunkOf, openMachine, translate } from '../support/machine.ts';
import { readAnswer } from '../support/read-answer.ts';
import { loadRecordings } from '../support/recordings.ts';
import { compileSchema, propertiesOf } from '../support/schemas.ts';

const OPEN_RESPONSES = join(import.meta.dirname, '../../../shared/openresponses/openapi-2026-04-24.json');

type Json = Record<string, unknown>;

/** All events of all fixtures, and of the recordings where they are found, as they go over the wire. */
function allEvents(): { readonly name: string; readonly event: ResponseEvent }[] {
  const streams = loadFixtures().map(({ name, request, settings, sse }) => {
    const answer = readAnswer(sse);
    // Every stream may say in_progress again.
    const machine = openMachine(request, settings);
    machine.start();
    for (const chunk of answer.chunks) machine.feed([chunk]);
    return { name, events: [...translate(answer, request, settings), ...machine.keepAlive()] };
  });
  const recorded = loadRecordings()
    .filter(({ status, contentType }) => status === 200 && contentType === 'text/event-stream')
    .map(({ name, body }) => ({ name, events: translate(readAnswer(body)) }));
  return [...streams, ...recorded, { name: 'compaction', events: compactionEvents() }].flatMap(({ name, events }) =>
    (JSON.parse(JSON.stringify(events)) as ResponseEvent[]).map((event) => ({ name: `${name}: ${event.type}`, event })),
  );
}

/** A response that begins with a compaction. */
function compactionEvents(): ResponseEvent[] {
  const machine = openMachine();
  return [
    ...machine.start(),
    ...machine.addCompaction('sealed', { isLast: false }),
    ...machine.feed([chunkOf({ content: 'Hello' }, 'stop')]),
    ...machine.end(true),
  ];
}

/** A respect in which we differ from Open Responses on purpose (`spec-digest.md`, section 4.2 and 1). */
interface Difference {
  readonly name: string;
  readonly reason: string;
  /** The event as Open Responses would have it; undefined where it has no such event. Changes the event in place. */
  readonly undo: (event: Json) => Json | undefined;
}

const DIFFERENCES: readonly Difference[] = [
  {
    name: 'reasoning in full is told by response.reasoning_text events',
    reason:
      'OpenAI, its SDKs and most servers call them so; Open Responses says response.reasoning. Only with REASONING_OUTPUT=content.',
    undo(event) {
      const type = String(event['type']).replace('response.reasoning_text.', 'response.reasoning.');
      return { ...event, type };
    },
  },
  {
    name: 'text.format echoes the schema of json_schema',
    reason:
      'The schema of Open Responses allows null alone there, which is a slip of its generator; parse() of the SDKs needs the schema.',
    undo: onResponse((response) => {
      const { format } = response['text'] as { format: Json };
      if (format['type'] === 'json_schema') format['schema'] = null;
    }),
  },
  {
    name: 'reasoning.effort echoes minimal and max',
    reason: 'OpenAI has them, and the echo says what was asked.',
    undo: onResponse((response) => {
      const reasoning = response['reasoning'] as Json | null;
      if (reasoning !== null && ['minimal', 'max'].includes(String(reasoning['effort']))) reasoning['effort'] = 'low';
    }),
  },
  {
    name: 'tools of other kinds than functions are echoed',
    reason: 'Open Responses knows functions only; these are echoed to whoever sent them.',
    undo: onResponse((response) => {
      response['tools'] = (response['tools'] as Json[]).filter((tool) => tool['type'] === 'function');
    }),
  },
  {
    name: 'tool_choice echoes such a tool',
    reason: 'As above; it says what was asked.',
    undo: onResponse((response) => {
      const choice = response['tool_choice'] as string | Json;
      if (typeof choice === 'object' && choice['type'] === 'custom') response['tool_choice'] = 'required';
    }),
  },
  {
    name: 'calls of such tools are items of their own types',
    reason: 'Clients that send these tools run nothing else; Open Responses has no such items.',
    undo(event) {
      const item = event['item'] as Json | undefined;
      if (item !== undefined && OTHER_CALLS.has(item['type'])) return undefined;
      const response = event['response'] as { output: Json[] } | undefined;
      if (response !== undefined) {
        response.output = response.output.filter((own) => !OTHER_CALLS.has(own['type']));
      }
      return event;
    },
  },
  {
    name: 'the input of custom tools is told by events of its own',
    reason: 'They are those of OpenAI; Open Responses has no custom tools.',
    undo: (event) => (String(event['type']).startsWith('response.custom_tool_call_input.') ? undefined : event),
  },
];

const OTHER_CALLS: ReadonlySet<unknown> = new Set([
  'custom_tool_call',
  'tool_search_call',
  'local_shell_call',
  'shell_call',
  'apply_patch_call',
  'image_generation_call',
]);

function onResponse(change: (response: Json) => void): Difference['undo'] {
  return (event) => {
    if ('response' in event) change(event['response'] as Json);
    return event;
  };
}

function undo(event: ResponseEvent, differences: readonly Difference[]): Json | undefined {
  let undone: Json | undefined = structuredClone(event) as unknown as Json;
  for (const difference of differences) undone = undone === undefined ? undefined : difference.undo(undone);
  return undone;
}

describe('events and responses', () => {
  const events = allEvents();

  describe('against our own schemas', () => {
    const isEvent = compileSchema('event.json', { closed: true });
    const isResponse = compileSchema('response.json', { closed: true });

    it('are valid, with no field that the schemas do not know', () => {
      for (const { name, event } of events) expectValid(isEvent, event, name);
    });

    it('have every field of the response in every snapshot', () => {
      const properties = propertiesOf('response.json');
      for (const { name, event } of events) {
        if (!('response' in event)) continue;
        expectValid(isResponse, event.response, name);
        expect(Object.keys(event.response), name).to.have.members(properties);
      }
    });

    it('would not be with a field too many, at any depth', () => {
      const event = {
        type: 'response.refusal.delta',
        sequence_number: 0,
        item_id: 'a',
        output_index: 0,
        content_index: 0,
      };
      expect(isEvent({ ...event, delta: 'a' })).to.equal(true);
      expect(isEvent({ ...event, delta: 'a', more: 1 })).to.equal(false);
      const part = { type: 'refusal', refusal: '', more: 1 };
      expect(isEvent({ ...event, type: 'response.content_part.added', part })).to.equal(false);
    });
  });

  if (!existsSync(OPEN_RESPONSES)) {
    it('are not compared with the schema of Open Responses, which is not found beside the repository');
    return;
  }

  describe('against the schema of Open Responses', () => {
    const validators = openResponsesValidators();
    const isValid = (event: Json | undefined) => event === undefined || validators.event(event);

    it(`are valid but for ${DIFFERENCES.length} differences (${events.length} events)`, () => {
      for (const { name, event } of events) {
        const undone = undo(event, DIFFERENCES);
        if (undone === undefined) continue;
        expectValid(validators.event, undone, name);
        if ('response' in undone) expectValid(validators.response, undone['response'], name);
      }
    });

    for (const difference of DIFFERENCES) {
      it(`still differ: ${difference.name}`, () => {
        const others = DIFFERENCES.filter((other) => other !== difference);
        const invalid = events.filter(({ event }) => !isValid(undo(event, others)));
        expect(invalid, 'events that are valid no more without this difference').not.to.deep.equal([]);
      });
    }

    it('would not be valid with a field missing', () => {
      const created = events.find(({ event }) => event.type === 'response.created')?.event;
      const broken = structuredClone(created) as unknown as { response: Json };
      delete broken.response['truncation'];
      expect(validators.event(created)).to.equal(true);
      expect(validators.event(broken)).to.equal(false);
    });
  });
});

function expectValid(validate: ValidateFunction, value: unknown, name: string): void {
  if (validate(value)) return;
  expect.fail(`${name}: ${JSON.stringify(validate.errors?.slice(0, 3))} in ${JSON.stringify(value)}`);
}

function openResponsesValidators(): { readonly event: ValidateFunction; readonly response: ValidateFunction } {
  const document = JSON.parse(readFileSync(OPEN_RESPONSES, 'utf8')) as {
    paths: Record<string, { post: { responses: Record<string, { content: Record<string, { schema: Json }> }> } }>;
  };
  // Not strict, since OpenAPI has keywords of its own. They are left alone: every `oneOf` is told apart by its constants.
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  ajv.addSchema(document, 'openapi');
  const content = document.paths['/responses']?.post.responses['200']?.content;
  return {
    event: ajv.compile(absolute(content?.['text/event-stream']?.schema)),
    response: ajv.compile(absolute(content?.['application/json']?.schema)),
  };
}

/** A part of the document with its references to the document spelled out. */
function absolute(schema: unknown): Json {
  return JSON.parse(JSON.stringify(schema).replaceAll('"#/components/', '"openapi#/components/')) as Json;
}
