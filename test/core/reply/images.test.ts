import { expect } from 'chai';
import type { CreateResponse } from '../../../src/contract/types.ts';
import { chunkFromCompletion } from '../../../src/core/reply/completion.ts';
import { askedOf, goOn } from '../../support/conversation.ts';
import { chunkOf, translate } from '../../support/machine.ts';
import { expectWellFormed } from '../../support/well-formed.ts';

const REQUEST: CreateResponse = { model: 'm', input: 'Draw a cat.' };
const PNG = 'data:image/png;base64,AAAA';
const image = (url: string) => ({ type: 'image_url', index: 0, image_url: { url } });
const made = (result: string, format = 'png') => ({
  type: 'image_generation_call',
  status: 'completed',
  result,
  output_format: format,
});

function read(deltas: readonly object[]) {
  const chunks = [...deltas.map((delta) => chunkOf(delta)), chunkOf({}, 'stop')];
  return expectWellFormed(translate({ chunks, done: true }, REQUEST)).output;
}

const shapesOf = (output: readonly object[]) =>
  output.map((item) => {
    const { id: _id, content, ...rest } = item as { id: string; content?: readonly { text: string }[] };
    return content === undefined ? rest : content.map(({ text }) => text).join('');
  });

describe('an image that the model makes', () => {
  it('is an item between the texts at its sides', () => {
    const output = read([{ content: 'Here: ' }, { content: '', images: [image(PNG)] }, { content: 'Nice?' }]);
    expect(shapesOf(output)).to.deep.equal(['Here: ', made('AAAA'), 'Nice?']);
    expect(output[1]?.id).to.match(/^ig_/);
  });

  it('is an item in JSON too, one for each image', () => {
    const message = { content: 'Two.', images: [image(PNG), image('data:image/webp;base64,BBBB')] };
    const chunk = chunkFromCompletion({ choices: [{ index: 0, message, finish_reason: 'stop' }] });
    const { output } = expectWellFormed(translate({ chunks: [chunk], done: true }, REQUEST));
    expect(shapesOf(output)).to.deep.equal(['Two.', made('AAAA'), made('BBBB', 'webp')]);
  });

  it('comes with an empty message where nothing else is said, since clients would ask again', () => {
    expect(shapesOf(read([{ images: [image(PNG)] }]))).to.deep.equal([made('AAAA'), '']);
  });

  it('is text where it is told by its URL', () => {
    expect(shapesOf(read([{ images: [image('https://example.com/a.png')] }]))).to.deep.equal([
      '![image](https://example.com/a.png)',
    ]);
  });

  for (const images of [null, 'x', [null], [{}], [{ image_url: PNG }], [{ image_url: { url: '' } }]]) {
    it(`is not there in ${JSON.stringify(images)}`, () => {
      expect(shapesOf(read([{ content: 'Hi', images }]))).to.deep.equal(['Hi']);
    });
  }

  it('is shown to the model again in the next request', () => {
    const { messages } = askedOf(goOn(REQUEST, read([{ content: 'Here.', images: [image(PNG)] }])));
    expect(JSON.stringify(messages.at(-1))).to.include(JSON.stringify({ url: PNG }));
  });

  it('is too much where it is larger than a reply may be', () => {
    const large = `data:image/png;base64,${'A'.repeat(8 * 1024 * 1024)}`;
    const events = translate({ chunks: [chunkOf({ images: [image(large)] }, 'stop')], done: true }, REQUEST);
    expect(expectWellFormed(events)).to.have.nested.property('error.code', 'upstream_invalid_response');
  });
});
