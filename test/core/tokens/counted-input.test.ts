import { expect } from 'chai';
import type { ChatRequest } from '../../../src/core/chat.ts';
import { countedInputOf } from '../../../src/core/tokens/counted-input.ts';

describe('countedInputOf', () => {
  const cases: { name: string; chat: Partial<ChatRequest>; texts: string[]; media?: number }[] = [
    { name: 'a text', chat: { messages: [{ role: 'user', content: 'Hello' }] }, texts: ['Hello'] },
    {
      name: 'text parts, and images and files at a constant',
      chat: {
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: 'What is this?' },
              { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
              { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,AAAA' } },
            ],
          },
        ],
      },
      texts: ['What is this?'],
      media: 2,
    },
    {
      name: 'all that an assistant has said, thought and called',
      chat: {
        messages: [
          { role: 'system', content: 'Be brief.' },
          {
            role: 'assistant',
            content: [
              { type: 'thinking', thinking: [{ type: 'text', text: 'Hm.' }] },
              { type: 'text', text: 'Let me see.' },
            ],
            reasoning_content: 'first',
            reasoning: 'second',
            refusal: 'No.',
            tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'look', arguments: '{"at":1}' } }],
          },
          { role: 'assistant', content: null },
          { role: 'tool', tool_call_id: 'call_1', content: 'Rain' },
        ],
      },
      texts: ['Be brief.', 'Hm.', 'Let me see.', 'first', 'second', 'No.', 'look', '{"at":1}', 'Rain'],
    },
    {
      name: 'tools and the schema of the answer',
      chat: {
        messages: [{ role: 'user', content: 'Hello' }],
        tools: [
          { type: 'function', function: { name: 'look', description: 'Looks.', parameters: { type: 'object' } } },
        ],
        response_format: { type: 'json_schema', json_schema: { name: 'answer', schema: {} } },
      },
      texts: [
        'Hello',
        '{"name":"look","description":"Looks.","parameters":{"type":"object"}}',
        '{"type":"json_schema","json_schema":{"name":"answer","schema":{}}}',
      ],
    },
  ];
  for (const { name, chat, texts, media = 0 } of cases) {
    it(`takes ${name}`, () => {
      const messages = chat.messages ?? [];
      const counted = countedInputOf({ ...chat, messages });
      expect(counted.texts).to.deep.equal(texts);
      expect(counted.otherTokens).to.equal(messages.length * 4 + 3 + media * 1000);
    });
  }
});
