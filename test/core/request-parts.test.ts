import { expect } from 'chai';
import { ApiError } from '../../src/core/errors.ts';
import type { CreateResponse } from '../../src/contract/types.ts';
import { askedOf } from '../support/conversation.ts';
import type { MachineSettings } from '../support/machine.ts';

const PIXEL = 'data:image/png;base64,AAAA';
const PDF = 'data:application/pdf;base64,AAAA';

/** What the backend is asked with this input, as a client sends it: not checked by the compiler. */
function messagesOf(input: readonly object[], settings: MachineSettings = { dialect: 'openai' }): readonly object[] {
  return askedOf({ model: 'm', input } as unknown as CreateResponse, settings).messages;
}

const called = (...ids: string[]) => ({
  role: 'assistant',
  content: null,
  tool_calls: ids.map((id) => ({ id, type: 'function', function: { name: 'look', arguments: '{}' } })),
});
const call = (id: string) => ({ type: 'function_call', call_id: id, name: 'look', arguments: '{}' });
const text = (value: string) => ({ type: 'input_text', text: value });
const image = (fields: object = {}) => ({ type: 'input_image', image_url: PIXEL, ...fields });
const file = { type: 'input_file', filename: 'a.pdf', file_data: PDF };
const audio = { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } };
const chatImage = { type: 'image_url', image_url: { url: PIXEL } };
const chatFile = { type: 'file', file: { filename: 'a.pdf', file_data: PDF } };

interface Case {
  readonly name: string;
  readonly input: readonly object[];
  readonly expected: readonly object[];
  readonly settings?: MachineSettings;
}

const RULES: Readonly<Record<string, readonly Case[]>> = {
  'what the user shows': [
    {
      name: 'an image in each detail, of which the chat format knows three',
      input: [
        {
          role: 'user',
          content: [undefined, null, 'low', 'high', 'auto', 'original'].map((detail) => image({ detail })),
        },
      ],
      expected: [
        {
          role: 'user',
          content: [
            chatImage,
            chatImage,
            ...['low', 'high', 'auto', 'high'].map((detail) => ({
              type: 'image_url',
              image_url: { url: PIXEL, detail },
            })),
          ],
        },
      ],
    },
    {
      name: 'text, an image, a file and audio, in their order',
      input: [{ role: 'user', content: [text('One'), image(), text(''), file, audio, text('Two')] }],
      expected: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'One' },
            chatImage,
            chatFile,
            { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } },
            { type: 'text', text: 'Two' },
          ],
        },
      ],
    },
    {
      name: 'a file with null in the place of what it does not have',
      input: [{ role: 'user', content: [{ ...file, file_id: null, file_url: null }] }],
      expected: [{ role: 'user', content: [chatFile] }],
    },
  ],
  'what tools bring': [
    {
      name: 'texts, as one text',
      input: [call('a'), { type: 'function_call_output', call_id: 'a', output: [text('Output:'), text('rain')] }],
      expected: [called('a'), { role: 'tool', tool_call_id: 'a', content: 'Output:\nrain' }],
    },
    {
      name: 'nothing, as an empty text',
      input: [call('a'), { type: 'function_call_output', call_id: 'a', output: [] }],
      expected: [called('a'), { role: 'tool', tool_call_id: 'a', content: '' }],
    },
    {
      name: 'images and files of several tools, after all outputs of the turn, with the call that each is from',
      input: [
        call('a'),
        call('b'),
        { type: 'function_call_output', call_id: 'b', output: [file, text('a page')] },
        { type: 'function_call_output', call_id: 'a', output: [image({ detail: 'original' })] },
      ],
      expected: [
        called('a', 'b'),
        { role: 'tool', tool_call_id: 'a', content: 'The output follows in the next user message.' },
        { role: 'tool', tool_call_id: 'b', content: 'a page' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'From the output of look (a):' },
            { type: 'image_url', image_url: { url: PIXEL, detail: 'high' } },
            { type: 'text', text: 'From the output of look (b):' },
            chatFile,
          ],
        },
      ],
    },
    {
      name: 'an image of a custom tool',
      input: [
        { type: 'custom_tool_call', call_id: 'a', name: 'look', input: 'up' },
        { type: 'custom_tool_call_output', call_id: 'a', output: [text('Seen:'), image()] },
      ],
      expected: [
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: 'a', type: 'function', function: { name: 'look', arguments: '{"input":"up"}' } }],
        },
        { role: 'tool', tool_call_id: 'a', content: 'Seen:' },
        { role: 'user', content: [{ type: 'text', text: 'From the output of look (a):' }, chatImage] },
      ],
    },
    {
      name: 'an image, in front of what the user says next, as one message where two would be refused',
      input: [
        call('a'),
        { type: 'function_call_output', call_id: 'a', output: [image()] },
        { role: 'user', content: 'And?' },
      ],
      settings: { dialect: 'generic' },
      expected: [
        called('a'),
        { role: 'tool', tool_call_id: 'a', content: 'The output follows in the next user message.' },
        {
          role: 'user',
          content: [{ type: 'text', text: 'From the output of look (a):' }, chatImage, { type: 'text', text: 'And?' }],
        },
      ],
    },
  ],
  'what the assistant has said': [
    {
      name: 'a refusal, where it has a field',
      input: [{ role: 'assistant', content: [{ type: 'refusal', refusal: 'No.' }] }],
      expected: [{ role: 'assistant', content: null, refusal: 'No.' }],
    },
    {
      name: 'a refusal, as text elsewhere',
      input: [
        {
          role: 'assistant',
          content: [
            { type: 'output_text', text: 'Hm.' },
            { type: 'refusal', refusal: 'No.' },
          ],
        },
      ],
      settings: { dialect: 'vllm' },
      expected: [{ role: 'assistant', content: 'Hm.\nNo.' }],
    },
    {
      name: 'in phases, which the chat format has no place for',
      input: [
        { role: 'assistant', phase: 'commentary', content: [{ type: 'output_text', text: 'I look.' }] },
        call('a'),
        { type: 'function_call_output', call_id: 'a', output: 'rain' },
        { role: 'assistant', phase: 'final_answer', content: 'Rain.' },
      ],
      expected: [
        { ...called('a'), content: 'I look.' },
        { role: 'tool', tool_call_id: 'a', content: 'rain' },
        { role: 'assistant', content: 'Rain.' },
      ],
    },
    {
      name: 'with annotations and log probabilities, which are not sent again',
      input: [
        {
          type: 'message',
          id: 'msg_1',
          role: 'assistant',
          status: 'completed',
          content: [{ type: 'output_text', text: 'Hi', annotations: [{ type: 'url_citation' }], logprobs: [] }],
        },
      ],
      expected: [{ role: 'assistant', content: 'Hi' }],
    },
  ],
};

const REFUSED: readonly { name: string; input: readonly object[]; code: string; param: string; says: RegExp }[] = [
  {
    name: 'a reference to an item',
    input: [{ type: 'item_reference', id: 'msg_1' }],
    code: 'unsupported_parameter',
    param: 'input[0]',
    says: /"store": false/,
  },
  {
    name: 'a file by its URL',
    input: [{ role: 'user', content: [{ type: 'input_file', file_url: 'https://example.com/a.pdf' }] }],
    code: 'unsupported_parameter',
    param: 'input[0].content[0].file_url',
    says: /file_data/,
  },
  {
    name: 'an image by its id',
    input: [{ role: 'user', content: [{ type: 'input_image', file_id: 'file-1' }] }],
    code: 'unsupported_parameter',
    param: 'input[0].content[0].file_id',
    says: /image_url/,
  },
  {
    name: 'an empty image',
    input: [{ role: 'user', content: [{ type: 'input_image', image_url: '' }] }],
    code: 'invalid_request',
    param: 'input[0].content[0].image_url',
    says: /must not be empty/,
  },
  {
    name: 'a null for an image, after the last answer',
    input: [
      { role: 'assistant', content: 'Hi' },
      { role: 'user', content: [{ type: 'input_image', image_url: null }] },
    ],
    code: 'missing_required_parameter',
    param: 'input[1].content[0].image_url',
    says: /missing/,
  },
  {
    name: 'an image in no detail that there is',
    input: [{ role: 'user', content: [image({ detail: 'huge' })] }],
    code: 'invalid_request',
    param: 'input[0].content[0].detail',
    says: /low, high, auto, original/,
  },
  {
    name: 'audio without its format',
    input: [{ role: 'user', content: [{ type: 'input_audio', input_audio: { data: 'AAAA' } }] }],
    code: 'missing_required_parameter',
    param: 'input[0].content[0].input_audio.format',
    says: /missing/,
  },
  {
    name: 'an output that is neither text nor a list',
    input: [call('a'), { type: 'function_call_output', call_id: 'a', output: { text: 'rain' } }],
    code: 'invalid_request',
    param: 'input[1].output',
    says: /string or an array/,
  },
];

describe('the parts of a conversation', () => {
  for (const [rule, cases] of Object.entries(RULES)) {
    describe(rule, () => {
      for (const { name, input, expected, settings } of cases) {
        it(`is told: ${name}`, () => {
          expect(messagesOf(input, settings)).to.deep.equal(expected);
        });
      }
    });
  }

  for (const { name, input, code, param, says } of REFUSED) {
    it(`cannot be ${name}`, () => {
      expect(() => messagesOf(input))
        .to.throw(ApiError, says)
        .which.includes({ code, param });
    });
  }
});
