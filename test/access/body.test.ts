import { randomBytes } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import {
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import { connect } from 'node:net';
import { Readable } from 'node:stream';
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync, type InputType } from 'node:zlib';
import { expect } from 'chai';
import type { Request, Response } from 'express';
import { parseJson } from '../../src/core/parse-json.ts';
import { discardBody, readBody, readJsonBody } from '../../src/access/body.ts';
import { authenticate } from '../../src/access/authenticate.ts';
import { createLoad, limitLoad, type Load } from '../../src/access/load.ts';
import type { RequestFacts } from '../../src/telemetry/facts.ts';
import type { Caller } from '../../src/accounts/caller.ts';
import { keepFacts } from '../../src/telemetry/reply-facts.ts';
import { ApiError, type ErrorCode } from '../../src/core/errors.ts';
import { useRealSockets } from '../support/real-sockets.ts';
import { useHeldTime } from '../support/held-time.ts';
import { allArrived } from '../support/time.ts';

const MAX_BYTES = 64 * 1024;
const TEXT = Buffer.from(JSON.stringify({ input: 'Grüße, 世界 '.repeat(50) }));

describe('readBody', () => {
  useRealSockets();

  let server: Server;
  let port: number;
  let outcome: Promise<Buffer | ApiError>;
  let serve: (req: IncomingMessage) => Promise<Buffer>;

  beforeEach(async () => {
    serve = (req) => readBody(req, { maxBytes: MAX_BYTES });
    server = createServer();
    outcome = new Promise((resolve) => {
      server.on('request', (req, res) => void answer(req, res).then(resolve));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    port = (server.address() as { port: number }).port;
  });

  afterEach(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });

  async function answer(req: IncomingMessage, res: ServerResponse): Promise<Buffer | ApiError> {
    try {
      const bytes = await serve(req);
      res.end('ok');
      return bytes;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      res.statusCode = error.status;
      res.end(error.code);
      discardBody(req);
      return error;
    }
  }

  async function post(body: Uint8Array, encoding?: string): Promise<{ status: number; text: string }> {
    const response = await fetch(`http://127.0.0.1:${port}/`, {
      method: 'POST',
      body: body as Uint8Array<ArrayBuffer>,
      headers: encoding === undefined ? {} : { 'content-encoding': encoding },
    });
    return { status: response.status, text: await response.text() };
  }

  const encodings: { name: string; header: string; encode: (bytes: InputType) => Buffer }[] = [
    { name: 'gzip', header: 'gzip', encode: gzipSync },
    { name: 'gzip by its old name and in capitals', header: 'X-GZIP', encode: gzipSync },
    { name: 'deflate with the zlib header', header: 'deflate', encode: deflateSync },
    { name: 'deflate without the zlib header', header: 'deflate', encode: deflateRawSync },
    { name: 'brotli', header: 'br', encode: brotliCompressSync },
    { name: 'zstd', header: 'zstd', encode: zstdCompressSync },
    { name: 'identity', header: 'identity', encode: (bytes) => Buffer.from(bytes as Buffer) },
    { name: 'identity beside gzip', header: 'gzip, identity', encode: gzipSync },
  ];

  for (const { name, header, encode } of encodings) {
    it(`reads ${name}`, async () => {
      await post(encode(TEXT), header);
      expect(await outcome).to.deep.equal(TEXT);
    });
  }

  it('reads a body without an encoding in several pieces', async () => {
    const req = httpRequest({ port, host: '127.0.0.1', method: 'POST' });
    req.write(TEXT.subarray(0, 17));
    await allArrived();
    req.end(TEXT.subarray(17));
    expect(await outcome).to.deep.equal(TEXT);
  });

  it('reads a large body by pieces in turns of the event loop', async () => {
    const pieces = 16;
    let left = pieces;
    const source = new Readable({
      read() {
        this.push(left-- > 0 ? Buffer.alloc(64 * 1024) : null);
      },
    });
    const req = Object.assign(source, { headers: {}, socket: { bytesRead: 0 } }) as unknown as IncomingMessage;
    let turns = 0;
    let counting = setImmediate(function count() {
      turns++;
      counting = setImmediate(count);
    });
    const whole = await readBody(req, { maxBytes: 1024 * 1024 });
    clearImmediate(counting);
    expect(whole.length).to.equal(pieces * 64 * 1024);
    expect(turns).to.be.at.least(pieces / 2);
  });

  it('reads a body of tiny pieces in turns of the event loop, and whole', async () => {
    const inTurns: number[] = [];
    let inTurn = 0;
    serve = (req) => {
      req.on('data', () => {
        if (inTurn === 0)
          setImmediate(() => {
            inTurns.push(inTurn);
            inTurn = 0;
          });
        inTurn += 1;
      });
      return readBody(req, { maxBytes: MAX_BYTES });
    };
    const count = 60_000;
    const piece = '1\r\nx\r\n';
    const client = connect(port, '127.0.0.1');
    client.end(`POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n${piece.repeat(count)}0\r\n\r\n`);
    expect(String(await outcome)).to.equal('x'.repeat(count));
    client.destroy();
    // One read of Node brings 64 KiB; it would make three and more of these.
    expect(Math.max(...inTurns) * piece.length).to.be.at.most(1.5 * 64 * 1024);
  });

  it('reads a body of exactly the limit', async () => {
    await post(Buffer.alloc(MAX_BYTES, 'a'));
    expect(await outcome).to.have.length(MAX_BYTES);
  });

  it('reads a compressed body of exactly the limit', async () => {
    await post(gzipSync(Buffer.alloc(MAX_BYTES, 'a')), 'gzip');
    expect(await outcome).to.have.length(MAX_BYTES);
  });

  for (const { name, text } of [
    { name: 'that turns out to be large', text: Buffer.alloc(1024 * 1024, 'a') },
    { name: 'that is large before decompression', text: randomBytes(512 * 1024) },
  ]) {
    it(`reads a compressed body ${name}`, async () => {
      serve = (req) => readBody(req, { maxBytes: 1024 * 1024 });
      await post(gzipSync(text), 'gzip');
      expect(await outcome).to.deep.equal(text);
    });
  }

  it('gives the memory of a refused body back at once', async () => {
    const pieces = [Buffer.alloc(2000), Buffer.alloc(2000)];
    const req = Object.assign(Readable.from(pieces), { headers: {}, socket: {} }) as unknown as IncomingMessage;
    const error: unknown = await readBody(req, { maxBytes: 3000 }).catch((thrown: unknown) => thrown);
    expect(error).to.have.property('code', 'payload_too_large');
    expect(pieces.map(({ length }) => length)).to.deep.equal([0, 0]);
  });

  describe('compressed, of a caller with a share', () => {
    const MAX_LARGE_BYTES = 4 * 1024 * 1024;

    function openLoad(maxBodyBytesInFlight: number): Load {
      return createLoad({
        maxConcurrentRequests: 100,
        maxBodyBytes: 1024 * 1024,
        maxBodyBytesInFlight,
        maxWebSockets: 1,
        callerSharePercent: 100,
      });
    }

    async function readOf(name: string, load: Load, body: Buffer): Promise<Buffer> {
      const source = Readable.from([body]);
      const req = Object.assign(source, { headers: { 'content-encoding': 'gzip' }, socket: {} }) as unknown as Request;
      const res = new EventEmitter() as Response;
      keepFacts(res, {} as RequestFacts);
      const caller: Caller = { identity: [name], backendHeaders: {}, holder: () => ({ name, isStranger: false }) };
      await authenticate(() => ({ caller }))(req, res, () => undefined);
      await limitLoad(load)(req, res, () => undefined);
      return readBody(req, { maxBytes: MAX_LARGE_BYTES });
    }

    it('waits for few of the large bodies of another', async () => {
      const load = openLoad(1024 * 1024 * 1024);
      const large = gzipSync(Buffer.concat([randomBytes(300_000), Buffer.alloc(3_000_000)]));
      let done = 0;
      const many = Array.from({ length: 24 }, async () => {
        await readOf('many', load, large);
        done += 1;
      });
      // Until all of them have arrived.
      await allArrived();
      const before = done;
      await readOf('one', load, gzipSync(randomBytes(300_000)));
      expect(done - before).to.be.at.most(8);
      await Promise.all(many);
    });

    it('counts as it grows, so that one for which there is no room ends there', async () => {
      const cutShort = gzipSync(Buffer.concat([randomBytes(300_000), Buffer.alloc(3_000_000)])).subarray(0, -9);
      const error: unknown = await readOf('one', openLoad(1024 * 1024), cutShort).catch((thrown: unknown) => thrown);
      expect(error).to.have.property('code', 'concurrency_limit_exceeded');
    });

    it('counts once, as the larger of what it was and what it has become', async () => {
      const load = openLoad(8 * 1024 * 1024);
      for (const zeros of [0, 1_500_000]) {
        const { used } = load.bodyBytes;
        const text = Buffer.concat([randomBytes(400_000), Buffer.alloc(zeros)]);
        const sent = gzipSync(text);
        await readOf('one', load, sent);
        expect(load.bodyBytes.used - used).to.equal(Math.max(text.length, sent.length));
      }
    });
  });

  describe('of which a byte may become a hundred, beyond 1 MiB', () => {
    const MAX_LARGE_BYTES = 4 * 1024 * 1024;
    const zeros = (bytes: number) => Buffer.alloc(bytes, '0');

    beforeEach(() => {
      serve = (req) => readBody(req, { maxBytes: MAX_LARGE_BYTES });
    });

    for (const { name, header, encode } of encodings.filter(({ header }) => !header.includes('identity'))) {
      it(`refuses one byte more than 1 MiB of zeros, ${name}`, async () => {
        expect(await post(encode(zeros(1024 * 1024 + 1)), header)).to.deep.equal({
          status: 413,
          text: 'payload_too_large',
        });
        expect(await outcome)
          .to.have.property('message')
          .that.matches(/100 times the compressed size/);
      });

      it(`takes 1 MiB of them, ${name}`, async () => {
        await post(encode(zeros(1024 * 1024)), header);
        expect(await outcome).to.have.length(1024 * 1024);
      });

      it(`takes more that was sent in a hundredth of it, ${name}`, async () => {
        const text = Buffer.concat([randomBytes(20_000), zeros(1_900_000)]);
        await post(encode(text), header);
        expect(await outcome).to.deep.equal(text);
      });
    }

    it('is told the limit of the body where that is the lower one', async () => {
      await post(gzipSync(Buffer.concat([randomBytes(100_000), zeros(MAX_LARGE_BYTES)])), 'gzip');
      expect(await outcome)
        .to.have.property('message')
        .that.includes(`at most ${MAX_LARGE_BYTES} bytes`);
    });
  });

  const refused: { name: string; body: Buffer; header?: string; code: ErrorCode }[] = [
    { name: 'one byte more than the limit', body: Buffer.alloc(MAX_BYTES + 1), code: 'payload_too_large' },
    ...encodings
      .filter(({ header }) => header !== 'identity')
      .flatMap(({ name, header, encode }) => [
        {
          name: `a bomb, ${name}`,
          body: encode(Buffer.alloc(20 * MAX_BYTES, 'a')),
          header,
          code: 'payload_too_large' as const,
        },
        { name: `${name}, cut short`, body: encode(TEXT).subarray(0, -9), header, code: 'invalid_request' as const },
        { name: `text that is not ${name}`, body: Buffer.from('not at all'), header, code: 'invalid_request' as const },
      ]),
    { name: 'two layers', body: gzipSync(gzipSync(TEXT)), header: 'gzip, gzip', code: 'unsupported_content_encoding' },
    { name: 'an unknown encoding', body: TEXT, header: 'compress', code: 'unsupported_content_encoding' },
    {
      name: 'a zstd frame that wants a window of 128 MiB',
      body: Buffer.from('28b52ffd00882900006162636465', 'hex'),
      header: 'zstd',
      code: 'invalid_request',
    },
  ];

  for (const { name, body, header, code } of refused) {
    it(`refuses ${name}`, async () => {
      const { text } = await post(body, header);
      expect(text).to.equal(code);
      expect(await outcome).to.be.instanceOf(ApiError);
    });
  }

  it('refuses an announced length before anything of the body has come', async () => {
    const req = httpRequest({ port, host: '127.0.0.1', method: 'POST', headers: { 'content-length': MAX_BYTES + 1 } });
    req.flushHeaders();
    const [response] = (await once(req, 'response')) as [IncomingMessage];
    expect(response.statusCode).to.equal(413);
    req.on('error', () => {});
    req.destroy();
  });

  it('stops at the limit when the length is not announced', async () => {
    const req = httpRequest({ port, host: '127.0.0.1', method: 'POST' });
    req.write(Buffer.alloc(MAX_BYTES + 1));
    const [response] = (await once(req, 'response')) as [IncomingMessage];
    expect(response.statusCode).to.equal(413);
    req.on('error', () => {});
    req.destroy();
  });

  it('lets a client that sends its whole body first come to read the refusal', async () => {
    const { status, text } = await post(Buffer.alloc(8 * 1024 * 1024));
    expect({ status, text }).to.deep.equal({ status: 413, text: 'payload_too_large' });
  });

  describe('from a client that never stops sending', () => {
    const passTime = useHeldTime();

    it('cuts the connection', async () => {
      const socket = connect(port, '127.0.0.1');
      let isClosed = false;
      socket.on('error', () => {}).on('close', () => (isClosed = true));
      socket.resume();
      socket.write(`POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 99999999999\r\n\r\n`);
      const feeding = setInterval(() => socket.write('x'.repeat(10_000)), 200);
      // More than may be.
      await passTime(7 * 200);
      expect(await outcome).to.have.property('code', 'payload_too_large');
      expect(isClosed).to.equal(false);
      await passTime(2000);
      expect(isClosed).to.equal(true);
      clearInterval(feeding);
    });
  });

  describe('of a client that sends slowly', () => {
    const passTime = useHeldTime();

    for (const { name, everyS, bytes, code } of [
      { name: 'gives up after 10 s without a byte', everyS: 10, bytes: 0, code: 'request_timeout' },
      { name: 'gives up at less than 1 KiB/s', everyS: 1, bytes: 1000, code: 'request_timeout' },
      { name: 'goes on at 1 KiB/s', everyS: 1, bytes: 1024, code: undefined },
    ]) {
      it(name, async () => {
        const length = 20 * 1024;
        const req = httpRequest({ port, host: '127.0.0.1', method: 'POST', headers: { 'content-length': length } });
        req.on('error', () => {});
        req.flushHeaders();
        await once(server, 'request');
        let sent = 0;
        for (let atS = 0; atS < 20; atS += everyS) {
          req.write('x'.repeat(bytes));
          sent += bytes;
          await passTime(everyS * 1000);
        }
        if (sent === length) req.end();
        const given = await outcome;
        expect(given instanceof ApiError ? given.code : undefined).to.equal(code);
        req.destroy();
      });
    }
  });

  it('rejects when the client goes away in the middle of its upload', async () => {
    const req = httpRequest({ port, host: '127.0.0.1', method: 'POST', headers: { 'content-length': 1000 } });
    req.on('error', () => {});
    req.write('half');
    await once(server, 'request');
    req.destroy();
    expect(await outcome).to.have.property('code', 'client_disconnected');
  });

  it('rejects when the client has gone away before the reading begins', async () => {
    serve = async (req) => {
      req.on('error', () => {});
      req.socket.destroy();
      await once(req.socket, 'close');
      return readBody(req, { maxBytes: MAX_BYTES });
    };
    const req = httpRequest({ port, host: '127.0.0.1', method: 'POST', headers: { 'content-length': 1000 } });
    req.on('error', () => {});
    req.write('half');
    expect(await outcome).to.have.property('code', 'client_disconnected');
  });

  const mediaTypes: { type: string; accepted: boolean }[] = [
    { type: 'application/json', accepted: true },
    { type: 'Application/JSON; charset=utf-8', accepted: true },
    { type: 'application/problem+json', accepted: true },
    { type: 'application/x-www-form-urlencoded', accepted: false },
    { type: 'text/plain', accepted: false },
    { type: 'application/jsonp', accepted: false },
    { type: '', accepted: false },
  ];

  for (const { type, accepted } of mediaTypes) {
    it(`${accepted ? 'takes' : 'refuses'} the Content-Type "${type}"`, async () => {
      serve = (req) => readJsonBody(req, { maxBytes: MAX_BYTES });
      const response = await fetch(`http://127.0.0.1:${port}/`, {
        method: 'POST',
        body: '{}',
        headers: { 'content-type': type },
      });
      expect(response.status).to.equal(accepted ? 200 : 415);
    });
  }

  it('takes a body without a Content-Type', async () => {
    serve = (req) => readJsonBody(req, { maxBytes: MAX_BYTES });
    expect(await post(Buffer.from('{}'))).to.have.property('status', 200);
  });
});

describe('parseJson', () => {
  function errorOf(body: string | Buffer): ApiError {
    try {
      parseJson(Buffer.from(body));
    } catch (error) {
      if (error instanceof ApiError) return error;
      throw error;
    }
    throw new Error('nothing was thrown');
  }

  it('takes a byte order mark', () => {
    expect(parseJson(Buffer.from('\u{feff}{"a":1}'))).to.deep.equal({ a: 1 });
  });

  it('refuses bytes that are not UTF-8', () => {
    expect(errorOf(Buffer.from([0x22, 0xc3, 0x28, 0x22]))).to.include({
      code: 'invalid_json',
      message: 'The body is not valid UTF-8.',
    });
  });

  it('refuses an empty body with a sentence that says so', () => {
    expect(errorOf('')).to.include({ code: 'invalid_json', message: 'The body is empty; a JSON object is needed.' });
  });

  it('says where the mistake is', () => {
    expect(errorOf('{\n  "a": secret\n}').message).to.equal(
      'The body is not valid JSON: unexpected character at line 2, column 8 (position 9).',
    );
  });

  it('says that the body ends too early', () => {
    expect(errorOf('{"a": [1, 2').message).to.equal('The body is not valid JSON: it ends too early.');
  });

  it('says where the mistake is in a body of 256 KiB', () => {
    const body = `"${'\\\\'.repeat(128 * 1024 - 2)}" x`;
    expect(body).to.have.length(256 * 1024);
    expect(errorOf(body).message).to.match(/unexpected character at line 1, column 262144 /);
  });

  for (const { name, body } of [
    { name: 'of backslashes', body: `{"input":"${'\\'.repeat(256 * 1024)}` },
    { name: 'of spaces', body: `${' '.repeat(256 * 1024)}x` },
  ]) {
    it(`does not search a larger body for the mistake: one ${name}`, () => {
      expect(errorOf(body)).to.include({
        code: 'invalid_json',
        message: 'The body is not valid JSON. The position of a mistake is only reported for a body of up to 256 KiB.',
      });
    });
  }

  it('never quotes the body, not even in the cause', () => {
    const error = errorOf('{"a": "canary" canary}');
    expect(`${error.message} ${String(error.cause)} ${error.stack}`).not.to.include('canary');
  });

  for (const open of ['[', '{"a":']) {
    const close = open === '[' ? ']' : '}';

    it(`takes 128 levels of ${open}`, () => {
      expect(() => parseJson(Buffer.from(`${open.repeat(127)}${open}0${close}${close.repeat(127)}`))).not.to.throw();
    });

    it(`refuses 129 levels of ${open}`, () => {
      expect(errorOf(`${open.repeat(129)}0${close.repeat(129)}`)).to.include({ code: 'invalid_request' });
    });

    it(`refuses a large body of nothing but ${open} before it is parsed`, () => {
      expect(errorOf(open.repeat(4_000_000)).message).to.equal('The body is nested deeper than 128 levels.');
    });
  }

  it('does not take brackets inside strings for nesting', () => {
    const value = { a: `${'['.repeat(400_000)}\\"{`, b: ['\\', `"${'{'.repeat(300)}`] };
    expect(parseJson(Buffer.from(JSON.stringify(value)))).to.deep.equal(value);
  });

  it('refuses a large body that is all small arrays', () => {
    const arrays = (count: number) => `[${'[],'.repeat(count - 1)}"${' '.repeat(256 * 1024)}"]`;
    expect(errorOf(arrays(100_001))).to.include({
      code: 'invalid_request',
      message: 'The body has more than 100000 arrays and objects.',
    });
    parseJson(Buffer.from(arrays(100_000)));
  });

  it('refuses a body of very many fields, which take a time that grows faster than they do', () => {
    const fields = (count: number) => `{${Array.from({ length: count }, (_, index) => `"${index}":":"`).join(',')}}`;
    expect(errorOf(fields(50_001)).message).to.equal('The body has more than 50000 fields.');
    parseJson(Buffer.from(fields(50_000)));
  });

  for (const key of ['__proto__', String.raw`\u005f_proto__`]) {
    it(`drops the key ${key} at any level`, () => {
      const value = parseJson(Buffer.from(`{"a":[{"${key}":{"polluted":1},"b":2}],"${key}":{"polluted":1}}`));
      expect(JSON.stringify(value)).to.equal('{"a":[{"b":2}]}');
      expect(value).not.to.have.property('polluted');
    });
  }
});
