/** A chat backend for the bench, as fast as Node has one: prebuilt answers, no parsing. Prints its port. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const CHUNKS = 200;
const chunk = (delta: object, finish: string | null = null) =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
const usage = { prompt_tokens: 20, completion_tokens: CHUNKS, total_tokens: 20 + CHUNKS };
const STREAM = [
  chunk({ role: 'assistant', content: '' }),
  ...Array.from({ length: CHUNKS }, (_, index) => chunk({ content: ` word${index}` })),
  chunk({}, 'stop'),
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [], usage })}\n\n`,
  'data: [DONE]\n\n',
].join('');
const COMPLETION = JSON.stringify({
  id: 'c',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: 'A short answer.' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 20, completion_tokens: 4, total_tokens: 24 },
});

const server = createServer((req, res) => {
  const pieces: Buffer[] = [];
  req.on('data', (piece: Buffer) => pieces.push(piece));
  req.on('end', () => {
    const body = Buffer.concat(pieces).toString();
    if (body.includes('"hang please"')) {
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      res.write(chunk({ content: 'first' }));
      res.once('close', () => process.send?.({ closedAt: Date.now() }));
    } else if (body.includes('"stream":true')) {
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      res.end(STREAM);
    } else {
      res.writeHead(200, { 'content-type': 'application/json', 'content-length': COMPLETION.length });
      res.end(COMPLETION);
    }
  });
});
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }));
process.once('disconnect', () => process.exit(0));
