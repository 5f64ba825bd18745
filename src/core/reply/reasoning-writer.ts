import type { OutputItem, ReasoningItem } from '../../contract/types.ts';
import type { ReasoningOutput } from '../../contract/settings-types.ts';
import { POSITION_WEIGHT, type EventLog } from './event-log.ts';
import { appendText } from './growing-text.ts';
import { createPairReader } from '../well-formed.ts';

export interface ReasoningWriter {
  write(delta: string): void;
  close(status: OutputItem['status']): void;
}

export interface ReasoningForm {
  /** The default is a summary, because most clients show nothing else. */
  readonly reasoningOutput: ReasoningOutput;
}

export interface ReasoningOptions extends ReasoningForm {
  readonly seal: () => string | undefined;
}

/** Begins a reasoning item in the form that the options ask for. */
export function openReasoningWriter(log: EventLog, { reasoningOutput, seal }: ReasoningOptions): ReasoningWriter {
  const position = log.addItem('rs', (id) => ({ type: 'reasoning', id, status: 'in_progress', summary: [] }));
  const form = FORMS[reasoningOutput](log, position);
  const pairs = createPairReader();
  let whole = '';
  form.begin();

  function write(delta: string): void {
    whole = appendText(whole, delta);
    if (delta !== '') form.write(delta);
  }
  return {
    write: (delta) => write(pairs.feed(delta)),
    close(status) {
      write(pairs.end());
      form.end(whole);
      const sealed = seal();
      const item: ReasoningItem = { ...log.itemAt(position, 'reasoning'), status };
      log.closeItem(position, sealed === undefined ? item : { ...item, encrypted_content: sealed });
    },
  };
}

interface Form {
  begin(): void;
  write(delta: string): void;
  end(whole: string): void;
}

const FORMS: {
  readonly [Output in ReasoningOptions['reasoningOutput']]: (
    log: EventLog,
    item: ReturnType<EventLog['addItem']>,
  ) => Form;
} = {
  hidden: () => ({ begin: () => undefined, write: () => undefined, end: () => undefined }),
  summary(log, item) {
    const position = { ...item, summary_index: 0 };
    const toPart = (text: string) => ({ type: 'summary_text', text }) as const;
    return {
      begin() {
        log.grow(POSITION_WEIGHT);
        log.emit({ type: 'response.reasoning_summary_part.added', ...position, part: toPart('') });
      },
      write: (delta) => log.emit({ type: 'response.reasoning_summary_text.delta', ...position, delta }),
      end(whole) {
        log.emit({ type: 'response.reasoning_summary_text.done', ...position, text: whole });
        log.emit({ type: 'response.reasoning_summary_part.done', ...position, part: toPart(whole) });
      },
    };
  },
  content(log, item) {
    const position = { ...item, content_index: 0 };
    const toPart = (text: string) => ({ type: 'reasoning_text', text }) as const;
    return {
      begin() {
        log.grow(POSITION_WEIGHT);
        log.emit({ type: 'response.content_part.added', ...position, part: toPart('') });
      },
      write: (delta) => log.emit({ type: 'response.reasoning_text.delta', ...position, delta }),
      end(whole) {
        log.emit({ type: 'response.reasoning_text.done', ...position, text: whole });
        log.emit({ type: 'response.content_part.done', ...position, part: toPart(whole) });
      },
    };
  },
};
