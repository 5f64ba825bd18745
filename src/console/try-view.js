import { createCodePanel } from './code-panel.js';
import { createConversation } from './conversation.js';
import { createConversationPanel } from './conversation-panel.js';
import { byId, sayProblem } from './dom.js';
import { createModelField } from './model-field.js';
import { readFields } from './request-fields.js';
import { createRunner } from './runner.js';

/** @import { CreateResponse } from '../contract/types.ts' */
/** @import { Client } from './client.js' */
/** @import { ConsoleConfig, View } from './main.js' */

const EXAMPLE_TOOLS = [
  {
    type: 'function',
    name: 'get_weather',
    description: 'The weather of a city, now.',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
];

/** @type {(context: { client: Client, config: ConsoleConfig }) => View} */
export function createTryView({ client, config }) {
  const form = byId('try-form', HTMLFormElement);
  const send = byId('try-send', HTMLButtonElement);
  const input = byId('try-input', HTMLTextAreaElement);
  const instructions = byId('try-instructions', HTMLTextAreaElement);
  const tools = byId('try-tools', HTMLTextAreaElement);
  const limit = byId('try-limit', HTMLInputElement);
  const effort = byId('try-effort', HTMLSelectElement);
  const transport = byId('try-transport', HTMLSelectElement);
  const stream = byId('try-stream', HTMLInputElement);
  const model = createModelField({ client, config });
  const conversation = createConversation();
  const runner = createRunner({
    client,
    conversation,
    onRunning(isRunning) {
      panel.setRunning(isRunning);
      update();
    },
  });
  const panel = createConversationPanel({
    client,
    conversation,
    read: () => read().request,
    answer: runner.answer,
    onChange: () => update(),
  });
  const showCode = createCodePanel(config);

  const read = () =>
    readFields({
      model: model.value,
      input: input.value,
      instructions: instructions.value,
      tools: tools.value,
      maxOutputTokens: limit.value,
      effort: effort.value,
      stream: stream.checked,
    });
  const update = () => showCode(read().request, panel);

  /** @returns {CreateResponse | null} null when a field is wrong, which then shows the reason. */
  function check() {
    const { request, problems } = read();
    /** @type {readonly (readonly [HTMLElement, string, string | undefined])[]} */
    const fields = [
      [model.field, 'try-model-error', problems.model],
      [input, 'try-input-error', problems.input],
      [tools, 'try-tools-error', problems.tools],
      [limit, 'try-limit-error', problems.maxOutputTokens],
    ];
    for (const [field, place, problem] of fields) sayProblem(field, byId(place, HTMLElement), problem ?? null);
    const wrong = fields.find(([, , problem]) => problem !== undefined)?.[0];
    const hidden = wrong?.closest('details');
    if (hidden) hidden.open = true;
    wrong?.focus();
    return wrong === undefined ? request : null;
  }

  const overSocket = () => transport.value === 'websocket';
  transport.addEventListener('change', () => {
    // A request over a WebSocket is always streamed.
    stream.disabled = overSocket();
    if (overSocket()) stream.checked = true;
  });
  form.addEventListener('input', update);
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    // The keyboard shortcut can ask for it at any time.
    if (send.disabled) return;
    const request = check();
    if (request === null) return;
    void runner.start({
      request,
      continues: panel.continues,
      transport: overSocket() ? 'websocket' : 'http',
    });
  });
  // Enter alone is a new line, as in a chat.
  input.addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  });
  byId('try-tools-example', HTMLButtonElement).addEventListener('click', () => {
    tools.value = JSON.stringify(EXAMPLE_TOOLS, null, 2);
    update();
  });
  update();

  return {
    show() {
      void model.load().then(update);
    },
    // A running request goes on, so that its record can be watched.
    hide() {},
  };
}
