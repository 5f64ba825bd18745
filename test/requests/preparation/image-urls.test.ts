import { expect } from 'chai';
import { ApiError } from '../../../src/core/errors.ts';
import { checkUrls } from '../../../src/requests/preparation/chat-urls.ts';
import { URL_FAULTS } from '../../../src/requests/preparation/image-urls.ts';
import { callerOf } from '../../records/caller.ts';
import { startScriptedBackend, type ScriptedBackend } from '../../support/backend.ts';
import { openGateway, type TestGateway } from '../../support/gateway.ts';

const PIXEL = 'data:image/png;base64,AAAA';

describe('IMAGE_URLS', () => {
  describe('https-public', () => {
    const faultOf = URL_FAULTS['https-public'];

    for (const text of [
      PIXEL,
      'DATA:image/png;base64,AAAA',
      'https://example.com/a.png?size=1#top',
      'HTTPS://Example.COM:443/',
      'https://example.com./a@b.png',
      'https://xn--bcher-kva.example',
      'https://8.8.8.8/a.png',
      'https://172.32.0.1/',
      'https://[2606:4700::1111]/a.png',
      'https://local.example.com/',
    ]) {
      it(`takes ${JSON.stringify(text)}`, () => {
        expect(faultOf?.(text)).to.equal(undefined);
      });
    }

    for (const [kind, texts] of Object.entries({
      'what is not https': [
        'http://example.com/a.png',
        'ftp://example.com/',
        'file:///etc/passwd',
        '//example.com/a.png',
        'https:example.com',
        'https:///example.com',
        'https://',
        'see https://example.com/a.png',
        'https://exa mple.com/',
      ],
      'what programs read in different ways': [
        'https://user:password@example.com/',
        'https://example.com@127.0.0.1/',
        'https://example.com\\@127.0.0.1/',
        'https://example.com/\\..',
        'https://example.com/a\nb',
        ' https://example.com/',
        'ht\ntps://example.com/',
      ],
      'base64 that may be the path of a file': [
        'iVBORw0KGgo_-+/=\n',
        '/proc/self/environ',
        '/etc/passwd',
        'localhost/admin',
      ],
      'other ports': ['https://example.com:8443/', 'https://example.com:80/', 'https://example.com:99999/'],
      'names that are not public': [
        'https://localhost/',
        'https://LOCALHOST./',
        'https://a.localhost/',
        'https://printer.local/',
        'https://metadata.google.internal/',
        'https://router.home.arpa/',
        'https://intranet/',
        'https://backend/',
      ],
      'IPv4 addresses that are not public': [
        'https://127.0.0.1/',
        'https://127.1/',
        'https://2130706433/',
        'https://0x7f000001/',
        'https://0x7f.0.0.1/',
        'https://0177.0.0.1/',
        'https://017700000001/',
        'https://127.0.0.1./',
        'https://１２７.0.0.1/',
        'https://%31%32%37.0.0.1/',
        'https://0/',
        'https://10.255.255.255/',
        'https://100.64.0.1/',
        'https://169.254.169.254/latest/meta-data/',
        'https://172.16.0.1/',
        'https://172.31.255.255/',
        'https://192.0.0.8/',
        'https://192.168.1.1/',
        'https://198.19.0.1/',
        'https://203.0.113.9/',
        'https://224.0.0.1/',
        'https://255.255.255.255/',
      ],
      'IPv6 addresses that are not public': [
        'https://[::1]/',
        'https://[::]/',
        'https://[0:0:0:0:0:0:0:1]/',
        'https://[::ffff:127.0.0.1]/',
        'https://[::ffff:7f00:1]/',
        'https://[::127.0.0.1]/',
        'https://[64:ff9b::7f00:1]/',
        'https://[2001::1]/',
        'https://[2001:db8::1]/',
        'https://[2002:7f00:1::]/',
        'https://[fc00::1]/',
        'https://[fd12:3456::1]/',
        'https://[fe80::1]/',
        'https://[fec0::1]/',
        'https://[ff02::1]/',
        'https://[4000::1]/',
      ],
    })) {
      for (const text of texts) {
        it(`refuses ${kind}: ${JSON.stringify(text)}`, () => {
          expect(faultOf?.(text)).to.match(/^must /);
        });
      }
    }
  });

  describe('in a chat completion', () => {
    const faultOf = URL_FAULTS['https-public'];
    const SOUND = 'AAAA'.repeat(2000);
    const refused: readonly { at: string; message: object }[] = [
      {
        at: 'content[0].image_url.url',
        message: { content: [{ image_url: { url: 'http://169.254.169.254/latest' } }] },
      },
      { at: 'content[1].image_url', message: { content: [{ text: 'x' }, { image_url: 'file:///etc/passwd' }] } },
      { at: 'content[0].Image_Url.URL', message: { content: [{ Image_Url: { URL: 'http://a.example/' } }] } },
      { at: 'content[0].video_url.url', message: { content: [{ video_url: { url: '/etc/passwd' } }] } },
      { at: 'content[0].video[1]', message: { content: [{ video: [PIXEL, 'http://a.example/'] }] } },
      { at: 'content[0].file.file_data', message: { content: [{ file: { file_data: 'http://a.example/' } }] } },
      { at: 'content[0].file.file_id', message: { content: [{ file: { file_id: 'gs://bucket/a' } }] } },
      { at: 'content[0].input_audio.data', message: { content: [{ input_audio: { data: '/etc/passwd' } }] } },
      { at: 'content[0].new.place', message: { content: [{ new: { place: ' ftp://a.example/' } }] } },
      { at: 'content.image_url.url', message: { content: { image_url: { url: 'http://a.example/' } } } },
      { at: 'images[0].image_url.url', message: { images: [{ image_url: { url: 'http://a.example/' } }] } },
    ];
    for (const { at, message } of refused) {
      it(`refuses what the backend may not fetch, by its place: ${at}`, () => {
        expect(() => checkUrls([{ role: 'user', content: 'Hi' }, message], faultOf ?? expect.fail()))
          .to.throw(ApiError)
          .that.includes({ code: 'invalid_request', param: `messages[1].${at}` });
      });
    }

    for (const message of [
      { content: 'see http://127.0.0.1/' },
      { content: [{ type: 'text', text: 'http://127.0.0.1/' }] },
      { content: [{ type: 'image_url', image_url: { url: PIXEL, detail: 'low' } }] },
      { content: [{ type: 'input_audio', input_audio: { data: SOUND, format: 'wav' } }] },
      { content: [{ type: 'file', file: { file_id: 'file-abc123', filename: 'http://a' } }] },
      { tool_calls: [{ function: { name: 'f', arguments: '{"url":"http://127.0.0.1/"}' } }] },
      { content: null, annotations: [{ url_citation: { url: 'http://a.example/' } }] },
    ]) {
      it(`takes ${JSON.stringify(message).slice(0, 90)}`, () => {
        expect(() => checkUrls([message], faultOf ?? expect.fail())).not.to.throw();
      });
    }

    for (const { mode, settings, status } of [
      { mode: 'static', settings: { API_KEYS: 'key-of-a-caller' }, status: 400 },
      { mode: 'passthrough', settings: {}, status: 200 },
    ]) {
      it(`is looked at where the gateway checks the keys: ${mode}`, async () => {
        const backend = await startScriptedBackend();
        backend.always({ json: { choices: [{ message: { content: 'A cat.' }, finish_reason: 'stop' }] } });
        const gateway = await openGateway({
          UPSTREAM_BASE_URL: backend.baseUrl,
          AUTH_MODE: mode,
          IMAGE_URLS: 'data',
          ...settings,
        });
        const messages = [{ role: 'user', content: [{ image_url: { url: 'http://169.254.169.254/latest' } }] }];
        const reply = await callerOf(gateway.url, 'key-of-a-caller').complete({ model: 'm', messages });
        expect([reply.status, backend.requests.length]).to.deep.equal([status, status === 200 ? 1 : 0]);
        await gateway.close();
        await backend.close();
      });
    }
  });

  describe('in a request', () => {
    const URL = 'https://example.com/a';
    const image = { type: 'input_image', image_url: URL };
    const user = (...content: object[]) => [{ role: 'user', content }];
    const text = { type: 'input_text', text: 'What is this?' };
    let backend: ScriptedBackend;
    let gateway: TestGateway | undefined;

    beforeEach(async () => {
      backend = await startScriptedBackend();
      backend.always(({ start, end }) => {
        start(200, { 'content-type': 'application/json' });
        end(JSON.stringify({ choices: [{ message: { content: 'A cat.' }, finish_reason: 'stop' }] }));
      });
    });

    afterEach(async () => {
      await gateway?.close();
      await backend.close();
    });

    async function ask(policy: string, input: object): Promise<{ status: number; error?: Record<string, string> }> {
      gateway = await openGateway({
        UPSTREAM_BASE_URL: backend.baseUrl,
        IMAGE_URLS: policy,
        UPSTREAM_DIALECT: 'openrouter',
      });
      const reply = await gateway.create({ model: 'm', input });
      const { error } = (await reply.json()) as { error?: Record<string, string> };
      return { status: reply.status, ...(error && { error }) };
    }

    for (const { name, input, param } of [
      { name: 'an image', input: user(text, image), param: 'input[0].content[1].image_url' },
      {
        name: 'a file by its URL',
        input: user({ type: 'input_file', file_url: URL }),
        param: 'input[0].content[0].file_url',
      },
      {
        name: 'a URL in the place of the data of a file',
        input: user({ type: 'input_file', file_data: URL }),
        param: 'input[0].content[0].file_data',
      },
      {
        name: 'a URL in the place of audio',
        input: user({ type: 'input_audio', input_audio: { data: URL, format: 'wav' } }),
        param: 'input[0].content[0].input_audio.data',
      },
      ...[
        '/etc/passwd',
        'etc/passwd',
        '~/key',
        './key',
        'file:///example.com',
        `${'/ '.repeat(9000)}etc/passwd`,
      ].flatMap((path) => [
        {
          name: `audio that may be the path of a file, ${path.slice(0, 20)},`,
          input: user({ type: 'input_audio', input_audio: { data: path, format: 'wav' } }),
          param: 'input[0].content[0].input_audio.data',
        },
        {
          name: `data of a file that may be the path of one, ${path.slice(0, 20)},`,
          input: user({ type: 'input_file', file_data: path }),
          param: 'input[0].content[0].file_data',
        },
      ]),
      {
        name: 'an image in the output of a function',
        input: [
          { type: 'function_call', call_id: 'c', name: 'look', arguments: '{}' },
          { type: 'function_call_output', call_id: 'c', output: [text, image] },
        ],
        param: 'input[1].output[1].image_url',
      },
      {
        name: 'an image in the output of a custom tool',
        input: [
          { type: 'custom_tool_call', call_id: 'c', name: 'look', input: '' },
          { type: 'custom_tool_call_output', call_id: 'c', output: [image] },
        ],
        param: 'input[1].output[0].image_url',
      },
    ]) {
      it(`refuses ${name} by the path where it stands, before the backend is asked`, async () => {
        const { status, error } = await ask('data', input);
        expect([status, error?.['code'], error?.['param']]).to.deep.equal([400, 'invalid_request', param]);
        expect(error?.['message']).to.include(param).and.not.to.include('example.com');
        expect(backend.requests).to.deep.equal([]);
      });
    }

    const SOUND = `//uQ${'AAAA'.repeat(2000)}`;
    for (const { name, policy, data } of [
      { name: 'the base64 of a sound', policy: 'data', data: SOUND },
      { name: 'the base64 of a sound', policy: 'https-public', data: SOUND },
      { name: 'a data: URL of a short one', policy: 'data', data: 'data:audio/wav;base64,AAAA' },
      { name: 'whatever it is', policy: 'any', data: 'AAAA' },
    ]) {
      it(`takes audio with ${policy} as ${name}`, async () => {
        const input = user({ type: 'input_audio', input_audio: { data, format: 'mp3' } });
        expect(await ask(policy, input)).to.include({ status: 200 });
      });
    }

    for (const { policy, url, status } of [
      { policy: 'any', url: 'http://127.0.0.1/a.png', status: 200 },
      { policy: 'https-public', url: URL, status: 200 },
      { policy: 'https-public', url: 'https://[::1]/a.png', status: 400 },
      { policy: 'data', url: PIXEL, status: 200 },
    ]) {
      it(`answers ${status} to an image from ${url.slice(0, 22)} with ${policy}`, async () => {
        expect(await ask(policy, user({ type: 'input_image', image_url: url }))).to.include({ status });
      });
    }
  });
});
