import { expect } from 'chai';
import { DIALECTS } from '../../../src/core/dialects.ts';
import { ApiError } from '../../../src/core/errors.ts';
import { toPiece, type Piece, type NoPiece } from '../../../src/core/request/items.ts';
import type { ToolRef } from '../../../src/core/request/tool-names.ts';
import type { InputItem, InputPart } from '../../../src/contract/types.ts';

const nameTowardsBackend = (tool: ToolRef) => ('name' in tool ? `${tool.namespace ?? ''}<${tool.name}>` : tool.kind);
const place = {
  path: 'input[3]',
  nameTowardsBackend,
  forms: DIALECTS.generic,
  origin: { dialect: 'generic', model: 'm' },
};

const PIXEL = 'data:image/png;base64,AAAA';
const image: InputPart = { type: 'input_image', image_url: PIXEL };
const file: InputPart = { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,AAAA' };
const audio: InputPart = { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } };
const chatImage = { type: 'image_url', image_url: { url: PIXEL } };
const chatFile = { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,AAAA' } };
const chatAudio = { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } };

const action: { type: 'exec'; command: string[] } = { type: 'exec', command: ['ls'] };

const message = (role: 'user' | 'assistant' | 'system' | 'developer', content: string | InputPart[]): InputItem => ({
  type: 'message',
  role,
  content,
});

describe('toPiece', () => {
  const cases: { name: string; item: InputItem; expected: Piece | object }[] = [
    { name: 'a text of the user', item: message('user', 'Hello'), expected: { kind: 'user', content: 'Hello' } },
    {
      name: 'text parts of the user, as plain text',
      item: message('user', [
        { type: 'input_text', text: 'One' },
        { type: 'text', text: 'Two' },
        { type: 'output_text', text: 'Three' },
      ]),
      expected: { kind: 'user', content: 'One\nTwo\nThree' },
    },
    { name: 'no part of the user', item: message('user', []), expected: { kind: 'user', content: '' } },
    {
      name: 'an image of the user beside text',
      item: message('user', [{ type: 'input_text', text: 'Look:' }, image]),
      expected: { kind: 'user', content: [{ type: 'text', text: 'Look:' }, chatImage] },
    },
    {
      name: 'an image of the user beside an empty text, which is left out',
      item: message('user', [{ type: 'input_text', text: '' }, image]),
      expected: { kind: 'user', content: [chatImage] },
    },
    { name: 'a file of the user', item: message('user', [file]), expected: { kind: 'user', content: [chatFile] } },
    {
      name: 'a file with null in the place of what it does not have',
      item: message('user', [{ ...file, file_id: null, file_url: null } as unknown as InputPart]),
      expected: { kind: 'user', content: [chatFile] },
    },
    {
      name: 'a file of the user without a name',
      item: message('user', [{ type: 'input_file', file_data: 'AAAA' }]),
      expected: { kind: 'user', content: [{ type: 'file', file: { file_data: 'AAAA' } }] },
    },
    { name: 'audio of the user', item: message('user', [audio]), expected: { kind: 'user', content: [chatAudio] } },
    ...(['low', 'high', 'auto', 'original'] as const).map((detail) => ({
      name: `an image in detail ${detail}`,
      item: message('user', [{ type: 'input_image', image_url: PIXEL, detail }]),
      expected: {
        kind: 'user',
        content: [{ type: 'image_url', image_url: { url: PIXEL, detail: detail === 'original' ? 'high' : detail } }],
      },
    })),
    {
      name: 'a text of the assistant',
      item: message('assistant', 'Hello'),
      expected: { kind: 'assistant', text: 'Hello', refusal: '' },
    },
    {
      name: 'text and refusal of the assistant',
      item: message('assistant', [
        { type: 'output_text', text: 'Well, ' },
        { type: 'output_text', text: 'hm. ' },
        { type: 'refusal', refusal: 'No.' },
      ]),
      expected: { kind: 'assistant', text: 'Well, hm. ', refusal: 'No.' },
    },
    {
      name: 'a text of the developer',
      item: message('developer', [
        { type: 'input_text', text: 'Be' },
        { type: 'input_text', text: 'brief.' },
      ]),
      expected: { kind: 'system', role: 'developer', text: 'Be\nbrief.' },
    },
    {
      name: 'a text of the system',
      item: message('system', 'Be brief.'),
      expected: { kind: 'system', role: 'system', text: 'Be brief.' },
    },
    {
      name: 'a call',
      item: {
        type: 'function_call',
        call_id: 'call_a',
        name: 'look',
        arguments: '{"x":1}',
        id: 'fc_1',
        status: 'completed',
      },
      expected: { kind: 'call', callId: 'call_a', name: '<look>', arguments: '{"x":1}' },
    },
    {
      name: 'a call of a function in a namespace',
      item: { type: 'function_call', call_id: 'call_a', name: 'look', namespace: 'ns', arguments: '{}' },
      expected: { kind: 'call', callId: 'call_a', name: 'ns<look>', arguments: '{}' },
    },
    {
      name: 'a call without arguments',
      item: { type: 'function_call', call_id: 'call_a', name: 'look', arguments: '' },
      expected: { kind: 'call', callId: 'call_a', name: '<look>', arguments: '{}' },
    },
    {
      name: 'an output',
      item: { type: 'function_call_output', call_id: 'call_a', output: 'rain' },
      expected: { kind: 'output', callId: 'call_a', text: 'rain', media: [] },
    },
    {
      name: 'an output of parts',
      item: {
        type: 'function_call_output',
        call_id: 'call_a',
        output: [{ type: 'input_text', text: 'rain' }, image, { type: 'input_text', text: 'snow' }, file],
      },
      expected: { kind: 'output', callId: 'call_a', text: 'rain\nsnow', media: [chatImage, chatFile] },
    },
    {
      name: 'an output of a call that nobody names, as a text of the user',
      item: { type: 'function_call_output', output: 'rain' },
      expected: { kind: 'user', content: 'Output of an earlier tool call:\nrain' },
    },
    {
      name: 'an output of a tool, with an image, as a text of the user',
      item: { type: 'function_call_output', name: 'look', output: [{ type: 'input_text', text: 'rain' }, image] },
      expected: { kind: 'user', content: [{ type: 'text', text: 'Output of the tool look:\nrain' }, chatImage] },
    },
    {
      name: 'a message of another agent',
      item: {
        type: 'agent_message',
        author: '/main',
        recipient: '/main/sub',
        content: [
          { type: 'input_text', text: 'Payload:' },
          { type: 'encrypted_content', encrypted_content: 'Look.' },
        ],
      },
      expected: { kind: 'user', content: 'Payload:\nLook.' },
    },
    {
      name: 'a message of another agent with an image',
      item: { type: 'agent_message', content: [{ type: 'encrypted_content', encrypted_content: 'Look.' }, image] },
      expected: { kind: 'user', content: [{ type: 'text', text: 'Look.' }, chatImage] },
    },
    {
      name: 'an output of no part',
      item: { type: 'function_call_output', call_id: 'call_a', output: [] },
      expected: { kind: 'output', callId: 'call_a', text: '', media: [] },
    },
    {
      name: 'reasoning, by its summary',
      item: {
        type: 'reasoning',
        summary: [
          { type: 'summary_text', text: 'One' },
          { type: 'summary_text', text: 'Two' },
        ],
      },
      expected: { kind: 'reasoning', text: 'One\nTwo', isForeign: true },
    },
    {
      name: 'reasoning, by its content when it has any',
      item: {
        type: 'reasoning',
        summary: [{ type: 'summary_text', text: 'Short' }],
        content: [{ type: 'reasoning_text', text: 'Long' }],
      },
      expected: { kind: 'reasoning', text: 'Long', isForeign: true },
    },
    {
      name: 'reasoning with empty content, by its summary',
      item: { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Short' }], content: [] },
      expected: { kind: 'reasoning', text: 'Short', isForeign: true },
    },
    ...[
      { form: 'content that is a text', content: 'Long', text: 'Long' },
      { form: 'content of texts', content: ['One', 'Two'], text: 'One\nTwo' },
      { form: 'content of unknown parts with a text', content: [{ type: 'thinking', text: 'Long' }], text: 'Long' },
      { form: 'a summary that is a text', summary: 'Short', text: 'Short' },
      { form: 'a summary of texts', summary: ['One', 'Two'], text: 'One\nTwo' },
      {
        form: 'a summary beside unreadable content',
        summary: ['Short'],
        content: [7, null, { data: 'x' }],
        text: 'Short',
      },
      { form: 'a part in the place of parts', content: { type: 'text', text: 'Long' }, text: 'Long' },
      { form: 'parts that cannot be read among others', content: [{ text: 1 }, null, 'Long'], text: 'Long' },
      { form: 'nothing that can be read', summary: 7, content: { parts: [] }, text: '' },
    ].map(({ form, text, ...fields }) => ({
      name: `reasoning with ${form}`,
      item: { type: 'reasoning' as const, ...fields },
      expected: { kind: 'reasoning', text, isForeign: true },
    })),
    {
      name: 'reasoning of a reply that is known by its id',
      item: {
        type: 'reasoning',
        id: 'rs_0123456789abcdef0123456789abcdef0000',
        summary: [{ type: 'summary_text', text: 'Hm' }],
      },
      expected: { kind: 'reasoning', text: 'Hm', reply: '0123456789abcdef0123456789abcdef' },
    },
    {
      name: 'reasoning of which nothing is readable',
      item: { type: 'reasoning', encrypted_content: 'gAAAA' },
      expected: { kind: 'reasoning', text: '', isForeign: true },
    },
    {
      name: 'a command whose id is that of the item',
      item: { type: 'local_shell_call', id: 'lsh_1', action },
      expected: { kind: 'call', callId: 'lsh_1', name: 'local_shell', arguments: '{"command":["ls"]}' },
    },
    {
      name: 'what a command said, whose id is that of the item',
      item: { type: 'local_shell_call_output', id: 'lsh_1', output: 'a.md' },
      expected: { kind: 'output', callId: 'lsh_1', text: 'a.md', media: [] },
    },
    {
      name: 'what a command without an id said',
      item: { type: 'local_shell_call_output', output: 'a.md' },
      expected: { kind: 'user', content: 'Output of an earlier tool call:\na.md' },
    },
  ];
  for (const { name, item, expected } of cases) {
    it(`reads ${name}`, () => {
      expect(toPiece(item, place)).to.deep.equal(expected);
    });
  }

  const untold: { name: string; item: InputItem; becomes: NoPiece }[] = [
    { name: 'a command without an id', item: { type: 'local_shell_call', action }, becomes: 'left out' },
    { name: 'a search by the server', item: { type: 'tool_search_call', arguments: {} }, becomes: 'left out' },
    { name: 'what the server found', item: { type: 'tool_search_output', tools: [] }, becomes: 'left out' },
    { name: 'an update', item: { type: 'configuration_update', reasoning: { effort: 'low' } }, becomes: 'folded' },
    { name: 'tools', item: { type: 'additional_tools', tools: [] }, becomes: 'folded' },
    { name: 'a trigger', item: { type: 'compaction_trigger' }, becomes: 'folded' },
    ...['mcp_list_tools', 'constructor', '__proto__', 'MESSAGE', 'message '].map((type) => ({
      name: `the type "${type}"`,
      item: { type, role: 'user', content: 'Hi' } as unknown as InputItem,
      becomes: 'left out' as const,
    })),
  ];
  for (const { name, item, becomes } of untold) {
    it(`tells the model nothing of ${name}, which is ${becomes}`, () => {
      expect(toPiece(item, place)).to.equal(becomes);
    });
  }

  const text: InputPart = { type: 'input_text', text: 'a' };
  const refused: { name: string; item: InputItem; code: string; param: string }[] = [
    {
      name: 'a pointer to a stored item',
      item: { type: 'item_reference', id: 'msg_1' },
      code: 'unsupported_parameter',
      param: 'input[3]',
    },
    {
      name: 'a stored image',
      item: message('user', [{ type: 'input_image', file_id: 'file_1' }]),
      code: 'unsupported_parameter',
      param: 'input[3].content[0].file_id',
    },
    {
      name: 'an image that is not there',
      item: message('user', [{ type: 'input_image' }]),
      code: 'missing_required_parameter',
      param: 'input[3].content[0].image_url',
    },
    {
      name: 'a stored file',
      item: message('user', [text, { type: 'input_file', file_id: 'file_1' }]),
      code: 'unsupported_parameter',
      param: 'input[3].content[1].file_id',
    },
    {
      name: 'a file to be fetched',
      item: message('user', [{ type: 'input_file', file_url: 'https://example.com/a.pdf' }]),
      code: 'unsupported_parameter',
      param: 'input[3].content[0].file_url',
    },
    {
      name: 'a file that is not there',
      item: message('user', [{ type: 'input_file', filename: 'a.pdf' }]),
      code: 'missing_required_parameter',
      param: 'input[3].content[0].file_data',
    },
    {
      name: 'a stored file in an output',
      item: { type: 'function_call_output', call_id: 'a', output: [image, { type: 'input_file', file_id: 'file_1' }] },
      code: 'unsupported_parameter',
      param: 'input[3].output[1].file_id',
    },
    {
      name: 'an empty image',
      item: message('user', [{ type: 'input_image', image_url: '' }]),
      code: 'invalid_request',
      param: 'input[3].content[0].image_url',
    },
    ...(['system', 'developer', 'assistant'] as const).flatMap((role) =>
      [image, file, audio].map((part) => ({
        name: `${part.type} in a message of the ${role}`,
        item: message(role, [text, part]),
        code: 'unsupported_parameter',
        param: 'input[3].content[1]',
      })),
    ),
  ];
  for (const { name, item, code, param } of refused) {
    it(`refuses ${name}`, () => {
      expect(() => toPiece(item, place))
        .to.throw(ApiError)
        .that.deep.includes({ code, param, status: 400 });
    });
  }

  it('takes arguments out of a string in a string', () => {
    const item = { type: 'function_call', call_id: 'c', name: 'look' } as const;
    const given = '{"a":"x\\"y"}';
    expect(toPiece({ ...item, arguments: JSON.stringify(given) }, place)).to.have.property('arguments', given);
    for (const other of ['"text"', '"[1]"', '"{"', JSON.stringify(JSON.stringify(given))])
      expect(toPiece({ ...item, arguments: other }, place)).to.have.property(
        'arguments',
        JSON.stringify({ unreadable_arguments: other }),
      );
  });

  it('takes arguments for text that have too much to be parsed', () => {
    const huge = `{"a":[${'[],'.repeat(100_000)}[]]}`;
    const piece = toPiece({ type: 'function_call', call_id: 'c', name: 'look', arguments: huge }, place);
    expect(piece).to.have.property('arguments', JSON.stringify({ unreadable_arguments: huge }));
  });
});
