import type { ChatRequest } from '../chat.ts';
import type { Dialect } from '../dialects.ts';
import { unreachable } from '../errors.ts';
import { isObject } from '../json.ts';
import type { TextPiece } from './chunk.ts';

const OPEN = '<think>';
const CLOSE = '</think>';
/** In UTF-16 code units. After more leading white space than this no tag is searched for. */
const MAX_LEADING_SPACE = 256;

/** With `opened` the chat template has written the `<think>`, and the model only the `</think>`. */
export type ThinkTags = Dialect['thinkTags'];

export interface ThinkTagSplitter {
  split(text: string): TextPiece[];
  release(): TextPiece[];
  /** Returns all text so far if it is in a block that the template opened and nobody closed. */
  unclosed(): string;
}

type State =
  | { readonly kind: 'start'; readonly held: string }
  | { readonly kind: 'opened' }
  | { readonly kind: 'thinking'; readonly held: string }
  | { readonly kind: 'between' }
  | { readonly kind: 'answer' };

/** A template that is told not to think closes its block (vllm-project/vllm#35687). */
export function thinkTagsFor(
  thinkTags: ThinkTags,
  {
    reasoning_effort: effort,
    chat_template_kwargs: kwargs,
  }: Pick<ChatRequest, 'reasoning_effort' | 'chat_template_kwargs'>,
): ThinkTags {
  if (thinkTags !== 'opened') return thinkTags;
  const isOff = isObject(kwargs) && (kwargs['enable_thinking'] === false || kwargs['thinking'] === false);
  return isOff || effort === 'none' ? true : thinkTags;
}

/**
 * Splits a leading `<think>…</think>` block from the text. A later tag is ordinary text. Some models
 * repeat the `<think>` of the template.
 */
export function createThinkTagSplitter(thinkTags: true | 'opened'): ThinkTagSplitter {
  let state: State = { kind: 'start', held: '' };
  let isOpenedByTemplate = thinkTags === 'opened';
  let unclosed = '';

  return {
    split(text) {
      if (isOpenedByTemplate) unclosed += text;
      switch (state.kind) {
        case 'start':
          return start(state.held + text);
        case 'opened':
          return opened(text);
        case 'thinking':
          return think(state.held + text);
        case 'between':
          return between(text);
        case 'answer':
          return textPieces('text', text);
        default:
          return unreachable(state);
      }
    },
    release() {
      if (state.kind !== 'start' && state.kind !== 'thinking') return [];
      const { kind, held } = state;
      if (held === '') return [];
      const isAnswer = kind === 'start' && !isOpenedByTemplate;
      state = isAnswer ? { kind: 'answer' } : { kind: 'thinking', held: '' };
      return isAnswer ? textPieces('text', held) : textPieces('reasoning', kind === 'start' ? held.trimStart() : held);
    },
    unclosed: () => unclosed,
  };

  function start(text: string): TextPiece[] {
    const trimmed = text.trimStart();
    if (text.length - trimmed.length <= MAX_LEADING_SPACE) {
      if (trimmed.startsWith(OPEN)) {
        leaveTemplate();
        return opened(trimmed.slice(OPEN.length));
      }
      if (OPEN.startsWith(trimmed)) {
        state = { kind: 'start', held: text };
        return [];
      }
    }
    if (isOpenedByTemplate) return think(trimmed);
    state = { kind: 'answer' };
    return textPieces('text', text);
  }

  function opened(text: string): TextPiece[] {
    const thought = text.trimStart();
    if (thought === '') {
      state = { kind: 'opened' };
      return [];
    }
    return think(thought);
  }

  function think(text: string): TextPiece[] {
    const close = text.indexOf(CLOSE);
    if (close >= 0) {
      leaveTemplate();
      state = { kind: 'between' };
      return [...textPieces('reasoning', text.slice(0, close)), ...between(text.slice(close + CLOSE.length))];
    }
    const held = heldBack(text);
    state = { kind: 'thinking', held };
    return textPieces('reasoning', text.slice(0, text.length - held.length));
  }

  function between(text: string): TextPiece[] {
    const answer = text.trimStart();
    if (answer !== '') state = { kind: 'answer' };
    return textPieces('text', answer);
  }

  function leaveTemplate(): void {
    isOpenedByTemplate = false;
    unclosed = '';
  }
}

function textPieces(kind: TextPiece['kind'], text: string): TextPiece[] {
  return text === '' ? [] : [{ kind, text }];
}

function heldBack(text: string): string {
  for (let length = Math.min(CLOSE.length - 1, text.length); length > 0; length -= 1) {
    const end = text.slice(-length);
    if (CLOSE.startsWith(end)) return end;
  }
  return '';
}
