/** What every stream promises (contract, section 4), checked on its events alone, so tests of the machine and of the wire share it. */

import { AssertionError, expect } from 'chai';
import { foldEvent } from '../../src/core/reply/fold.ts';
import type { OutputItem, ResponseEvent, ResponseResource, Usage } from '../../src/contract/types.ts';
import { buildItem, isCall, must, type BuiltItem } from './built-item.ts';

type TerminalEvent = Extract<ResponseEvent, { type: 'response.completed' | 'response.incomplete' | 'response.failed' }>;

/** Takes all events of one stream, in order. Returns the final response; throws an AssertionError that says which promise is broken where. */
export function expectWellFormed(events: readonly ResponseEvent[]): ResponseResource {
  const items: BuiltItem[] = [];
  const first = events[0];
  must(first?.type === 'response.created', 'a stream begins with response.created');
  must(events[1]?.type === 'response.in_progress', 'response.in_progress comes second');
  expectFresh(first.response);

  for (const [index, event] of events.entries()) {
    try {
      must(event.sequence_number === index, 'sequence_number counts from 0 without a gap');
      if ('response' in event) expectSameRequest(event.response, first.response);
      takeEvent(event, index);
    } catch (error) {
      throw located(error, event, index);
    }
  }
  const terminal = events.at(-1);
  must(terminal !== undefined && isTerminal(terminal), 'a stream ends with its terminal event');
  expectFolded(events, terminal, items);
  return terminal.response;

  function takeEvent(event: ResponseEvent, index: number): void {
    switch (event.type) {
      case 'response.created':
        must(index === 0, 'response.created comes once');
        return;
      case 'response.in_progress':
        must(event.response.status === 'in_progress', 'the response is in progress until its terminal event');
        expect(event.response.output, 'the output so far').to.deep.equal(items.map((item) => item.soFar()));
        return;
      case 'response.completed':
      case 'response.incomplete':
      case 'response.failed':
        must(index === events.length - 1, 'a terminal event is the last event');
        expectEnd(event, items);
        if (event.type === 'response.failed') expectError(events[index - 1], event.response);
        return;
      case 'error':
        must(events[index + 1]?.type === 'response.failed', 'an error is followed by response.failed at once');
        return;
      case 'response.output_item.added':
        expectAddable(event, items);
        items.push(buildItem(event.item));
        return;
      default: {
        const item = items[event.output_index];
        must(item !== undefined, 'output_index is that of an added item');
        item.take(event);
      }
    }
  }
}

/**
 * Reads the text of an event stream back into its events and checks its form: `event:` equals `type`, LF only, no `id:`,
 * and `data: [DONE]` at the end.
 */
export function parseEvents(sseText: string): ResponseEvent[] {
  must(!sseText.includes('\r'), 'lines end with LF only');
  must(sseText.endsWith('data: [DONE]\n\n'), 'the stream ends with data: [DONE] and an empty line');
  const blocks = sseText.split('\n\n').slice(0, -2);
  return blocks.flatMap((block) => {
    const lines = block.split('\n').filter((line) => !line.startsWith(':'));
    return lines.length === 0 ? [] : [parseEvent(lines)];
  });
}

function parseEvent(lines: readonly string[]): ResponseEvent {
  const [name, data, ...others] = lines;
  must(name !== undefined && name.startsWith('event: '), `an event begins with its event: line, not "${name}"`);
  must(data !== undefined && data.startsWith('data: '), 'the data: line follows the event: line');
  expect(others, 'an event has no more than its two lines').to.deep.equal([]);
  const event = JSON.parse(data.slice('data: '.length)) as ResponseEvent;
  must(name === `event: ${event.type}`, `"${name}" names the type of its data, ${event.type}`);
  return event;
}

function isTerminal(event: ResponseEvent): event is TerminalEvent {
  return (
    event.type === 'response.completed' || event.type === 'response.incomplete' || event.type === 'response.failed'
  );
}

function expectFresh(response: ResponseResource): void {
  const { status, output, output_text, usage, completed_at, error, incomplete_details } = response;
  expect({ status, output, output_text, usage, completed_at, error, incomplete_details }).to.deep.equal({
    status: 'in_progress',
    output: [],
    output_text: '',
    usage: null,
    completed_at: null,
    error: null,
    incomplete_details: null,
  });
}

/** Everything that is not the answer itself stays what it was in `response.created`. */
function expectSameRequest(response: ResponseResource, created: ResponseResource): void {
  expect({ ...response, ...NO_ANSWER }, 'what echoes the request never changes').to.deep.equal({
    ...created,
    ...NO_ANSWER,
  });
}

const NO_ANSWER = {
  status: null,
  output: null,
  output_text: null,
  usage: null,
  completed_at: null,
  error: null,
  incomplete_details: null,
  service_tier: null,
};

function expectAddable(
  event: Extract<ResponseEvent, { type: 'response.output_item.added' }>,
  items: readonly BuiltItem[],
): void {
  must(event.output_index === items.length, 'output_index counts the items in the order in which they are added');
  must(
    items.every(({ added, done }) => done !== undefined || isCall(added)),
    'text and reasoning are done before the next item begins',
  );
  must(
    items.every(({ added }) => added.id !== event.item.id),
    'no two items have one id',
  );
  const { item } = event;
  must(
    !isCall(item) || items.every(({ added }) => !isCall(added) || added.call_id !== item.call_id),
    'no two calls have one call_id',
  );
}

const STATUSES_OF = {
  'response.completed': ['completed'],
  'response.incomplete': ['incomplete'],
  'response.failed': ['failed', 'cancelled'],
} as const satisfies Record<TerminalEvent['type'], readonly ResponseResource['status'][]>;

function expectEnd({ type, response }: TerminalEvent, items: readonly BuiltItem[]): void {
  const statuses: readonly string[] = STATUSES_OF[type];
  must(statuses.includes(response.status), `${type} does not go with status ${response.status}`);
  must((response.error !== null) === (type === 'response.failed'), 'only a failed response has an error');
  must(
    (response.incomplete_details !== null) === (type === 'response.incomplete'),
    'only an incomplete response says why it is incomplete',
  );
  must((response.completed_at !== null) === (type === 'response.completed'), 'completed_at is set by completion alone');
  must((response.completed_at ?? Infinity) >= response.created_at, 'a response is completed after it was created');
  must(
    type === 'response.failed' || items.every(({ done }) => done !== undefined),
    'all items are done, except in a failed response',
  );
  must(
    type !== 'response.completed' || items.every(({ done }) => done?.status === 'completed'),
    'an incomplete item is found in an incomplete response only',
  );
  const finished = items.flatMap(({ done }) => (done === undefined ? [] : [done]));
  expect(response.output, 'the output holds the finished items in their order').to.deep.equal(finished);
  must(response.output_text === textOf(finished), 'output_text is the text of all messages put together');
  if (response.usage !== null) expectNumeric(response.usage);
}

function textOf(output: readonly OutputItem[]): string {
  let text = '';
  for (const item of output) {
    if (item.type !== 'message') continue;
    for (const part of item.content) if (part.type === 'output_text') text += part.text;
  }
  return text;
}

function expectNumeric(usage: Usage): void {
  const counts = [
    usage.input_tokens,
    usage.input_tokens_details.cached_tokens,
    usage.input_tokens_details.cache_write_tokens,
    usage.output_tokens,
    usage.output_tokens_details.reasoning_tokens,
    usage.total_tokens,
  ];
  must(
    counts.every((count) => Number.isSafeInteger(count) && count >= 0),
    'usage consists of whole numbers',
  );
}

/** `error` comes directly before, flat and nested, and says what the response says. */
function expectError(before: ResponseEvent | undefined, { error }: ResponseResource): void {
  must(before?.type === 'error', 'response.failed follows an error event at once');
  const { code, message, param, error: nested } = before;
  must(
    [code, message, param, nested.type].every((field) => typeof field === 'string') && code !== '' && message !== '',
    'an error event has code, message and param as strings',
  );
  expect(nested, 'an error says the same flat and nested').to.deep.equal({ message, type: nested.type, param, code });
  expect(error, 'the failed response says what the error event said').to.deep.equal({ code, message });
}

/** The fold of the events before the terminal one has the output of the terminal response, less what a failure left open. */
function expectFolded(events: readonly ResponseEvent[], terminal: TerminalEvent, items: readonly BuiltItem[]): void {
  const [first, ...others] = structuredClone(events.slice(0, -1));
  must(first?.type === 'response.created', 'a stream begins with response.created');
  let folded = first.response;
  for (const event of [first, ...others]) folded = foldEvent(folded, event);
  const output = folded.output.filter((_item, index) => items[index]?.done !== undefined);
  expect(terminal.response.output, 'the terminal response is the fold of the events before it').to.deep.equal(output);
  if (terminal.type !== 'response.failed') {
    must(terminal.response.output_text === folded.output_text, 'output_text is the fold of the text deltas');
  }
}

function located(error: unknown, event: ResponseEvent, index: number): unknown {
  if (!(error instanceof AssertionError)) return error;
  error.message = `event ${index} (${event.type}): ${error.message}`;
  return error;
}
