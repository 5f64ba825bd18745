import type { LogProb, OutputItem } from '../../contract/types.ts';
import { createCalls, MAX_CALLS, type CallsOptions } from './calls.ts';
import type { ChatChunk } from '../chat.ts';
import {
  callPiecesOf,
  citationsOf,
  deltaOf,
  imagesOf,
  logprobsOf,
  onlyWordsOf,
  textPiecesOf,
  type Source,
  type TextPiece,
} from './chunk.ts';
import { createCitations } from './citations.ts';
import { unreachable } from '../errors.ts';
import { TEXT_WEIGHT, tooMuch, type EventLog } from './event-log.ts';
import { openMessageWriter, type MessageWriter } from './message-writer.ts';
import { mixedLengthOf } from './output-length.ts';
import { openReasoningWriter, type ReasoningOptions, type ReasoningWriter } from './reasoning-writer.ts';
import { createStateCollector, type StateOptions } from './reply-state.ts';
import { createThinkTagSplitter, type ThinkTags } from './think-tags.ts';
import type { Writable } from '../writable.ts';

export interface OutputWriterOptions extends CallsOptions, Pick<ReasoningOptions, 'reasoningOutput'> {
  readonly thinkTags: ThinkTags;
  readonly state?: StateOptions;
  readonly logprobs: boolean;
}

/** Writes the items of a reply. All methods that write throw ApiError when the reply is too large. */
export interface OutputWriter {
  writeChoice(choice: ChatChunk): void;
  /** Writes what `writeChoice` would for a choice like the last one that has these words instead. */
  writeWords(text: string): void;
  writeCompaction(encryptedContent: string): void;
  setSources(sources: readonly Source[]): void;
  /** Writes the text that was held because it could be the beginning of a tag. */
  release(): void;
  hasNamelessCall(): boolean;
  closeCompleted(): void;
  closeCut(): void;
  /** Of the output, as `outputLengthOf` measures it. */
  readonly length: number;
}

/** Calls are kept in `calls`, because several of them can be open at once. */
type Open =
  | { readonly kind: 'idle' }
  | { readonly kind: 'message'; readonly writer: MessageWriter }
  | { readonly kind: 'reasoning'; readonly writer: ReasoningWriter }
  | { readonly kind: 'calls' };

const IDLE: Open = { kind: 'idle' };
const LEADING_BLANK_LINES = /^\s*\n/;

/** Begins without an item. What a choice says decides which item is open. */
export function createOutputWriter(log: EventLog, options: OutputWriterOptions): OutputWriter {
  const { reasoningOutput } = options;
  const citations = createCitations(log);
  const calls = createCalls(log, options);
  const splitter = options.thinkTags === false ? undefined : createThinkTagSplitter(options.thinkTags);
  const state = options.state && createStateCollector(log, { ...options.state, reasoningOutput });
  /** Hidden reasoning has an item only when the caller asks for it sealed. */
  const showsReasoning = reasoningOutput !== 'hidden' || options.state?.isAskedFor === true;

  let open: Open = IDLE;
  let choiceNumber = 0;
  /** The kind of the last choice that said nothing but words. */
  let wordsKind: 'text' | 'reasoning' = 'text';
  let hasImage = false;
  /** Models write empty lines between a thought and a call. They are no message. */
  let space = '';
  let isAfterThought = false;

  const output: Writable<OutputWriter> = {
    writeChoice(choice) {
      choiceNumber += 1;
      const delta = deltaOf(choice);
      const logprobs = options.logprobs ? logprobsOf(choice, log.snapshot.top_logprobs) : [];
      const words = onlyWordsOf(delta);
      if (words !== undefined) {
        wordsKind = words.kind;
        output.length += words.text.length;
        if (wordsKind === 'reasoning') state?.readDelta(delta);
        writeText(words, logprobs);
        return;
      }
      output.length += mixedLengthOf(delta);
      state?.readDelta(delta);
      for (const citation of citationsOf(delta)) citations.add(citation);
      for (const piece of textPiecesOf(delta)) writeText(piece, logprobs);
      for (const url of imagesOf(delta)) writeImage(url);
      const callPieces = callPiecesOf(delta);
      if (callPieces.length > MAX_CALLS) throw tooMuch();
      if (callPieces.length > 0) output.release();
      for (const piece of callPieces) calls.add(piece, choiceNumber, openCalls);
    },
    writeWords(text) {
      output.length += text.length;
      if (text !== '') writeText({ kind: wordsKind, text }, []);
    },
    writeCompaction(encryptedContent) {
      log.grow(encryptedContent.length);
      const place = log.addItem('cmp', (id) => ({
        type: 'compaction',
        id,
        status: 'in_progress',
        encrypted_content: '',
      }));
      // A compaction is complete at once, so it has no other events.
      const item = log.itemAt(place, 'compaction');
      log.closeItem(place, { ...item, status: 'completed', encrypted_content: encryptedContent });
    },
    setSources: (sources) => citations.setSources(sources),
    release() {
      for (const piece of splitter?.release() ?? []) writePiece(piece, []);
    },
    hasNamelessCall: () => calls.hasNameless(),
    closeCompleted() {
      writeLastSpace();
      writeUnclosedThought();
      leave('completed');
      calls.closeAll();
      // Without a message or a call the Agents SDK asks again, and each time is paid.
      if ((calls.hasAny() || hasImage) && !hasMessageOrCall()) writeEmptyMessage();
      writeRestOfState();
    },
    closeCut() {
      writeLastSpace();
      const inCall = open.kind === 'calls';
      leave('incomplete');
      calls.closeCut(inCall);
      writeRestOfState();
    },
    length: 0,
  };
  return output;

  function writeText(piece: TextPiece, logprobs: LogProb[]): void {
    if (piece.kind !== 'text' || splitter === undefined) {
      writePiece(piece, logprobs);
      return;
    }
    for (const part of splitter.split(piece.text)) writePiece(part, logprobs);
  }

  function writePiece({ kind, text }: TextPiece, logprobs: LogProb[]): void {
    log.grow(TEXT_WEIGHT * text.length);
    switch (kind) {
      case 'text':
        if (open.kind !== 'message' && logprobs.length === 0) writeFirstText(text);
        else openMessage().writeText(text, logprobs);
        return;
      case 'refusal':
        openMessage().writeRefusal(text);
        return;
      case 'reasoning':
        state?.addThoughts(text);
        if (showsReasoning) openReasoning().write(text);
        isAfterThought = true;
        return;
      default:
        unreachable(kind);
    }
  }

  /** Chat templates and parsers leave blank lines between a thought and the answer (vLLM, transformers). */
  function writeFirstText(text: string): void {
    if (text.trim() === '') {
      space += text;
      return;
    }
    const whole = space + text;
    space = '';
    // Between two messages they separate text from text in `output_text`.
    const isSeparated = isAfterThought && !hasMessage();
    openMessage().writeText(isSeparated ? whole.replace(LEADING_BLANK_LINES, '') : whole, []);
  }

  function openMessage(): MessageWriter {
    if (open.kind === 'message') return open.writer;
    leave('completed');
    const writer = openMessageWriter(log, citations);
    open = { kind: 'message', writer };
    if (space !== '') writer.writeText(space, []);
    space = '';
    return writer;
  }

  function writeImage(url: string): void {
    const [head = '', result] = url.split(',', 2);
    const format = /^data:image\/([\w.+-]{1,32});base64$/i.exec(head)?.[1];
    if (format === undefined || result === undefined) {
      writePiece({ kind: 'text', text: `![image](${url})` }, []);
      return;
    }
    log.grow(result.length);
    leave('completed');
    hasImage = true;
    const place = log.addItem('ig', (id) => ({
      type: 'image_generation_call',
      id,
      status: 'in_progress',
      result: null,
    }));
    const item = log.itemAt(place, 'image_generation_call');
    log.closeItem(place, { ...item, status: 'completed', result, output_format: format });
  }

  function hasMessage(): boolean {
    return log.snapshot.output.some(({ type }) => type === 'message');
  }

  function hasMessageOrCall(): boolean {
    return log.snapshot.output.some((item) => item.type === 'message' || 'call_id' in item);
  }

  /** Text is the answer where nothing else is. */
  function writeLastSpace(): void {
    if (space !== '' && open.kind !== 'calls' && !hasMessage()) openMessage();
  }

  /**
   * A model that ends by itself within the block of the template has answered without a thought: a
   * grammar allows no `</think>`, or the template opened none. NVIDIA's nano_v3 parser for vLLM takes
   * this for the answer, too.
   */
  function writeUnclosedThought(): void {
    const text = splitter?.unclosed() ?? '';
    if (text !== '' && !hasMessage() && !calls.hasAny()) writePiece({ kind: 'text', text }, []);
  }

  function writeEmptyMessage(): void {
    openMessage().writeText('', []);
    leave('completed');
  }

  function openReasoning(): ReasoningWriter {
    if (open.kind === 'reasoning') return open.writer;
    leave('completed');
    space = '';
    const seal = () => state?.seal(calls.announced());
    const writer = openReasoningWriter(log, { reasoningOutput, seal });
    open = { kind: 'reasoning', writer };
    return writer;
  }

  function openCalls(): void {
    space = '';
    if (open.kind !== 'calls') leave('completed');
    open = { kind: 'calls' };
  }

  function leave(status: OutputItem['status']): void {
    const leaving = open;
    open = IDLE;
    isAfterThought = false;
    switch (leaving.kind) {
      case 'idle':
        return;
      case 'message':
      case 'reasoning':
        leaving.writer.close(status);
        return;
      case 'calls':
        calls.closeComplete();
        return;
      default:
        unreachable(leaving);
    }
  }

  /** State can come after the last reasoning: Gemini signs calls, and thoughts may be hidden. */
  function writeRestOfState(): void {
    const sealed = state?.sealRest(calls.announced());
    if (sealed !== undefined)
      openReasoningWriter(log, { reasoningOutput: 'hidden', seal: () => sealed }).close('completed');
  }
}
