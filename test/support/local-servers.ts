/** Servers that refuse or ignore a `tool_choice`, as scripts: their models call the first tool that they see, twice. */

import type { Script } from './backend.ts';

interface Chat {
  readonly stream?: boolean;
  readonly tools?: readonly { readonly function: { readonly name: string } }[];
  readonly tool_choice?: unknown;
}

export interface LocalServer {
  readonly dialect: string;
  /** Whether an object is refused. Else every choice is ignored. */
  readonly refusesObjects: boolean;
}

export const LOCAL_SERVERS: Readonly<Record<string, LocalServer>> = {
  // lmstudio-ai/lmstudio-bug-tracker#670
  'LM Studio': { dialect: 'generic', refusesObjects: true },
  // ggml-org/llama.cpp#26535
  'llama.cpp': { dialect: 'llamacpp', refusesObjects: false },
  // ollama/ollama#17921
  Ollama: { dialect: 'ollama', refusesObjects: false },
};

/** Plays such a server. Each call has the arguments `args`. */
export function playLocalServer({ refusesObjects }: LocalServer, args = '{}'): Script {
  return async ({ request, start, sse, end }) => {
    const { stream, tools = [], tool_choice: choice } = request.body as Chat;
    if (refusesObjects && typeof choice === 'object') {
      start(400, { 'content-type': 'application/json' });
      const error = "Invalid tool_choice type: 'object'. Supported string values: none, auto, required";
      end(JSON.stringify({ error }));
      return;
    }
    const name = tools[0]?.function.name;
    const calls = ['call_a', 'call_b'].map((id, index) => ({
      index,
      id,
      type: 'function',
      function: { name, arguments: args },
    }));
    const said = name === undefined ? { content: 'No tools.' } : { content: null, tool_calls: calls };
    const finish = name === undefined ? 'stop' : 'tool_calls';
    if (stream === true) {
      await sse({ choices: [{ index: 0, delta: { role: 'assistant', ...said }, finish_reason: finish }] });
      await sse('[DONE]');
      end();
      return;
    }
    start(200, { 'content-type': 'application/json' });
    const message = { role: 'assistant', ...said };
    end(JSON.stringify({ object: 'chat.completion', choices: [{ index: 0, message, finish_reason: finish }] }));
  };
}
