import { expect } from 'chai';
import type { ChatBody } from './complaints.ts';
import type { Answer, Line } from './strict-backend.ts';

/** Text that is easily broken: by cuts between bytes and surrogates, by escaping once too often or too little. */
export const SPECIAL = 'ünïcødé ✓ 🎉 "quoted" \\ back';

/** One call, of a tool with this in its name. */
export function calling(name: string, args: object): Extract<Answer, { calls?: unknown }> {
  return { calls: [{ name, arguments: args }] };
}

/** The model says this when the last thing that it was told, such as the output of its call, holds what it should. */
export function after(told: string, answer: Answer): Line {
  return ({ messages }) => {
    expect(messages.at(-1)?.content).to.include(told);
    return answer;
  };
}

/** The URLs of the images in the last message. */
export function imagesOfLast(body: ChatBody | undefined): readonly string[] {
  const content = body?.messages.at(-1)?.content ?? '';
  if (typeof content === 'string') return [];
  return (content as { image_url?: { url: string } }[]).flatMap(({ image_url: image }) => image?.url ?? []);
}
