import { expect } from 'chai';
import { createThinkTagSplitter, thinkTagsFor } from '../../../src/core/reply/think-tags.ts';
import type { ChatChunk } from '../../../src/core/chat.ts';
import type { CreateResponse } from '../../../src/contract/types.ts';
import type { DialectName } from '../../../src/core/dialects.ts';
import { chunkOf, translate } from '../../support/machine.ts';
import { splitAll } from '../../support/split-all.ts';

const THINK_TAGS = thinkTagsFor(true, { model: 'm' });

describe('createThinkTagSplitter', () => {
  const cases = [
    { name: 'a leading block', text: '<think>Hmm.</think>Hello', reasoning: 'Hmm.', answer: 'Hello' },
    {
      name: 'white space around the tags',
      text: '\n <think>\n Hmm. \n</think>\n\nHello\n',
      reasoning: 'Hmm. \n',
      answer: 'Hello\n',
    },
    { name: 'no block', text: 'Hello', reasoning: '', answer: 'Hello' },
    { name: 'leading white space and no block', text: '\n\n Hello', reasoning: '', answer: '\n\n Hello' },
    { name: 'white space alone', text: ' \n', reasoning: '', answer: ' \n' },
    {
      name: 'a tag in the middle, which the model speaks of',
      text: 'Use <think>this</think>.',
      reasoning: '',
      answer: 'Use <think>this</think>.',
    },
    {
      name: 'a second block',
      text: '<think>a</think>b<think>c</think>d',
      reasoning: 'a',
      answer: 'b<think>c</think>d',
    },
    { name: 'an opening tag within the block', text: '<think>a<think>b</think>c', reasoning: 'a<think>b', answer: 'c' },
    { name: 'an empty block', text: '<think></think>Hello', reasoning: '', answer: 'Hello' },
    { name: 'a block that is never closed', text: '<think>Hmm', reasoning: 'Hmm', answer: '' },
    { name: 'a block that ends within its closing tag', text: '<think>Hmm</thi', reasoning: 'Hmm</thi', answer: '' },
    { name: 'something like a closing tag', text: '<think>a </thin b</think>c', reasoning: 'a </thin b', answer: 'c' },
    { name: 'half a closing tag before the whole one', text: '<think>a</th</think>c', reasoning: 'a</th', answer: 'c' },
    { name: 'nothing but the beginning of the tag', text: '<thin', reasoning: '', answer: '<thin' },
    { name: 'another tag', text: '<thinking>a</thinking>', reasoning: '', answer: '<thinking>a</thinking>' },
    {
      name: 'a closing tag without an opening one',
      text: 'Hmm.</think>Hello',
      reasoning: '',
      answer: 'Hmm.</think>Hello',
    },
    { name: 'nothing', text: '', reasoning: '', answer: '' },
    {
      name: 'more leading white space than a template writes',
      text: `${' '.repeat(257)}<think>a</think>b`,
      reasoning: '',
      answer: `${' '.repeat(257)}<think>a</think>b`,
    },
  ];

  for (const { name, text, reasoning, answer } of cases) {
    it(`splits ${name}, wherever it is cut`, () => {
      expect(splitAll([text])).to.deep.equal({ reasoning, answer });
      expect(splitAll(text.split('')), 'letter by letter').to.deep.equal({ reasoning, answer });
      for (let cut = 1; cut < text.length; cut += 1) {
        expect(splitAll([text.slice(0, cut), text.slice(cut)]), `cut at ${cut}`).to.deep.equal({ reasoning, answer });
      }
    });
  }

  for (const { name, text, reasoning, answer } of [
    { name: 'a block that the template opened', text: 'Hmm.\n</think>\n\nHello', reasoning: 'Hmm.\n', answer: 'Hello' },
    { name: 'a tag that the model repeats', text: '\n<think>\nHmm.</think>Hello', reasoning: 'Hmm.', answer: 'Hello' },
    { name: 'a block that stays empty', text: '\n</think>Hello', reasoning: '', answer: 'Hello' },
    { name: 'a later tag', text: 'a<think>b</think>c</think>', reasoning: 'a<think>b', answer: 'c</think>' },
    { name: 'an end within the closing tag', text: 'Hmm.</thi', reasoning: 'Hmm.</thi', answer: '' },
    { name: 'an end within the opening tag', text: '<thi', reasoning: '<thi', answer: '' },
  ]) {
    it(`splits ${name}, wherever it is cut`, () => {
      for (let cut = 0; cut < text.length; cut += 1) {
        const pieces = [text.slice(0, cut), text.slice(cut)];
        expect(splitAll(pieces, 'opened'), `cut at ${cut}`).to.deep.equal({ reasoning, answer });
      }
      expect(splitAll(text.split(''), 'opened')).to.deep.equal({ reasoning, answer });
    });
  }

  describe('looks for', () => {
    for (const [open, close, model, elsewhere] of [
      ['[THINK]', '[/THINK]', 'm', 'nowhere'],
      ['<seed:think>', '</seed:think>', 'm', 'nowhere'],
      ['◁think▷', '◁/think▷', 'm', 'nowhere'],
      ['<thought>', '</thought>', 'exaone-deep:7.8b', 'everywhere'],
      ['<reasoning>', '</reasoning>', 'openai.gpt-oss-120b-1:0', 'everywhere'],
      ['<thinking>', '</thinking>', 'bedrock/us.amazon.nova-pro-v1:0', 'everywhere'],
    ] as const) {
      const text = `\n${open}\nHmm </think>${close.slice(0, -1)}.${close}\nHello ${open}`;
      const split = { reasoning: `Hmm </think>${close.slice(0, -1)}.`, answer: `Hello ${open}` };

      it(`${open} of ${model}, wherever it is cut`, () => {
        for (let cut = 0; cut < text.length; cut += 1) {
          expect(splitAll([text.slice(0, cut), text.slice(cut)], true, model), `cut at ${cut}`).to.deep.equal(split);
        }
        expect(splitAll(text.split(''), true, model), 'letter by letter').to.deep.equal(split);
      });

      it(`${open} ${elsewhere} where the dialect knows no tags`, () => {
        const expected = elsewhere === 'everywhere' ? split : { reasoning: '', answer: text };
        expect(splitAll([text], false, model)).to.deep.equal(expected);
      });
    }

    for (const text of ['<thought>a</thought>b', '<reasoning>a</reasoning>b', '<thinking>a</thinking>b']) {
      for (const model of ['m', 'openai/gpt-oss-120b', 'EXAONE-4.0-32B', 'supernova']) {
        it(`no words of others in ${text} of ${model}`, () => {
          expect(splitAll([text], true, model)).to.deep.equal({ reasoning: '', answer: text });
        });
      }
    }

    for (const text of [
      'Use [THINK]this[/THINK].',
      '`[THINK]` is a token.',
      '[THINKING] a [/THINK] b',
      '<seed:thinker>',
    ]) {
      it(`no tag in ${text}`, () => {
        expect(splitAll([text])).to.deep.equal({ reasoning: '', answer: text });
      });
    }
  });

  it('holds back no more than could be a tag', () => {
    const splitter = createThinkTagSplitter(THINK_TAGS);
    expect(splitter.split('<think>abc</t')).to.deep.equal([{ kind: 'reasoning', text: 'abc' }]);
    expect(splitter.split('x')).to.deep.equal([{ kind: 'reasoning', text: '</tx' }]);
  });

  describe('release', () => {
    it('gives back the beginning of a tag as text, after which no block can begin', () => {
      const splitter = createThinkTagSplitter(THINK_TAGS);
      splitter.split('\n<th');
      expect(splitter.release()).to.deep.equal([{ kind: 'text', text: '\n<th' }]);
      expect(splitter.split('<think>a')).to.deep.equal([{ kind: 'text', text: '<think>a' }]);
    });

    it('gives back the beginning of a closing tag as reasoning, which goes on', () => {
      const splitter = createThinkTagSplitter(THINK_TAGS);
      splitter.split('<think>a</th');
      expect(splitter.release()).to.deep.equal([{ kind: 'reasoning', text: '</th' }]);
      expect(splitter.split('b</think>c')).to.deep.equal([
        { kind: 'reasoning', text: 'b' },
        { kind: 'text', text: 'c' },
      ]);
    });

    for (const before of ['', '<think>', '<think>a', '<think>a</think>', '<think>a</think> b', 'b']) {
      it(`gives nothing after ${JSON.stringify(before)}, and changes nothing`, () => {
        const splitter = createThinkTagSplitter(THINK_TAGS);
        const pieces = splitter.split(before);
        expect(splitter.release()).to.deep.equal([]);
        pieces.push(...splitter.split('<think>x</think>y'), ...splitter.release());
        const joined = (kind: string) =>
          pieces
            .filter((piece) => piece.kind === kind)
            .map(({ text }) => text)
            .join('');
        const whole = splitAll([`${before}<think>x</think>y`]);
        expect({ reasoning: joined('reasoning'), answer: joined('text') }).to.deep.equal(whole);
      });
    }
  });
});

describe('a block that the template opened', () => {
  const read = (chunks: readonly ChatChunk[], request: Partial<CreateResponse> = {}, dialect: DialectName = 'vllm') => {
    const events = translate(
      { chunks, done: true },
      { model: 'm', input: '', ...request },
      { dialect, thinkTags: 'opened' },
    );
    const last = events.at(-1);
    if (last?.type !== 'response.completed' && last?.type !== 'response.incomplete') return expect.fail(last?.type);
    return last.response.output.map((item) => {
      if (item.type === 'message') return item.content.map((part) => (part.type === 'output_text' ? part.text : ''));
      return item.type === 'reasoning' ? item.summary.map(({ text }) => `thought: ${text}`) : item.type;
    });
  };
  const call = { index: 0, id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } };
  const tools: CreateResponse['tools'] = [{ type: 'function', name: 'f', parameters: {}, strict: false }];

  it('is reasoning', () => {
    const chunks = [chunkOf({ content: 'Hm' }), chunkOf({ content: 'm.</think>' }), chunkOf({ content: 'Hi' }, 'stop')];
    expect(read(chunks)).to.deep.equal([['thought: Hmm.'], ['Hi']]);
  });

  it('stays reasoning when the answer is cut', () => {
    expect(read([chunkOf({ content: 'Hmm.' }, 'length')])).to.deep.equal([['thought: Hmm.']]);
  });

  it('stays reasoning before a call', () => {
    const chunks = [chunkOf({ content: 'Hmm.' }), chunkOf({ tool_calls: [call] }, 'tool_calls')];
    expect(read(chunks, { tools })).to.deep.equal([['thought: Hmm.'], 'function_call']);
  });

  it('is also the answer when the model ends by itself without closing it', () => {
    expect(read([chunkOf({ content: '{"a":' }), chunkOf({ content: '1}' }, 'stop')])).to.deep.equal([
      ['thought: {"a":1}'],
      ['{"a":1}'],
    ]);
  });

  it('is no answer when the model opened it again, or closed it', () => {
    expect(read([chunkOf({ content: '<think>Hmm.' }, 'stop')])).to.deep.equal([['thought: Hmm.'], ['']]);
    expect(read([chunkOf({ content: 'Hmm.</think>\n' }, 'stop')])).to.deep.equal([['thought: Hmm.'], ['']]);
  });

  it('is also the answer when it only begins as one of another model', () => {
    const text = '[THINK] is a token of Mistral.';
    expect(read([chunkOf({ content: text.slice(0, 9) }), chunkOf({ content: text.slice(9) }, 'stop')])).to.deep.equal([
      ['thought: is a token of Mistral.'],
      [text],
    ]);
  });

  for (const [name, dialect, request] of [
    ['the effort none', 'generic', { reasoning: { effort: 'none' } }],
    ['a switch of the template', 'vllm', { reasoning: { effort: 'none' } }],
    ["a caller's switch", 'vllm', { chat_template_kwargs: { thinking: false } }],
  ] as const) {
    it(`is not expected with ${name}`, () => {
      const chunks = [chunkOf({ content: 'Hi' }, 'stop')];
      expect(read(chunks, request as Partial<CreateResponse>, dialect)).to.deep.equal([['Hi']]);
    });
  }
});
