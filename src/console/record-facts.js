import { detailsOf, element, timeElement } from './dom.js';
import { formatCount, formatCredits, formatInput, formatMs, formatOutput } from './format.js';

/** @import { RequestRecord } from '../contract/types.ts' */
/** @import { Fact } from './dom.js' */

/**
 * Returns what a record says, as a list.
 * @param {RequestRecord} record
 * @param {{ advice?: string | null, whose?: readonly Fact[] }} [more] What to do about its error, and whose it is.
 */
export function recordFacts(record, { advice = null, whose = [] } = {}) {
  const { usage, error, cost, cancel_requested_at: cancelledAt, completed_at: completedAt } = record;
  return detailsOf([
    ['Status', stateElement(record)],
    ['Error', error === null ? null : `${error.message} (${error.code})`],
    ['What to do', advice],
    ['Incomplete', record.incomplete_details?.reason ?? null],
    ['Request', element('code', {}, record.request_id)],
    ['Response', element('code', {}, record.response_id)],
    ...whose,
    ['Model', record.model],
    ['Backend', record.upstream],
    ['Endpoint', record.endpoint + (record.stream ? ', stream' : '')],
    ['Created', timeElement(record.created_at)],
    ['Cancel requested', cancelledAt === null ? null : timeElement(cancelledAt)],
    ['Ended', completedAt === null ? null : timeElement(completedAt)],
    ['Took', record.duration_ms === null ? null : formatMs(record.duration_ms)],
    ['Input tokens', usage && formatInput(usage)],
    ['Prompt', promptOf(record)],
    ['Output tokens', usage && formatOutput(usage)],
    ['Tokens counted', record.usage_estimated ? 'by estimate, since the backend sent no usage' : null],
    ['Cost', cost === null ? null : formatCredits(cost)],
  ]);
}

/**
 * @param {RequestRecord} record
 * @returns {string | null} How it goes on from the turn before.
 */
function promptOf({ cache }) {
  if (cache === null || cache.turn === null) return null;
  const { turn, broken_at: at, broken_by: by } = cache;
  if (turn === 'broken') return `differs from the turn before at ${at}, changed by the ${by}`;
  return turn === 'first' ? 'of a first turn' : 'extends that of the turn before';
}

/**
 * @param {Pick<RequestRecord, 'status' | 'cancel_requested_at'>} record
 * @returns {HTMLElement} Has words, since a color does not reach everyone.
 */
export function stateElement({ status, cancel_requested_at }) {
  const text = status === 'processing' && cancel_requested_at !== null ? 'cancelling' : status;
  return element('span', { class: 'state', 'data-state': status }, text);
}

/** Returns `≈ 1,200 / 345`, of input and output. @param {RequestRecord} record */
export function tokensOf({ usage, usage_estimated }) {
  if (usage === null) return '–';
  return `${usage_estimated ? '≈ ' : ''}${formatCount(usage.input_tokens)} / ${formatCount(usage.output_tokens)}`;
}

/** @param {RequestRecord} record */
export function tookOf({ duration_ms }) {
  return duration_ms === null ? '–' : formatMs(duration_ms);
}

/** @param {RequestRecord} record */
export function costOf({ cost }) {
  return cost === null ? '–' : formatCredits(cost);
}
