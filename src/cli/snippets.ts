import type { Config } from '../config/config.ts';

export interface Snippet {
  readonly id: 'openai-js' | 'openai-python' | 'ai-sdk' | 'codex';
  readonly title: string;
  readonly text: string;
}

/** Returns configurations of clients without their key. `baseUrl` ends with `/api/v1`. */
export function writeSnippets(baseUrl: string, model: string): readonly Snippet[] {
  const url = quote(baseUrl);
  const name = quote(model);
  return [
    { id: 'openai-js', title: 'OpenAI SDK (JavaScript)', text: writeOpenAiJs(url, name) },
    { id: 'openai-python', title: 'OpenAI SDK (Python)', text: writeOpenAiPython(url, name) },
    { id: 'ai-sdk', title: 'AI SDK', text: writeAiSdk(url, name) },
    { id: 'codex', title: 'Codex CLI (~/.codex/config.toml)', text: writeCodex(baseUrl, model) },
  ];
}

/** A JSON string is a string in JavaScript, Python and TOML too. */
function quote(text: string): string {
  return JSON.stringify(text).replaceAll(/[\p{C}\u2028\u2029]/gu, (character) =>
    Array.from({ length: character.length }, (_, at) => toEscape(character.charCodeAt(at))).join(''),
  );
}

function toEscape(code: number): string {
  return String.raw`\u` + code.toString(16).padStart(4, '0');
}

function writeOpenAiJs(url: string, model: string): string {
  return `import OpenAI from "openai";

const client = new OpenAI({ baseURL: ${url}, apiKey: process.env.GATEWAY_API_KEY });
const response = await client.responses.create({ model: ${model}, input: "Hello" });
console.log(response.output_text);`;
}

function writeOpenAiPython(url: string, model: string): string {
  return `import os
from openai import OpenAI

client = OpenAI(base_url=${url}, api_key=os.environ["GATEWAY_API_KEY"])
response = client.responses.create(model=${model}, input="Hello")
print(response.output_text)`;
}

/** `store: false` makes the SDK send output itself and no references to stored items. */
function writeAiSdk(url: string, model: string): string {
  return `import { createOpenAI } from "@ai-sdk/openai";
import { generateText } from "ai";

const gateway = createOpenAI({ baseURL: ${url}, apiKey: process.env.GATEWAY_API_KEY });
const { text } = await generateText({
  model: gateway.responses(${model}),
  prompt: "Hello",
  providerOptions: { openai: { store: false, include: ["reasoning.encrypted_content"] } },
});
console.log(text);`;
}

export function writeCodex(baseUrl: string, model: string): string {
  return `model = ${quote(model)}
model_provider = "gateway"

[model_providers.gateway]
name = "Responses gateway"
base_url = ${quote(baseUrl)}
env_key = "GATEWAY_API_KEY"
wire_api = "responses"
supports_websockets = false`;
}

/** Returns the address of the gateway for clients, without a slash at its end. */
export function toGatewayUrl({ publicBaseUrl, host, port }: Config): string {
  return publicBaseUrl ?? `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
