import { expect } from 'chai';
import { URL_FAULTS } from '../../../src/requests/preparation/image-urls.ts';
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
