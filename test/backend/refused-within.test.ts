import { expect } from 'chai';
import { wholeOf } from '../../src/backend/refused-within.ts';
import { type ChatBody, encodeChat } from '../../src/core/encoded-chat.ts';
import { type ScriptedBackend, startScriptedBackend } from '../support/backend.ts';
import { apiRejection, askFor, collect, completion, connectTo, JSON_REQUEST } from './asking.ts';

describe('a backend that refuses what is inside of messages and tools', () => {
  let scripted: ScriptedBackend;
  let backend: ReturnType<typeof connectTo>;

  beforeEach(async () => {
    scripted = await startScriptedBackend();
    backend = connectTo(scripted.baseUrl);
  });

  afterEach(async () => {
    await backend.close();
    await scripted.close();
  });

  const ok = { json: completion('Hi') };
  const refuse = (message: string, status = 400) => ({ json: { error: { message } }, status });
  const ask = (request: ChatBody) =>
    askFor(backend, request, { signal: new AbortController().signal, headers: {} }).then(collect);

  const user = { role: 'user', content: 'Hi' } as const;
  const output = { role: 'tool', tool_call_id: 'c', content: 'Rain' } as const;
  const call = {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: 'c', type: 'function', function: { name: 'look', arguments: '{}' } }],
  } as const;
  const asTool = (strict?: boolean) =>
    ({ type: 'function', function: { name: 'look', ...(strict !== undefined && { strict }) } }) as const;
  const withParameters = (parameters: Readonly<Record<string, unknown>>, description?: string) =>
    ({
      type: 'function',
      function: { name: 'look', ...(description !== undefined && { description }), parameters },
    }) as const;
  const long = 'x'.repeat(1500);
  const answer = { role: 'assistant', content: 'I have read the output.' } as const;
  const look = { type: 'text', text: 'Look.' } as const;
  const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } } as const;
  const sound = { type: 'input_audio', input_audio: { data: 'AA==', format: 'wav' } } as const;
  const shown = {
    role: 'user',
    content: [{ type: 'text', text: 'From the output of look (c):' }, image, look],
  } as const;
  const unseen = '[Here is an image, which this model cannot see.]';
  const plain = { messages: [user, call, output] };
  const ofThoughts = (field: 'reasoning_content' | 'reasoning') => ({
    messages: [user, { ...call, [field]: 'Hmm.' }, output, user, { ...answer, [field]: 'Aha.' }, user],
  });
  const withoutThoughts = { messages: [user, call, output, user, answer, user] };
  const detail = (words: object) => ({ json: { detail: [words] }, status: 422 });
  const path =
    "messages.1.assistant.reasoning_content: property 'messages.1.assistant.reasoning_content' is unsupported";

  /** The words of each, as public reports have them, and some of their kind. */
  const cases: { given: object; reply: { json: object; status: number }; becomes: object }[] = [
    ...[
      // Cerebras.
      { json: { message: path, type: 'invalid_request_error', param: 'validation_error' }, status: 400 },
      refuse(path, 422),
      // Mistral, alone and behind LiteLLM.
      detail({
        type: 'extra_forbidden',
        loc: ['body', 'messages', 1, 'assistant', 'reasoning_content'],
        msg: 'Extra inputs are not permitted',
        input: 'Hmm.',
      }),
      refuse(
        'litellm.BadRequestError: MistralException - {"detail":[{"loc":["body","messages",1,"assistant",' +
          '"reasoning_content"],"msg":"Extra inputs are not permitted"}]}',
      ),
      // Fireworks, OpenAI, Groq, Go, Rust, JSON Schema.
      refuse("Extra inputs are not permitted, field: 'messages[1].reasoning_content'"),
      refuse("Unknown parameter: 'messages[1].reasoning_content'."),
      refuse(
        "'messages.1' : for 'role:assistant' the following must be satisfied[('messages.1' : property " +
          "'reasoning_content' is unsupported, did you mean 'reasoning'?)]",
      ),
      refuse('json: unknown field "reasoning_content"', 422),
      refuse('unknown field `reasoning_content`, expected one of `role`, `content`, `tool_calls`', 422),
      refuse("Additional properties are not allowed ('reasoning_content' was unexpected) - 'messages.1'"),
      refuse('deepseek-reasoner does not support reasoning_content in the input'),
    ].map((reply) => ({ given: ofThoughts('reasoning_content'), reply, becomes: withoutThoughts })),
    ...[
      refuse('body.messages[1].reasoning: Extra inputs are not permitted'),
      refuse("messages.4: property 'reasoning' is unsupported"),
      detail({ loc: ['body', 'messages', 1, 'reasoning'], msg: 'Extra inputs are not permitted' }),
    ].map((reply) => ({ given: ofThoughts('reasoning'), reply, becomes: withoutThoughts })),
    {
      given: {
        messages: [
          { ...answer, reasoning_details: [{}] },
          { ...answer, thinking_blocks: [{}] },
        ],
      },
      reply: refuse('messages.0.reasoning_details: Extra inputs are not permitted, messages.1.thinking_blocks: too'),
      becomes: { messages: [answer, answer] },
    },
    ...['The encrypted content could not be verified. invalid_encrypted_content', "Unknown name 'reasoning_items'"].map(
      (words) => ({
        given: { messages: [user, { ...answer, reasoning_items: [{}] }] },
        reply: refuse(words),
        becomes: { messages: [user, answer] },
      }),
    ),
    {
      given: { messages: [user, { ...answer, reasoning_text: 'Hm.', reasoning_opaque: 'abc' }] },
      reply: refuse(
        "messages[1]: property 'reasoning_text' is unsupported, property 'reasoning_opaque' is unsupported",
      ),
      becomes: { messages: [user, answer] },
    },
    {
      given: {
        messages: [{ ...call, tool_calls: [{ ...call.tool_calls[0], extra_content: { google: {} } }] }, output],
      },
      reply: detail({
        loc: ['body', 'messages', 0, 'tool_calls', 0, 'extra_content'],
        msg: 'Extra inputs are not permitted',
      }),
      becomes: { messages: [call, output] },
    },
    // Kimi, alone and behind OpenRouter, then DeepSeek.
    ...[
      'thinking is enabled but reasoning_content is missing in assistant tool call message at index 1',
      'The `reasoning_content` in the thinking mode must be passed back to the API.',
      'messages[1]: missing field `reasoning_content`',
    ].map((words) => ({
      given: {
        messages: [user, call, output, { ...call, reasoning_content: '' }, { ...call, reasoning: 'Hm' }, output],
      },
      reply: refuse(words),
      becomes: {
        messages: [
          user,
          { ...call, reasoning_content: ' ' },
          output,
          { ...call, reasoning_content: ' ' },
          { ...call, reasoning_content: 'Hm' },
          output,
        ],
      },
    })),
    // Devstral on vLLM, the template of Mistral, and llama.cpp.
    ...[
      refuse("Unexpected role 'user' after role 'tool'"),
      refuse('After the optional system message, conversation roles must alternate user and assistant roles'),
      refuse(
        "{{- raise_exception('After the optional system message, con...\nError: Jinja Exception: After the optional " +
          'system message, conversation roles must alternate user and assistant roles except for tool calls',
        500,
      ),
    ].map((reply) => ({
      given: { messages: [user, call, output, output, user, call, output] },
      reply,
      becomes: { messages: [user, call, output, output, answer, user, call, output] },
    })),
    {
      given: { messages: [user, call, output, { role: 'system', content: 'Be brief.' }] },
      reply: refuse("Unexpected role 'system' after role 'tool'"),
      becomes: { messages: [user, call, output, answer, { role: 'system', content: 'Be brief.' }] },
    },
    // DeepSeek, llama.cpp, OpenRouter, Ollama, LM Studio, vLLM in two versions, Mistral, xAI, OpenAI, and a service in Chinese.
    ...[
      refuse(
        'Failed to deserialize the JSON body into the target type: messages[2]: unknown variant `image_url`, expected ' +
          '`text` at line 1 column 395009',
      ),
      refuse('image input is not supported - hint: if this is unexpected, you may need to provide the mmproj', 500),
      refuse('No endpoints found that support image input', 404),
      refuse('this model does not support image input (ref: b1feda6a)'),
      refuse('Model does not support images. Please use a model that does.'),
      refuse('At most 0 image(s) may be provided in one prompt.'),
      refuse('facebook/opt-125m is not a multimodal model None'),
      refuse('Image input is not enabled for this model'),
      refuse('Image inputs are not supported by this model.'),
      refuse('Invalid content type. image_url is only supported by certain models.'),
      refuse('当前模型不支持该能力：vision'),
      {
        json: { error: { message: 'Input should be a valid string', param: 'messages.3.user.content.str' } },
        status: 422,
      },
    ].map((reply) => ({
      given: { messages: [{ role: 'user', content: [look, image] }, call, output, shown] },
      reply,
      becomes: {
        messages: [
          { role: 'user', content: `Look.\n${unseen}` },
          call,
          output,
          { role: 'user', content: `From the output of look (c):\n${unseen}\nLook.` },
        ],
      },
    })),
    {
      given: { messages: [{ role: 'user', content: [image, sound] }, call, output] },
      reply: refuse('Vision is not supported'),
      becomes: { messages: [{ role: 'user', content: [{ type: 'text', text: unseen }, sound] }, call, output] },
    },
    // Claude, Mistral, DeepSeek.
    ...[
      'This model does not support assistant message prefill. The conversation must end with a user message.',
      'Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant',
      'The last message of deepseek-reasoner must be a user message, or an assistant message with prefix mode on',
    ].map((words) => ({
      given: { messages: [user, answer] },
      reply: refuse(words),
      becomes: { messages: [user, answer, { role: 'user', content: 'Go on.' }] },
    })),
    // OpenAI, Azure and Copilot.
    {
      given: { ...plain, tools: [withParameters({ type: 'object' }, long), asTool()] },
      reply: refuse(
        "Invalid 'tools[0].function.description': string too long. Expected a string with maximum length 1024, but " +
          'got a string with length 1500 instead.',
      ),
      becomes: {
        ...plain,
        tools: [withParameters({ type: 'object', description: long }, `${'x'.repeat(1023)}…`), asTool()],
      },
    },
    // Gemini in three versions, Kimi.
    ...[
      'Invalid JSON payload received. Unknown name "$schema" at \'tools[0].function_declarations[0].parameters\': Cannot ' +
        'find field.',
      "Invalid value at 'request.tools[0].function_declarations[0].parameters.properties[0].value.type' (TYPE), Proto " +
        'field is not repeating, cannot start list.',
      '* GenerateContentRequest.tools[0].function_declarations[9].parameters.properties[city].items: missing field.',
      "tools.function.parameters is not a valid moonshot flavored json schema, details: <At path 'root': when using " +
        'anyOf, type should be defined in anyOf items instead of the parent schema>',
    ].map((words) => ({
      given: {
        ...plain,
        tools: [
          withParameters({
            $schema: 'http://json-schema.org/draft-07/schema#',
            type: 'object',
            properties: { city: { type: ['string', 'null'], minLength: 1 } },
            additionalProperties: false,
          }),
          withParameters({ type: 'object', properties: {} }),
        ],
      },
      reply: refuse(words),
      becomes: {
        ...plain,
        tools: [
          withParameters({ type: 'object', properties: { city: { type: 'string' } } }),
          withParameters({ type: 'object', properties: {} }),
        ],
      },
    })),
    // Cerebras, hosts of Kimi, Fireworks.
    ...[
      refuse(
        "Tools with mixed values for 'strict' are not allowed. Please set all tools to strict=true or strict=false",
        422,
      ),
      refuse('strict=True are not supported by this model'),
      refuse('tools.0.function.strict: Extra inputs are not permitted'),
      refuse('All tools must have the same strictness'),
    ].map((reply) => ({
      given: { ...plain, tools: [asTool(true), asTool(false), asTool()] },
      reply,
      becomes: { ...plain, tools: [asTool(), asTool(), asTool()] },
    })),
  ];
  for (const [index, { given, reply, becomes }] of cases.entries()) {
    it(`is asked once more, and knows it the next time: ${JSON.stringify(reply.json).slice(0, 100)}`, async () => {
      const request = { ...JSON_REQUEST, ...given };
      // A large request has been encoded.
      const body = index % 2 === 0 ? request : encodeChat(request);
      scripted.reply(reply, ok, ok, refuse('This is something else.'), ok);
      for (const _ of [1, 2]) await ask(body);
      await apiRejection(ask(body));
      await ask({ ...body, model: 'other' });
      const changed = { ...JSON_REQUEST, ...becomes };
      expect(scripted.requests.map((sent) => pick(sent.body, given))).to.deep.equal(
        [given, changed, changed, changed, given].map((sent) => pick(sent, given)),
      );
    });
  }

  for (const [name, given, words, status] of [
    [
      'a fault of a schema',
      { tools: [asTool(true)] },
      "Invalid schema for function 'look': 'oneOf' is not permitted in strict mode",
    ],
    ['a thought that is too long', ofThoughts('reasoning_content'), 'messages[1].reasoning_content: string too long'],
    ['thoughts that are not there', plain, path],
    ['a strictness that is not there', { tools: [asTool()] }, 'strict is not supported'],
    ['an answer that is not the last', plain, 'The conversation must end with a user message.'],
    ['a description that is short', { tools: [asTool()] }, "'tools[0].function.description': string too long"],
    [
      'a schema that is plain',
      { tools: [withParameters({ type: 'object', properties: {} })] },
      'Unknown name "x" at \'tools[0].function_declarations[0].parameters\'',
    ],
    [
      'a name of a tool',
      { tools: [withParameters({ type: 'object', $schema: '' })] },
      'GenerateContentRequest.tools[0].function_declarations[4].name: Invalid function name.',
    ],
    [
      'an unknown field elsewhere',
      { tools: [withParameters({ type: 'object', $schema: '' })] },
      'Unknown name "top_k": Cannot find field.',
    ],
    ['an order that is not there', plain, "Unexpected role 'user' after role 'tool'"],
    [
      'thoughts that are all there',
      { messages: [{ ...call, reasoning_content: 'x' }] },
      'reasoning_content is missing',
    ],
    ['another failure of a server', { messages: [user, call, output, user] }, 'roles must alternate', 500],
    [
      'an image of the user',
      { messages: [user, answer, { role: 'user', content: [look, image] }] },
      'this model does not support image input',
    ],
    ['an image that is none', { messages: [user, call, output, shown] }, 'unsupported image format: image/svg+xml'],
    ['a model that is not there', { messages: [user, call, output, shown] }, 'No endpoints found for m', 404],
    ['a word of the user', ofThoughts('reasoning'), 'Your reasoning is not supported by evidence.'],
  ] as const) {
    it(`is a refusal that the caller hears of for ${name}`, async () => {
      scripted.reply(refuse(words, status));
      await apiRejection(ask({ ...JSON_REQUEST, ...given }));
      expect(scripted.requests).to.have.length(1);
    });
  }

  it('takes nothing from tools of another strictness', async () => {
    scripted.reply(refuse("mixed values for 'strict' are not allowed"), ok, ok);
    await ask({ ...JSON_REQUEST, tools: [asTool(true), asTool()] });
    await ask({ ...JSON_REQUEST, tools: [asTool(true)] });
    expect(scripted.requests.at(-1)?.body)
      .to.have.property('tools')
      .that.deep.equals([asTool(true)]);
  });
});

describe('wholeOf', () => {
  it('has every integer of a request that has been encoded', () => {
    const chat = { ...JSON_REQUEST, seed: JSON.rawJSON('9007199254740993'), tools: [] };
    expect(JSON.stringify(wholeOf(encodeChat(chat)))).to.equal(JSON.stringify(chat));
  });
});

function pick(body: unknown, given: object): object {
  return Object.fromEntries(Object.keys(given).map((name) => [name, Reflect.get(body as object, name)]));
}
