import { readJson, toFailure } from './client.js';
import { byId, say } from './dom.js';
import { formatCount } from './format.js';

/** @import { CompactionResource, CreateResponse, InputTokens } from '../contract/types.ts' */
/** @import { Answer } from './answer.js' */
/** @import { Client } from './client.js' */
/** @import { Conversation } from './conversation.js' */

/**
 * @param {object} options
 * @param {Client} options.client
 * @param {Conversation} options.conversation
 * @param {() => CreateResponse} options.read Without the turns before.
 * @param {Answer} options.answer
 * @param {() => void} options.onChange
 */
export function createConversationPanel({ client, conversation, read, answer, onChange }) {
  const send = byId('try-send', HTMLButtonElement);
  const checkbox = byId('try-continue', HTMLInputElement);
  const turns = byId('try-turns', HTMLElement);
  const count = byId('try-count', HTMLButtonElement);
  const compact = byId('try-compact', HTMLButtonElement);
  const status = byId('try-tokens', HTMLElement);

  /** @param {CreateResponse} request */
  async function countTokens({ model, ...request }) {
    const { stream: _stream, ...body } = { model: model || '-', ...request };
    const reply = await client.post('responses/input_tokens', body);
    return /** @type {InputTokens} */ (await readJson(reply));
  }

  async function showCount() {
    const request = read();
    const whole = checkbox.checked ? conversation.continueWith(request) : request;
    const { input_tokens: tokens, estimated_by: by } = await countTokens(whole);
    return `About ${formatCount(tokens)} input tokens (estimated by ${by}).`;
  }

  async function compactTurns() {
    const { model, instructions } = read();
    const request = { model, ...(instructions !== undefined && { instructions }) };
    const before = await countTokens({ ...request, input: conversation.items });
    const reply = await client.post('responses/compact', { ...request, input: conversation.items });
    const { output, usage } = /** @type {CompactionResource} */ (await readJson(reply));
    conversation.replace(output);
    const after = await countTokens({ ...request, input: conversation.items });
    const [from, to] = [before, after].map((counted) => formatCount(counted.input_tokens));
    checkbox.checked = true;
    const cost = `${formatCount(usage.input_tokens)} in, ${formatCount(usage.output_tokens)} out`;
    answer.addBlock({
      title: 'Compaction',
      text: `The earlier turns are now a sealed summary with the user’s latest messages: ${output.length} items.`,
    });
    return `Compacted: about ${from} → ${to} input tokens. The summary took ${cost}.`;
  }

  /** @param {HTMLButtonElement} button @param {() => Promise<string>} work Resolves to a sentence for the user. */
  async function perform(button, work) {
    setBusy(true);
    status.dataset['state'] = 'busy';
    say(status, 'One moment …');
    try {
      say(status, await work());
      status.dataset['state'] = 'good';
    } catch (error) {
      say(status, toFailure(error).sentence);
      status.dataset['state'] = 'bad';
    } finally {
      setBusy(false);
      onChange();
      // A disabled button loses the focus.
      if (document.activeElement === document.body) button.focus();
    }
  }

  /** @param {boolean} busy */
  function setBusy(busy) {
    send.disabled = busy;
    update(busy);
  }

  /** @param {boolean} busy */
  function update(busy) {
    const made = conversation.turns;
    const answered = made === 1 ? '1 turn so far' : `${made} turns so far`;
    byId('try-conversation', HTMLElement).hidden = made === 0;
    turns.textContent = `${answered}${conversation.isCompacted ? ', compacted' : ''}.`;
    checkbox.disabled = busy || made === 0;
    if (made === 0) checkbox.checked = false;
    count.disabled = busy;
    compact.disabled = busy || made === 0;
  }

  count.addEventListener('click', () => void perform(count, showCount));
  compact.addEventListener('click', () => void perform(compact, compactTurns));
  update(false);

  return {
    get continues() {
      return checkbox.checked;
    },
    /** @param {boolean} isRunning */
    setRunning(isRunning) {
      update(isRunning);
      if (isRunning) say(status, null);
    },
  };
}
