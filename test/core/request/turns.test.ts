import { expect } from 'chai';
import type { ChatMessage } from '../../../src/core/chat.ts';
import { DIALECTS, type Dialect } from '../../../src/core/dialects.ts';
import type { Piece } from '../../../src/core/request/items.ts';
import { NO_OUTPUT, toMessages } from '../../../src/core/request/turns.ts';
import { cpuTimeMs } from '../../support/cpu-time.ts';

const user = (content: string): Piece => ({ kind: 'user', content });
const says = (text: string, refusal = ''): Piece => ({ kind: 'assistant', text, refusal });
const EMPTY_STATE = {
  kind: 'reasoning',
  text: '',
  state: { dialect: 'd', model: 'm', reply: 'r', thoughts: '', thoughtsForm: 'reasoning', message: {}, calls: [] },
} as const;
const thinks = (text: string, isForeign = false): Piece => ({
  kind: 'reasoning',
  text,
  ...(isForeign && { isForeign }),
});
const calls = (callId: string, name = 'look'): Piece => ({ kind: 'call', callId, name, arguments: '{}' });
const system = (text: string, role: 'system' | 'developer' = 'system'): Piece => ({ kind: 'system', role, text });
const picture = { type: 'image_url', image_url: { url: 'data:,a' } } as const;
const output = (callId: string, text: string, media: Extract<Piece, { kind: 'output' }>['media'] = []): Piece => ({
  kind: 'output',
  callId,
  text,
  media,
});

/** The assistant's message with calls of these ids. */
const called = (content: string | null, ...ids: readonly string[]) => ({
  role: 'assistant',
  content,
  tool_calls: ids.map((id) => ({ id, type: 'function', function: { name: 'look', arguments: '{}' } })),
});
const tool = (id: string, content: string) => ({ role: 'tool', tool_call_id: id, content });
const fromUser = (content: string) => ({ role: 'user', content });
const fromAssistant = (content: string) => ({ role: 'assistant', content });
const orphan = (id: string, text: string) => fromUser(`Output of an earlier tool call (${id}):\n${text}`);

const SECOND_A = 'OVUaXWiOm';

interface Case {
  readonly name: string;
  readonly pieces: readonly Piece[];
  readonly expected: readonly object[];
  readonly dialect?: Partial<Dialect>;
}

describe('toMessages', () => {
  const rules: Record<string, readonly Case[]> = {
    'puts what the assistant does in one go into one message:': [
      {
        name: 'two texts',
        pieces: [user('Hi'), says('One'), says('Two'), user('Bye')],
        expected: [fromUser('Hi'), fromAssistant('One\nTwo'), fromUser('Bye')],
      },
      {
        name: 'a call that was replayed twice',
        pieces: [calls('a'), calls('a'), output('a', 'rain')],
        expected: [called(null, 'a'), tool('a', 'rain')],
      },
      {
        name: 'a call and its output that were replayed twice',
        pieces: [calls('a'), calls('a'), output('a', 'rain'), output('a', 'rain')],
        expected: [called(null, 'a'), tool('a', 'rain')],
      },
      {
        name: 'two calls with one id, of which the second gets an id of its own',
        pieces: [calls('a'), calls('a', 'listen'), output('a', 'rain'), output('a', 'thunder')],
        expected: [
          {
            role: 'assistant',
            content: null,
            tool_calls: [
              { id: 'a', type: 'function', function: { name: 'look', arguments: '{}' } },
              { id: SECOND_A, type: 'function', function: { name: 'listen', arguments: '{}' } },
            ],
          },
          tool('a', 'rain'),
          tool(SECOND_A, 'thunder'),
        ],
      },
      {
        name: 'text and call',
        pieces: [says('Let me look.'), calls('a'), output('a', 'rain')],
        expected: [called('Let me look.', 'a'), tool('a', 'rain')],
      },
      {
        name: 'call and text, as some clients replay them',
        pieces: [calls('a'), says('Let me look.'), output('a', 'rain')],
        expected: [called('Let me look.', 'a'), tool('a', 'rain')],
      },
      {
        name: 'reasoning, text and two calls',
        pieces: [
          thinks('Hmm.'),
          says('Let me look.'),
          calls('a'),
          thinks('And?'),
          calls('b'),
          output('a', '1'),
          output('b', '2'),
        ],
        dialect: { reasoningField: 'reasoning_content' },
        expected: [
          { ...called('Let me look.', 'a', 'b'), reasoning_content: 'Hmm.\nAnd?' },
          tool('a', '1'),
          tool('b', '2'),
        ],
      },
      {
        name: 'a call alone has no content',
        pieces: [calls('a'), output('a', 'rain')],
        expected: [called(null, 'a'), tool('a', 'rain')],
      },
    ],
    'puts the outputs directly after their calls, in call order:': [
      {
        name: 'outputs in another order',
        pieces: [calls('a'), calls('b'), output('b', '2'), output('a', '1')],
        expected: [called(null, 'a', 'b'), tool('a', '1'), tool('b', '2')],
      },
      {
        name: 'a message of the user between call and output',
        pieces: [calls('a'), user('Hurry.'), output('a', '1')],
        expected: [called(null, 'a'), tool('a', '1'), fromUser('Hurry.')],
      },
      {
        name: 'but not one that comes after the model has answered without it, which it has read',
        pieces: [calls('a'), user('Hurry.'), says('I wait.'), user('And?'), output('a', '1')],
        dialect: { userMessages: 'as-given' },
        expected: [
          called(null, 'a'),
          tool('a', NO_OUTPUT),
          fromUser('Hurry.'),
          fromAssistant('I wait.'),
          fromUser('And?'),
          orphan('a', '1'),
        ],
      },
      {
        name: 'a text of the assistant between two outputs',
        pieces: [calls('a'), calls('b'), output('a', '1'), says('Half done.'), output('b', '2')],
        expected: [called(null, 'a', 'b'), tool('a', '1'), tool('b', '2'), fromAssistant('Half done.')],
      },
      {
        name: 'an output that comes after the next call',
        pieces: [calls('a'), calls('b'), output('b', '2'), calls('c'), output('a', '1'), output('c', '3')],
        expected: [called(null, 'a', 'b'), tool('a', '1'), tool('b', '2'), called(null, 'c'), tool('c', '3')],
      },
      {
        name: 'one call after the other',
        pieces: [calls('a'), output('a', '1'), calls('b'), output('b', '2')],
        expected: [called(null, 'a'), tool('a', '1'), called(null, 'b'), tool('b', '2')],
      },
      {
        name: 'what the assistant says after an output is another turn',
        pieces: [says('Let me look.'), calls('a'), output('a', '1'), says('It is 1.')],
        expected: [called('Let me look.', 'a'), tool('a', '1'), fromAssistant('It is 1.')],
      },
    ],
    'keeps an output without its call as text of the user:': [
      {
        name: 'its call is not there',
        pieces: [user('Hi'), output('x', 'rain'), says('So.')],
        expected: [fromUser('Hi'), orphan('x', 'rain'), fromAssistant('So.')],
      },
      {
        name: 'it comes before its call',
        pieces: [output('a', 'rain'), calls('a')],
        expected: [orphan('a', 'rain'), called(null, 'a'), tool('a', NO_OUTPUT)],
      },
      {
        name: 'its call has one already',
        pieces: [calls('a'), output('a', '1'), output('a', '2')],
        expected: [called(null, 'a'), tool('a', '1'), orphan('a', '2')],
      },
      {
        name: 'it does not come between a call and its output',
        pieces: [calls('a'), output('x', 'rain'), output('a', '1')],
        expected: [called(null, 'a'), tool('a', '1'), orphan('x', 'rain')],
      },
      {
        name: 'it has images',
        pieces: [output('x', 'rain', [picture])],
        expected: [
          { role: 'user', content: [{ type: 'text', text: 'Output of an earlier tool call (x):\nrain' }, picture] },
        ],
      },
    ],
    'answers a call without an output:': [
      {
        name: 'one of two',
        pieces: [calls('a'), calls('b'), output('b', '2'), user('Go on.')],
        expected: [called(null, 'a', 'b'), tool('a', NO_OUTPUT), tool('b', '2'), fromUser('Go on.')],
      },
      {
        name: 'at the end',
        pieces: [user('Hi'), calls('a')],
        expected: [fromUser('Hi'), called(null, 'a'), tool('a', NO_OUTPUT)],
      },
      {
        name: 'before what the model said when it was asked without one',
        pieces: [says('I look.'), calls('a'), thinks('None?'), says('I cannot know.'), user('Go on.')],
        dialect: { reasoningField: 'reasoning_content' },
        expected: [
          called('I look.', 'a'),
          tool('a', NO_OUTPUT),
          { ...fromAssistant('I cannot know.'), reasoning_content: 'None?' },
          fromUser('Go on.'),
        ],
      },
      {
        name: 'but not one whose output is empty',
        pieces: [calls('a'), output('a', '')],
        expected: [called(null, 'a'), tool('a', '')],
      },
    ],
    'gives an output to the nearest earlier call with its id:': [
      {
        name: 'the id is used again in a later turn',
        pieces: [calls('a'), output('a', '1'), user('Again.'), calls('a'), output('a', '2')],
        expected: [called(null, 'a'), tool('a', '1'), fromUser('Again.'), called(null, 'a'), tool('a', '2')],
      },
      {
        name: 'the first call of that id never got one',
        pieces: [calls('a'), user('Again.'), calls('a'), output('a', '2')],
        expected: [called(null, 'a'), tool('a', NO_OUTPUT), fromUser('Again.'), called(null, 'a'), tool('a', '2')],
      },
      {
        name: 'the outputs of both come after the second',
        pieces: [calls('a'), user('Again.'), calls('a'), output('a', '2'), output('a', '1')],
        expected: [
          called(null, 'a'),
          tool('a', NO_OUTPUT),
          fromUser('Again.'),
          called(null, 'a'),
          tool('a', '2'),
          orphan('a', '1'),
        ],
      },
      {
        name: 'in one turn, equal ones are one call',
        pieces: [calls('a'), calls('a'), output('a', '1'), output('a', '2')],
        expected: [called(null, 'a'), tool('a', '1'), orphan('a', '2')],
      },
    ],
    'puts images of outputs into a message of the user after all outputs of the turn:': [
      {
        name: 'beside text',
        pieces: [calls('a'), calls('b'), output('a', 'A map:', [picture]), output('b', '2'), says('I see.')],
        expected: [
          called(null, 'a', 'b'),
          tool('a', 'A map:'),
          tool('b', '2'),
          { role: 'user', content: [{ type: 'text', text: 'From the output of look (a):' }, picture] },
          fromAssistant('I see.'),
        ],
      },
      {
        name: 'alone, with a word about them in the output',
        pieces: [calls('a'), calls('b'), output('a', '', [picture]), output('b', '', [picture, picture])],
        expected: [
          called(null, 'a', 'b'),
          tool('a', 'The output follows in the next user message.'),
          tool('b', 'The output follows in the next user message.'),
          {
            role: 'user',
            content: [
              { type: 'text', text: 'From the output of look (a):' },
              picture,
              { type: 'text', text: 'From the output of look (b):' },
              picture,
              picture,
            ],
          },
        ],
      },
    ],
    'never drops what system and developer say:': [
      {
        name: 'merged before all others, and after them where they are, as what they are',
        pieces: [system('One'), system('Two', 'developer'), user('Hi'), says('Yes?'), system('Three', 'developer')],
        expected: [
          { role: 'system', content: 'One\n\nTwo' },
          fromUser('Hi'),
          fromAssistant('Yes?'),
          fromUser(
            '[Message of the developer, which is not from the user:]\n\nThree\n\n[End of the message of the developer.]',
          ),
        ],
      },
      {
        name: 'in place',
        pieces: [system('One'), user('Hi'), system('Two', 'developer')],
        dialect: { systemPlace: 'in-place' },
        expected: [{ role: 'system', content: 'One' }, fromUser('Hi'), { role: 'system', content: 'Two' }],
      },
      {
        name: 'in place and in their own names',
        pieces: [system('One'), system('Two', 'developer')],
        dialect: { systemPlace: 'in-place', systemRole: 'as-given' },
        expected: [
          { role: 'system', content: 'One' },
          { role: 'developer', content: 'Two' },
        ],
      },
      {
        name: 'as developer',
        pieces: [system('One'), system('Two', 'developer')],
        dialect: { systemRole: 'developer' },
        expected: [{ role: 'developer', content: 'One\n\nTwo' }],
      },
      {
        name: 'merged as system, where the dialect keeps the names',
        pieces: [system('One', 'developer')],
        dialect: { systemRole: 'as-given' },
        expected: [{ role: 'system', content: 'One' }],
      },
      {
        name: 'unless it is nothing',
        pieces: [system(''), user('Hi'), system('', 'developer')],
        expected: [fromUser('Hi')],
      },
      {
        name: 'unless it is nothing, in place',
        pieces: [system(''), user('Hi')],
        dialect: { systemPlace: 'in-place' },
        expected: [fromUser('Hi')],
      },
    ],
    'gives reasoning back where the dialect has a field for it:': [
      {
        name: 'there is none',
        pieces: [thinks('Hmm.'), says('Hello')],
        dialect: { reasoningField: null },
        expected: [fromAssistant('Hello')],
      },
      {
        name: 'reasoning',
        pieces: [thinks('Hmm.'), says('Hello')],
        dialect: { reasoningField: 'reasoning' },
        expected: [{ ...fromAssistant('Hello'), reasoning: 'Hmm.' }],
      },
      {
        name: 'reasoning_content, on the message of its own turn',
        pieces: [thinks('Hmm.'), calls('a'), output('a', '1'), thinks('Aha.'), says('It is 1.')],
        dialect: { reasoningField: 'reasoning_content' },
        expected: [
          { ...called(null, 'a'), reasoning_content: 'Hmm.' },
          tool('a', '1'),
          { ...fromAssistant('It is 1.'), reasoning_content: 'Aha.' },
        ],
      },
      {
        name: 'reasoning_content, where the model has used no other field, and nothing that another has thought',
        pieces: [thinks('Hmm.'), calls('a'), output('a', '1'), thinks('Aha.', true), says('It is 1.')],
        dialect: { reasoningField: 'as-used' },
        expected: [{ ...called(null, 'a'), reasoning_content: 'Hmm.' }, tool('a', '1'), fromAssistant('It is 1.')],
      },
      {
        name: 'the field that a state of the model names, with what another has thought too',
        pieces: [
          thinks('Hmm.', true),
          calls('a'),
          output('a', '1'),
          { ...EMPTY_STATE, text: 'Aha.' },
          says('It is 1.'),
        ],
        dialect: { reasoningField: 'as-used' },
        expected: [
          { ...called(null, 'a'), reasoning: 'Hmm.' },
          tool('a', '1'),
          { ...fromAssistant('It is 1.'), reasoning: 'Aha.' },
        ],
      },
      {
        name: 'a space with each call that has none, for Kimi',
        pieces: [calls('a'), output('a', '1'), thinks('Aha.'), calls('b'), output('b', '2'), says('It is 1.')],
        dialect: { reasoningField: 'reasoning_content', reasoningAlways: 'calls' },
        expected: [
          { ...called(null, 'a'), reasoning_content: ' ' },
          tool('a', '1'),
          { ...called(null, 'b'), reasoning_content: 'Aha.' },
          tool('b', '2'),
          fromAssistant('It is 1.'),
        ],
      },
      {
        name: 'none without a word or a call beside it',
        pieces: [user('Hi'), thinks('Hmm.'), user('Well?')],
        dialect: { reasoningField: 'reasoning' },
        expected: [fromUser('Hi'), fromUser('Well?')],
      },
    ],
    'gives a refusal back:': [
      { name: 'as text', pieces: [says('Well.', 'No.')], expected: [fromAssistant('Well.\nNo.')] },
      {
        name: 'in its field',
        pieces: [says('', 'No.')],
        dialect: { refusalField: true },
        expected: [{ role: 'assistant', content: null, refusal: 'No.' }],
      },
      {
        name: 'in its field beside text',
        pieces: [says('Well.', 'No.')],
        dialect: { refusalField: true },
        expected: [{ role: 'assistant', content: 'Well.', refusal: 'No.' }],
      },
    ],
    'leaves out what says nothing:': [
      {
        name: 'an empty text of the assistant',
        pieces: [user('Hi'), says(''), user('Well?')],
        expected: [fromUser('Hi'), fromUser('Well?')],
      },
      {
        name: 'an empty text beside a call',
        pieces: [says(''), calls('a'), output('a', '1')],
        expected: [called(null, 'a'), tool('a', '1')],
      },
      { name: 'nothing at all', pieces: [], expected: [] },
    ],
  };

  for (const [rule, cases] of Object.entries(rules)) {
    for (const { name, pieces, expected, dialect } of cases) {
      it(`${rule} ${name}`, () => {
        const messages: ChatMessage[] = toMessages(pieces, {
          ...DIALECTS.generic,
          userMessages: 'as-given',
          ...dialect,
        });
        expect(messages).to.deep.equal(expected);
      });
    }
  }

  it('joins many messages of the user without copying their parts again and again', () => {
    const part = { type: 'text', text: 'a' } as const;
    const content = Array.from({ length: 80 }, () => part);
    const pieces: Piece[] = Array.from({ length: 10_000 }, () => ({ kind: 'user', content }));
    const startMs = cpuTimeMs();
    const [message, ...others] = toMessages(pieces, DIALECTS.generic);
    expect(cpuTimeMs() - startMs, 'milliseconds of CPU').to.be.below(2000);
    expect(others).to.deep.equal([]);
    expect(message?.content).to.have.length(800_000);
  });
});
