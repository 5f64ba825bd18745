import type { LogProb, OutputItem } from '../../contract/types.ts';
import { createCalls, MAX_CALLS, type CallsOptions } from './calls.ts';
import type { ChatChunk } from '../chat.ts';
import {
  callPiecesOf,
  citationsOf,
  deltaOf,
  messageOf,
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
import { openReasoningWriter, type ReasoningForm, type ReasoningWriter } from './reasoning-writer.ts';
import { createStateCollector, type StateOptions } from './reply-state.ts';
import { createTextReader, type TextReader } from './text-reader.ts';
import { createThinkTagSplitter, type ThinkTags } from './think-tags.ts';
import type { Writable } from '../writable.ts';

export interface OutputWriterOptions extends CallsOptions, ReasoningForm {
  readonly thinkTags: ThinkTags;
  readonly state?: StateOptions;
  readonly logprobs: boolean;
}

/** Writes the items of a reply. All methods that write throw ApiError when the reply is too large. */
export interface OutputWriter {
  /** Words wait for `writeOthers`, if another choice had some before. */
  writeChoice(choice: ChatChunk, index: number): void;
  writeCompaction(encryptedContent: string): void;
  setSources(sources: readonly Source[]): void;
  /** Writes the words of other choices that belong to the answer. `isSame` says that they repeat it. */
  writeOthers(belongs: (index: number, isSame: boolean) => boolean): void;
  hasCalls(choiceIndex: number): boolean;
  /** Writes the text that was held because it could be the beginning of a tag, or said again. */
  release(): void;
  hasNamelessCall(): boolean;
  /** Whether something was said, and every call has all of its arguments. */
  isWhole(): boolean;
  closeCompleted(): void;
  closeCut(): void;
  /** Of the output, as `outputLengthOf` measures it. */
  readonly length: number;
  /** The index of the first choice that has words. */
  readonly firstChoice: number | undefined;
}

/** Calls are kept in `calls`, because several of them can be open at once. */
type Open =
  | { readonly kind: 'idle' }
  | { readonly kind: 'message'; readonly writer: MessageWriter }
  | { readonly kind: 'reasoning'; readonly writer: ReasoningWriter }
  | { readonly kind: 'calls' };

const IDLE: Open = { kind: 'idle' };
const KINDS = ['text', 'reasoning', 'refusal'] as const satisfies readonly TextPiece['kind'][];
/** The weight of a piece that waits, without its text. */
const WAITING_WEIGHT = 64;
const LEADING_BLANK_LINES = /^\s*\n/;

/** Begins without an item. What a choice says decides which item is open. */
export function createOutputWriter(log: EventLog, options: OutputWriterOptions): OutputWriter {
  const { reasoningOutput } = options;
  const citations = createCitations(log);
  const calls = createCalls(log, options);
  const splitter = options.thinkTags.tags.length === 0 ? undefined : createThinkTagSplitter(options.thinkTags);
  const state = options.state && createStateCollector(log, { ...options.state, reasoningOutput });
  /** Hidden reasoning has an item only when the caller asks for it sealed. */
  const showsReasoning = reasoningOutput !== 'hidden' || options.state?.isAskedFor === true;

  /** Most answers have text alone. */
  const readers: { [Kind in TextPiece['kind']]?: TextReader } = {};
  let open: Open = IDLE;
  let choiceNumber = 0;
  let hasDeltas = false;
  /** Whether a piece of text may wait to be written. */
  let someWaits = false;
  const others = new Map<number, Writable<TextPiece>[]>();
  let hasCitations = false;
  let hasImage = false;
  /** Models write empty lines between a thought and a call. They are no message. */
  let space = '';
  let isAfterThought = false;

  const output: Writable<OutputWriter> = {
    writeChoice(choice, index) {
      choiceNumber += 1;
      const message = messageOf(choice);
      const isMessage = message !== undefined;
      const delta = message ?? deltaOf(choice);
      // A message after deltas is what they said, whole.
      const isWhole = isMessage && hasDeltas;
      const logprobs = options.logprobs ? logprobsOf(choice, log.snapshot.top_logprobs) : [];
      const words = onlyWordsOf(delta);
      if (words !== undefined) {
        if (words.kind === 'reasoning') state?.readDelta(delta, isWhole);
        output.length += takeText(words, index, isWhole, logprobs);
        hasDeltas ||= !isMessage;
        return;
      }
      const length = mixedLengthOf(delta);
      output.length += length;
      hasDeltas ||= !isMessage && length > 0;
      state?.readDelta(delta, isWhole);
      if (!(isWhole && hasCitations)) addCitations(delta);
      for (const piece of textPiecesOf(delta)) {
        output.length += takeText(piece, index, isWhole, logprobs) - piece.text.length;
      }
      if (!(isWhole && hasImage)) for (const url of imagesOf(delta)) writeImage(url);
      const callPieces = callPiecesOf(delta, index);
      if (callPieces.length > MAX_CALLS) throw tooMuch();
      if (callPieces.length > 0) output.release();
      for (const piece of callPieces) {
        output.length += calls.add(piece, choiceNumber, openCalls) - piece.arguments.length;
      }
    },
    writeOthers(belongs) {
      for (const [index, pieces] of others) {
        for (const piece of pieces) {
          const isSame = readers[piece.kind]?.isAll(piece.text) ?? false;
          if (belongs(index, isSame)) readText(piece, false, []);
        }
      }
    },
    writeCompaction(encryptedContent) {
      log.grow(encryptedContent.length);
      const position = log.addItem('cmp', (id) => ({
        type: 'compaction',
        id,
        status: 'in_progress',
        encrypted_content: '',
      }));
      // A compaction is complete at once, so it has no other events.
      const item = log.itemAt(position, 'compaction');
      log.closeItem(position, { ...item, status: 'completed', encrypted_content: encryptedContent });
    },
    setSources: (sources) => citations.setSources(sources),
    release() {
      for (const kind of KINDS) releaseText(kind);
      for (const piece of splitter?.release() ?? []) writePiece(piece, []);
    },
    hasCalls: (choiceIndex) => calls.hasOf(choiceIndex),
    hasNamelessCall: () => calls.hasNameless(),
    isWhole: () => calls.areWhole() && (calls.hasAny() || hasImage || hasMessage()),
    closeCompleted() {
      writeLastSpace();
      writeUnclosedThought();
      leave('completed');
      calls.closeAll();
      // Without a message or a call the Agents SDK asks again, and each time is paid.
      if (!hasMessageOrCall()) writeEmptyMessage();
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
    firstChoice: undefined,
  };
  return output;

  function addCitations(delta: ChatChunk): void {
    for (const citation of citationsOf(delta)) {
      hasCitations = true;
      citations.add(citation);
    }
  }

  /** Returns how long the piece is without what was said before. */
  function takeText(piece: TextPiece, index: number, isWhole: boolean, logprobs: LogProb[]): number {
    output.firstChoice ??= index;
    if (index === output.firstChoice) return readText(piece, isWhole, logprobs);
    if (piece.text === '') return 0;
    log.grow(TEXT_WEIGHT * piece.text.length + WAITING_WEIGHT);
    const pieces = others.get(index) ?? [];
    const last = pieces.at(-1);
    if (last?.kind === piece.kind) last.text += piece.text;
    else pieces.push({ ...piece });
    others.set(index, pieces);
    return piece.text.length;
  }

  /** Writes what is new in the piece, and returns how long that is. */
  function readText(piece: TextPiece, isWhole: boolean, logprobs: LogProb[]): number {
    const { kind, text } = piece;
    const reader = (readers[kind] ??= createTextReader());
    // What has log probabilities is not said again.
    const more = logprobs.length > 0 && !isWhole ? reader.add(text) : reader.feed(text, isWhole);
    if (more === '') {
      someWaits = true;
      return 0;
    }
    if (someWaits) for (const other of KINDS) if (other !== kind) releaseText(other);
    someWaits = false;
    writeText(more === text ? piece : { kind, text: more }, logprobs);
    return more.length;
  }

  function releaseText(kind: TextPiece['kind']): void {
    const text = readers[kind]?.end() ?? '';
    output.length += text.length;
    if (text !== '') writeText({ kind, text }, []);
  }

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
    const position = log.addItem('ig', (id) => ({
      type: 'image_generation_call',
      id,
      status: 'in_progress',
      result: null,
    }));
    const item = log.itemAt(position, 'image_generation_call');
    log.closeItem(position, { ...item, status: 'completed', result, output_format: format });
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
   * this for the answer, too. The tags of few models can be the first words of others.
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
