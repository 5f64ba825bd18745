import type { TextPiece } from './chunk.ts';
import { unreachable } from '../errors.ts';

const OPEN = '<think>';
const CLOSE = '</think>';
/** In UTF-16 code units. After more leading white space than this no tag is searched for. */
const MAX_LEADING_SPACE = 256;

export interface ThinkTagSplitter {
  split(text: string): TextPiece[];
  release(): TextPiece[];
}

type State =
  | { readonly kind: 'start'; readonly held: string }
  | { readonly kind: 'opened' }
  | { readonly kind: 'thinking'; readonly held: string }
  | { readonly kind: 'between' }
  | { readonly kind: 'answer' };

/** Splits a leading `<think>…</think>` block from the text. A later tag is ordinary text. */
export function createThinkTagSplitter(): ThinkTagSplitter {
  let state: State = { kind: 'start', held: '' };

  return {
    split(text) {
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
      state = kind === 'start' ? { kind: 'answer' } : { kind, held: '' };
      return textPieces(kind === 'start' ? 'text' : 'reasoning', held);
    },
  };

  function start(text: string): TextPiece[] {
    const trimmed = text.trimStart();
    if (text.length - trimmed.length <= MAX_LEADING_SPACE) {
      if (trimmed.startsWith(OPEN)) return opened(trimmed.slice(OPEN.length));
      if (OPEN.startsWith(trimmed)) {
        state = { kind: 'start', held: text };
        return [];
      }
    }
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
