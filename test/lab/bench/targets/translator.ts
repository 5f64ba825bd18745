/**
 * Nothing but the translation, as anybody would write it around our core: each read is parsed, translated and written. It
 * knows no records, keys, limits, time-outs or backpressure, checks nothing and does not notice who leaves.
 */
import { createServer, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { createParser } from 'eventsource-parser';
import { Pool, type Dispatcher } from 'undici';
import type { CreateResponse, ResponseEvent } from '../../../../src/contract/types.ts';
import { DIALECTS } from '../../../../src/core/dialects.ts';
import type { ChatChunk } from '../../../../src/core/chat.ts';
import { chunkFromCompletion } from '../../../../src/core/reply/completion.ts';
import { initialResponse } from '../../../../src/core/reply/initial-response.ts';
import { thinkTagsFor } from '../../../../src/core/reply/think-tags.ts';
import { createTranslator } from '../../../../src/core/reply/translator.ts';
import { toChatRequest } from '../../../../src/core/request/request.ts';
import { newUniquePartAt } from '../../../../src/identity/unique-part.ts';
import { listenMeasured } from './measured.ts';

const [upstream = ''] = process.argv.slice(2);
const backend = new Pool(upstream, { connections: null, pipelining: 1, headersTimeout: 0, bodyTimeout: 0 });
const OPTIONS = {
  dialect: DIALECTS.generic,
  upstreamDialect: 'generic',
  modelAliases: new Map<string, string>(),
  hostedTools: 'drop',
} as const;

const server = createServer((req, res) => {
  void buffer(req).then((body) => respond(JSON.parse(body.toString()) as CreateResponse, res));
});
listenMeasured(server);

function respond(request: CreateResponse, res: ServerResponse): void {
  const translation = toChatRequest(request, OPTIONS);
  const unique = newUniquePartAt(Date.now());
  const nowS = () => Math.floor(Date.now() / 1000);
  const translator = createTranslator({
    response: initialResponse(request, translation.tools, { unique, createdAtS: nowS() }),
    unique,
    tools: translation.tools,
    usedCallIds: translation.usedCallIds,
    reasoningOutput: 'summary',
    thinkTags: thinkTagsFor(false, translation.chat),
    logprobs: false,
    maxToolCalls: null,
    nowS,
  });
  const handler = request.stream === true ? streamTo(res) : answerTo(res);
  const headers = { 'content-type': 'application/json' };
  const body = JSON.stringify(translation.chat);
  backend.dispatch({ method: 'POST', path: '/v1/chat/completions', headers, body }, handler);

  function streamTo(res: ServerResponse): Dispatcher.DispatchHandler {
    const decoder = new TextDecoder();
    let text = '';
    const parser = createParser({
      onEvent({ data }) {
        text +=
          data === '[DONE]' ? toText(translator.end(true)) : toText(translator.feed([JSON.parse(data) as ChatChunk]));
      },
    });
    return {
      ...handlerFor(res),
      onResponseStart() {
        res.writeHead(200, { 'content-type': 'text/event-stream' });
        text = toText(translator.start());
      },
      onResponseData(_controller, bytes) {
        parser.feed(decoder.decode(bytes, { stream: true }));
        if (text !== '') res.write(text);
        text = '';
      },
      onResponseEnd: () => void res.end('data: [DONE]\n\n'),
    };
  }

  function answerTo(res: ServerResponse): Dispatcher.DispatchHandler {
    const pieces: Buffer[] = [];
    return {
      ...handlerFor(res),
      onResponseData: (_controller, bytes) => void pieces.push(bytes),
      onResponseEnd() {
        translator.start();
        translator.feed([chunkFromCompletion(JSON.parse(Buffer.concat(pieces).toString()) as ChatChunk)]);
        translator.end(true);
        const json = Buffer.from(JSON.stringify(translator.response));
        res.writeHead(200, { 'content-type': 'application/json', 'content-length': json.length }).end(json);
      },
    };
  }
}

function handlerFor(res: ServerResponse): Dispatcher.DispatchHandler {
  return { onRequestStart() {}, onResponseStart() {}, onResponseError: () => void res.destroy() };
}

function toText(events: readonly ResponseEvent[]): string {
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');
}
