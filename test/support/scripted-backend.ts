import type { ChatBackend } from '../../src/backend/chat.ts';
import type { ChatBatch, ChatRequest } from '../../src/core/chat.ts';
import { isEncoded } from '../../src/core/encoded-chat.ts';

/** A backend within the process that answers each request with all of these chunks at once. */
export function backendOf(chunks: ChatBatch['chunks'], onRequest?: (request: ChatRequest) => void): ChatBackend {
  return {
    ask(request, _options, listener) {
      if (isEncoded(request)) throw new Error('this backend takes small requests');
      onRequest?.(request);
      listener.begin({ headers: {}, leftOut: [], limitTotal: () => undefined });
      return listener.take({ chunks, done: true }) ?? Promise.resolve();
    },
    close: () => Promise.resolve(),
  };
}
