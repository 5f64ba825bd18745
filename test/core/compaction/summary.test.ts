import { expect } from 'chai';
import { ApiError } from '../../../src/core/errors.ts';
import { readSummary, summaryOf } from '../../../src/core/compaction/summary.ts';
import { thinkTagsFor } from '../../../src/core/reply/think-tags.ts';
import type { ChatChunk } from '../../../src/core/chat.ts';
import { chunkOf, TEST_UNIQUE } from '../../support/machine.ts';

function read(chunks: readonly ChatChunk[], { thinkTags = false } = {}): string {
  const summary = readSummary({
    model: 'm',
    unique: TEST_UNIQUE,
    thinkTags: thinkTagsFor(thinkTags, { model: 'm' }),
    nowS: () => 0,
  });
  summary.feed(chunks);
  summary.end(true);
  return summaryOf(summary);
}

describe('a summary', () => {
  it('is the text of the answer', () => {
    expect(read([chunkOf({ content: '\nIt went' }), chunkOf({ content: ' well.\n\n' }, 'stop')])).to.equal(
      'It went well.',
    );
  });

  it('has no thoughts in it', () => {
    const chunks = [chunkOf({ reasoning_content: 'Hm.' }), chunkOf({ content: '<think>So</think>Well.' }, 'stop')];
    expect(read(chunks, { thinkTags: true })).to.equal('Well.');
  });

  it('has no calls in it, which nobody was offered', () => {
    const calls = [{ index: 0, id: 'c', function: { name: 'f', arguments: '{}' } }];
    expect(read([chunkOf({ content: 'Well.' }), chunkOf({ tool_calls: calls }, 'tool_calls')])).to.equal('Well.');
  });

  it('says so when it was cut off', () => {
    expect(read([chunkOf({ content: 'It went' }, 'length')])).to.match(/^It went\n\[The summary was cut off/);
  });

  for (const { name, chunks, says } of [
    { name: 'that says nothing', chunks: [chunkOf({ content: ' \n' }, 'stop')], says: /wrote none/ },
    {
      name: 'that is a call alone',
      chunks: [
        chunkOf({ tool_calls: [{ index: 0, id: 'c', function: { name: 'f', arguments: '{}' } }] }, 'tool_calls'),
      ],
      says: /wrote none/,
    },
    {
      name: 'that was all thought',
      chunks: [chunkOf({ reasoning: 'Hm' }, 'length')],
      says: /COMPACTION_MODEL/,
    },
    { name: 'that a filter stopped', chunks: [chunkOf({ content: 'It' }, 'content_filter')], says: /filter/ },
    { name: 'that never came', chunks: [], says: /no answer/ },
  ]) {
    it(`${name} is none`, () => {
      expect(() => read(chunks))
        .to.throw(ApiError, says)
        .with.property('code', 'upstream_invalid_response');
    });
  }

  it('that the backend gave up on is none', () => {
    expect(() => read([chunkOf({ content: 'It' }, 'error')]))
      .to.throw(ApiError)
      .with.property('code', 'upstream_error');
  });
});
