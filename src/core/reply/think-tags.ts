import type { ChatRequest } from '../chat.ts';
import type { Dialect } from '../dialects.ts';
import { unreachable } from '../errors.ts';
import { isObject } from '../json.ts';
import type { TextPiece } from './chunk.ts';

interface Tag {
  readonly open: string;
  readonly close: string;
}

const THINK: Tag = { open: '<think>', close: '</think>' };

/** Nearly all are tokens of their models, and nobody else begins an answer with one. */
export const TAGS: readonly Tag[] = [
  THINK,
  // Magistral and Ministral (waybarrios/vllm-mlx PR#599).
  { open: '[THINK]', close: '[/THINK]' },
  // Seed-OSS (CherryHQ/cherry-studio PR#9498).
  { open: '<seed:think>', close: '</seed:think>' },
  // Kimi-VL and Kimi-Dev.
  { open: '◁think▷', close: '◁/think▷' },
];

/** They are words, with which others begin an answer that somebody wants in such tags. */
const WORDS: readonly (Tag & { readonly models: RegExp })[] = [
  // tinyhumansai/openhuman#6184
  { open: '<thought>', close: '</thought>', models: /exaone-deep/i },
  // Only Bedrock writes the thoughts of gpt-oss so (promptfoo/promptfoo#9587).
  { open: '<reasoning>', close: '</reasoning>', models: /\bopenai\.gpt-oss/i },
  // BerriAI/litellm#9063, vercel/ai#7078
  { open: '<thinking>', close: '</thinking>', models: /\bamazon\.nova/i },
];

/** In UTF-16 code units. After more leading white space than this no tag is searched for. */
const MAX_LEADING_SPACE = 256;

/** How the answers of a model are split. */
export interface ThinkTags {
  /** The chat template has written the `<think>`, and the model only writes the `</think>`. */
  readonly isOpened: boolean;
  /** None, if no block is searched for. */
  readonly tags: readonly Tag[];
}

export interface ThinkTagSplitter {
  split(text: string): TextPiece[];
  release(): TextPiece[];
  /** Returns all text so far if it may be the answer, though it is in a block that nobody closed. */
  unclosed(): string;
}

type State =
  | { readonly kind: 'start'; readonly pending: string }
  | { readonly kind: 'opened' }
  | { readonly kind: 'thinking'; readonly pending: string }
  | { readonly kind: 'between' }
  | { readonly kind: 'answer' };

/**
 * Returns the tags of the model: those that servers of this dialect leave in the text, and those of a
 * model that is known by its name.
 */
export function thinkTagsFor(
  thinkTags: Dialect['thinkTags'],
  {
    model,
    reasoning_effort: effort,
    chat_template_kwargs: kwargs,
  }: Pick<ChatRequest, 'model' | 'reasoning_effort' | 'chat_template_kwargs'>,
): ThinkTags {
  // A template that is told not to think closes its block (vllm-project/vllm#35687).
  const isOff = isObject(kwargs) && (kwargs['enable_thinking'] === false || kwargs['thinking'] === false);
  const ofModel = WORDS.filter(({ models }) => models.test(model));
  return {
    isOpened: thinkTags === 'opened' && !isOff && effort !== 'none',
    tags: thinkTags === false ? ofModel : [...TAGS, ...ofModel],
  };
}

/**
 * Splits a leading block in one of the tags from the text. A later tag is ordinary text. Some models
 * repeat the `<think>` of the template.
 */
export function createThinkTagSplitter({ isOpened, tags }: ThinkTags): ThinkTagSplitter {
  let state: State = { kind: 'start', pending: '' };
  let isOpenedByTemplate = isOpened;
  let { close } = THINK;
  let isPerhapsAnswer = isOpened;
  let unclosed = '';

  return {
    split(text) {
      if (isPerhapsAnswer) unclosed += text;
      switch (state.kind) {
        case 'start':
          return start(state.pending + text);
        case 'opened':
          return opened(text);
        case 'thinking':
          return think(state.pending + text);
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
      const { kind, pending } = state;
      if (pending === '') return [];
      const isAnswer = kind === 'start' && !isOpenedByTemplate;
      state = isAnswer ? { kind: 'answer' } : { kind: 'thinking', pending: '' };
      return isAnswer
        ? textPieces('text', pending)
        : textPieces('reasoning', kind === 'start' ? pending.trimStart() : pending);
    },
    unclosed: () => unclosed,
  };

  function start(text: string): TextPiece[] {
    const trimmed = text.trimStart();
    if (text.length - trimmed.length <= MAX_LEADING_SPACE) {
      const tag = tags.find(({ open }) => trimmed.startsWith(open));
      if (tag !== undefined) {
        leaveTemplate();
        // Text that only begins with what another model takes for a tag does not close it.
        isPerhapsAnswer = tag !== THINK;
        if (isPerhapsAnswer) unclosed = text;
        ({ close } = tag);
        return opened(trimmed.slice(tag.open.length));
      }
      if (tags.some(({ open }) => open.startsWith(trimmed))) {
        state = { kind: 'start', pending: text };
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
    const end = text.indexOf(close);
    if (end >= 0) {
      leaveTemplate();
      state = { kind: 'between' };
      return [...textPieces('reasoning', text.slice(0, end)), ...between(text.slice(end + close.length))];
    }
    const pending = partialTagIn(text, close);
    state = { kind: 'thinking', pending };
    return textPieces('reasoning', text.slice(0, text.length - pending.length));
  }

  function between(text: string): TextPiece[] {
    const answer = text.trimStart();
    if (answer !== '') state = { kind: 'answer' };
    return textPieces('text', answer);
  }

  function leaveTemplate(): void {
    isOpenedByTemplate = false;
    isPerhapsAnswer = false;
    unclosed = '';
  }
}

function textPieces(kind: TextPiece['kind'], text: string): TextPiece[] {
  return text === '' ? [] : [{ kind, text }];
}

function partialTagIn(text: string, close: string): string {
  for (let length = Math.min(close.length - 1, text.length); length > 0; length -= 1) {
    const end = text.slice(-length);
    if (close.startsWith(end)) return end;
  }
  return '';
}
