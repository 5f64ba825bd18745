import { expect } from 'chai';
import type { ChatRequest } from '../../src/core/chat.ts';

/** Throws an AssertionError unless the request has what the one before had, byte for byte, and more behind it. */
export function expectLonger(chat: ChatRequest, before: ChatRequest | undefined, dialect: string): void {
  const messages = chat.messages.map((message) => JSON.stringify(message));
  const known = (before?.messages ?? []).map((message) => JSON.stringify(message));
  expect(messages.slice(0, known.length), `the messages for ${dialect}`).to.deep.equal(known);
  const tools = (chat.tools ?? []).map((tool) => JSON.stringify(tool));
  const offered = (before?.tools ?? []).map((tool) => JSON.stringify(tool));
  expect(tools.slice(0, offered.length), `the tools for ${dialect}`).to.deep.equal(offered);
}
