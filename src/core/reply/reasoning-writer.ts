import type { OutputItem, ReasoningItem } from '../../contract/types.ts';
import type { ReasoningOutput } from '../../contract/settings-types.ts';
import { PLACE_WEIGHT, type EventLog } from './event-log.ts';
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
  const place = log.addItem('rs', (id) => ({ type: 'reasoning', id, status: 'in_progress', summary: [] }));
  const form = FORMS[reasoningOutput](log, place);
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
      const item: ReasoningItem = { ...log.itemAt(place, 'reasoning'), status };
      log.closeItem(place, sealed === undefined ? item : { ...item, encrypted_content: sealed });
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
    const place = { ...item, summary_index: 0 };
    const toPart = (text: string) => ({ type: 'summary_text', text }) as const;
    return {
      begin() {
        log.grow(PLACE_WEIGHT);
        log.emit({ type: 'response.reasoning_summary_part.added', ...place, part: toPart('') });
      },
      write: (delta) => log.emit({ type: 'response.reasoning_summary_text.delta', ...place, delta }),
      end(whole) {
        log.emit({ type: 'response.reasoning_summary_text.done', ...place, text: whole });
        log.emit({ type: 'response.reasoning_summary_part.done', ...place, part: toPart(whole) });
      },
    };
  },
  content(log, item) {
    const place = { ...item, content_index: 0 };
    const toPart = (text: string) => ({ type: 'reasoning_text', text }) as const;
    return {
      begin() {
        log.grow(PLACE_WEIGHT);
        log.emit({ type: 'response.content_part.added', ...place, part: toPart('') });
      },
      write: (delta) => log.emit({ type: 'response.reasoning_text.delta', ...place, delta }),
      end(whole) {
        log.emit({ type: 'response.reasoning_text.done', ...place, text: whole });
        log.emit({ type: 'response.content_part.done', ...place, part: toPart(whole) });
      },
    };
  },
};
