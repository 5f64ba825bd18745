import type { ChatBackend } from '../../src/backend/chat.ts';
import type { ChatBatch, ChatRequest } from '../../src/core/chat.ts';

/** A backend within the process that answers each request with all of these chunks at once. */
export function backendOf(chunks: ChatBatch['chunks'], onRequest?: (request: ChatRequest) => void): ChatBackend {
  return {
    ask(request, _options, listener) {
      onRequest?.(request);
      listener.begin({ headers: {}, leftOut: [], limitTotal: () => undefined });
      return listener.take({ chunks, done: true }) ?? Promise.resolve();
    },
    close: () => Promise.resolve(),
  };
}
