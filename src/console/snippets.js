/** Every snippet is one valid program, whatever the request contains. */

/** @import { CreateResponse, FunctionTool } from '../contract/types.ts' */

/**
 * @typedef {object} Snippet
 * @property {string} id
 * @property {string} label
 * @property {(request: CreateResponse, baseUrl: string) => string} write `baseUrl` ends with
 *   `/api/v1`.
 *
 * @typedef {null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json
 *   }} Json
 */

/** @type {readonly Snippet[]} */
export const SNIPPETS = [
  { id: 'curl', label: 'curl', write: toCurl },
  { id: 'openai-js', label: 'OpenAI SDK (JavaScript)', write: toOpenAiJs },
  { id: 'openai-ws', label: 'WebSocket (JavaScript)', write: toOpenAiWebSocket },
  { id: 'openai-python', label: 'OpenAI SDK (Python)', write: toOpenAiPython },
  { id: 'ai-sdk', label: 'AI SDK', write: toAiSdk },
];

/** @param {CreateResponse} request @param {string} baseUrl */
function toCurl(request, baseUrl) {
  return [
    `curl ${request.stream === true ? '-N ' : ''}${shellWord(`${baseUrl}/responses`)}`,
    `-H "Authorization: Bearer $GATEWAY_API_KEY"`,
    `-H 'Content-Type: application/json'`,
    `-d ${shellWord(JSON.stringify(request, null, 2))}`,
  ].join(' \\\n  ');
}

/** @param {string} text */
function shellWord(text) {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** @param {CreateResponse} request @param {string} baseUrl */
function toOpenAiJs(request, baseUrl) {
  const call = `await client.responses.create(${jsLiteral(toJson(request))})`;
  const use =
    request.stream === true
      ? `const stream = ${call};
for await (const event of stream) {
  if (event.type === 'response.output_text.delta') process.stdout.write(event.delta);
}`
      : `const response = ${call};
console.log(response.output_text);`;
  return `import OpenAI from 'openai';

const client = new OpenAI({
  baseURL: ${jsLiteral(baseUrl)},
  apiKey: process.env.GATEWAY_API_KEY,
});
${use}`;
}

/** A request over a WebSocket is always streamed. @param {CreateResponse} request @param {string} baseUrl */
function toOpenAiWebSocket({ stream: _stream, ...request }, baseUrl) {
  return `import OpenAI from 'openai';
import { ResponsesWS } from 'openai/resources/responses/ws';

const client = new OpenAI({
  baseURL: ${jsLiteral(baseUrl)},
  apiKey: process.env.GATEWAY_API_KEY,
});
const socket = new ResponsesWS(client);
socket.on('error', (error) => {
  throw error;
});
socket.on('response.output_text.delta', ({ delta }) => process.stdout.write(delta));
for (const end of ['response.completed', 'response.incomplete', 'response.failed']) {
  socket.on(end, () => socket.close());
}
socket.send(${jsLiteral({ type: 'response.create', ...toJson(request) })});`;
}

/** @param {CreateResponse} request @param {string} baseUrl */
function toOpenAiPython(request, baseUrl) {
  const fields = Object.entries(toJson(request)).map(
    ([name, value]) => `    ${name}=${pythonLiteral(value, '    ')},\n`,
  );
  const call = `client.responses.create(\n${fields.join('')})`;
  const use =
    request.stream === true
      ? `stream = ${call}
for event in stream:
    if event.type == "response.output_text.delta":
        print(event.delta, end="", flush=True)`
      : `response = ${call}
print(response.output_text)`;
  return `import os
from openai import OpenAI

client = OpenAI(
    base_url=${pythonLiteral(baseUrl)},
    api_key=os.environ["GATEWAY_API_KEY"],
)
${use}`;
}

/**
 * `store: false` keeps the SDK from replacing output by references to stored items, which the
 * gateway does not have. The `include` returns its reasoning to a model.
 * @param {CreateResponse} request
 * @param {string} baseUrl
 */
function toAiSdk(request, baseUrl) {
  const functions = (request.tools ?? []).filter(isFunctionTool);
  const others = (request.tools ?? []).length - functions.length;
  const call = request.stream === true ? 'streamText' : 'generateText';
  const names = [...(functions.length > 0 ? ['jsonSchema'] : []), call, ...(functions.length > 0 ? ['tool'] : [])];
  const effort = request.reasoning?.effort;
  const lines = [
    `  model: gateway.responses(${jsLiteral(request.model)}),`,
    ...(typeof request.instructions === 'string' ? [`  instructions: ${jsLiteral(request.instructions)},`] : []),
    `  prompt: ${jsLiteral(toJson(request)['input'] ?? '')},`,
    ...(typeof request.max_output_tokens === 'number' ? [`  maxOutputTokens: ${request.max_output_tokens},`] : []),
    ...(functions.length > 0 ? ['  tools: {', ...functions.map(toAiSdkTool), '  },'] : []),
    ...(others > 0 ? ['  // Tools of other types than function have no form here.'] : []),
    '  providerOptions: {',
    '    openai: {',
    '      store: false,',
    `      include: ['reasoning.encrypted_content'],`,
    ...(typeof effort === 'string'
      ? ['      forceReasoning: true,', `      reasoningEffort: ${jsLiteral(effort)},`]
      : []),
    '    },',
    '  },',
  ].join('\n');
  const use =
    request.stream === true
      ? `const { textStream } = streamText({\n${lines}\n});\nfor await (const text of textStream) process.stdout.write(text);`
      : `const { text } = await generateText({\n${lines}\n});\nconsole.log(text);`;
  return `import { createOpenAI } from '@ai-sdk/openai';
import { ${names.join(', ')} } from 'ai';

const gateway = createOpenAI({
  baseURL: ${jsLiteral(baseUrl)},
  apiKey: process.env.GATEWAY_API_KEY,
});
${use}`;
}

/** @type {(tool: { type?: string }) => tool is FunctionTool} */
function isFunctionTool(tool) {
  return tool.type === 'function';
}

/** @param {FunctionTool} tool */
function toAiSdkTool({ name, description, parameters = { type: 'object', properties: {} } }) {
  const about = description === undefined ? '' : `      description: ${jsLiteral(description)},\n`;
  const schema = jsLiteral(toJson(parameters), '      ');
  return `    ${jsLiteral(name)}: tool({\n${about}      inputSchema: jsonSchema(${schema}),\n    }),`;
}

/** Removes what JSON does not carry, such as undefined. @type {(value: object) => Readonly<Record<string, Json>>} */
function toJson(value) {
  return /** @type {Readonly<Record<string, Json>>} */ (JSON.parse(JSON.stringify(value)));
}

/** @param {Json} value @param {string} [indent] of the line on which the value begins @returns {string} */
function jsLiteral(value, indent = '') {
  if (typeof value === 'string') return jsString(value);
  const key = (/** @type {string} */ name) =>
    /^[A-Za-z_$][\w$]*$/.test(name) && name !== '__proto__' ? name : `[${jsString(name)}]`;
  return literal(value, { indent, step: '  ', write: jsLiteral, scalar: String, key });
}

/** JSON's escapes are valid in JavaScript. Single quotes are its usual style. @param {string} text */
function jsString(text) {
  return `'${JSON.stringify(text)
    .slice(1, -1)
    .replaceAll(String.raw`\"`, '"')
    .replaceAll("'", String.raw`\'`)}'`;
}

/** JSON's strings are valid in Python. @type {(value: Json, indent?: string) => string} */
function pythonLiteral(value, indent = '') {
  if (typeof value === 'string') return JSON.stringify(value);
  const scalar = (/** @type {null | boolean | number} */ one) =>
    ({ null: 'None', true: 'True', false: 'False' })[String(one)] ?? String(one);
  return literal(value, { indent, step: '    ', write: pythonLiteral, scalar, key: (name) => JSON.stringify(name) });
}

/**
 * @param {Exclude<Json, string>} value
 * @param {object} language
 * @param {string} language.indent
 * @param {string} language.step
 * @param {(value: Json, indent: string) => string} language.write
 * @param {(value: null | boolean | number) => string} language.scalar
 * @param {(name: string) => string} language.key
 * @returns {string}
 */
function literal(value, { indent, step, write, scalar, key }) {
  if (value === null || typeof value !== 'object') return scalar(value);
  const inner = indent + step;
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}'];
  const parts = Array.isArray(value)
    ? value.map((/** @type {Json} */ one) => write(one, inner))
    : Object.entries(value).map(([name, one]) => `${key(name)}: ${write(one, inner)}`);
  return parts.length === 0
    ? open + close
    : `${open}\n${parts.map((part) => `${inner}${part},\n`).join('')}${indent}${close}`;
}
