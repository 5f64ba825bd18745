import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { inHalves, answerAsBackend, chunk, MODELS, sendJson, useConsole } from './scene.ts';
import { useRealSockets } from '../support/real-sockets.ts';

describe('“Try it”', () => {
  useRealSockets();
  const scene = useConsole();
  let page: Page;

  beforeEach(async () => {
    page = await scene.open();
    await scene.enter(page);
    await page.getByLabel('Input').fill('Say hello');
  });

  const send = () => page.getByRole('button', { name: 'Send' }).click();
  const answer = () => page.getByRole('region', { name: 'Answer' });
  const events = () => page.getByRole('region', { name: 'Events' });
  const status = () => page.locator('#try-status');
  const isOffered = (name: string) => page.getByRole('button', { name, exact: true }).isVisible();

  it('offers the models of the backend, the recommended one first', async () => {
    const options = await page.getByRole('combobox', { name: 'Model' }).locator('option').allTextContents();
    expect(options).to.deep.equal(['big-model (recommended)', 'small-model', 'm', 'Another model …']);
    expect(await page.getByRole('combobox', { name: 'Model' }).inputValue()).to.equal('big-model');
  });

  it('says what is known of the chosen model', async () => {
    const note = page.locator('#try-model-note');
    expect(await note.isHidden()).to.equal(true);
    await page.getByRole('combobox', { name: 'Model' }).selectOption('small-model');
    expect(await note.textContent()).to.equal('Context window 32,768. Takes text.');
    await page.getByRole('combobox', { name: 'Model' }).selectOption('m');
    expect(await note.textContent()).to.equal('Left out, since the backend refuses it: verbosity, user.');
    await page.getByRole('combobox', { name: 'Model' }).selectOption('Another model …');
    expect(await note.isHidden()).to.equal(true);
  });

  it('keeps the name of a model that was typed, while another view is looked at', async () => {
    await page.getByRole('combobox', { name: 'Model' }).selectOption('Another model …');
    await page.getByLabel('Name of the model').fill('hidden-model');
    await scene.go(page, 'Usage');
    await scene.go(page, 'Try it');
    await page.locator('#try-model[aria-busy=false]').waitFor();
    expect(await page.getByLabel('Name of the model').inputValue()).to.equal('hidden-model');
    expect(await page.getByRole('tabpanel').textContent()).to.include('"hidden-model"');
  });

  it('leaves the field of a name to whoever has chosen it, when the models come late', async () => {
    await scene.go(page, 'Usage');
    const held = Promise.withResolvers<void>();
    await page.route('**/api/v1/models', async (route) => {
      await held.promise;
      await route.continue();
    });
    await scene.go(page, 'Try it');
    await page.getByRole('combobox', { name: 'Model' }).selectOption('Another model …');
    await page.getByLabel('Name of the model').focus();
    held.resolve();
    await page.locator('#try-model[aria-busy=false]').waitFor();
    await page.keyboard.type('hidden-model');
    expect(await page.getByLabel('Name of the model').inputValue()).to.equal('hidden-model');
  });

  it('shows the answer while it streams, beside its events with their times', async () => {
    const seen = Promise.withResolvers<void>();
    scene.backend.reply(async (stage) => {
      await stage.sse(chunk({ reasoning_content: 'They want' }), chunk({ content: 'Hello' }));
      await seen.promise;
      await stage.sse(chunk({ content: ' there' }), chunk({}, 'stop'), '[DONE]');
      stage.end();
    });
    await send();
    await answer().getByText('Hello', { exact: true }).waitFor();
    expect([await isOffered('Send'), await isOffered('Stop'), await isOffered('Cancel')]).to.deep.equal([
      false,
      true,
      true,
    ]);
    expect(await status().textContent()).to.equal('The answer is coming …');
    seen.resolve();
    await answer().getByText('Hello there').waitFor();
    await status().getByText('Completed in').waitFor();
    expect([await isOffered('Send'), await isOffered('Stop'), await isOffered('Cancel')]).to.deep.equal([
      true,
      false,
      false,
    ]);
    const rows = await events().locator('summary').allTextContents();
    expect(rows.at(0)).to.match(/^[\d.]+ (ms|s)\+[\d.]+ (ms|s)HTTP 200$/);
    expect(rows.at(-1)).to.match(/response\.completed$/);
    const deltas = rows.filter((row) => row.includes('response.output_text.delta'));
    expect(deltas.map((row) => /"(.*)"/.exec(row)?.[1])).to.deep.equal(['Hello', ' there']);
    expect(await answer().textContent()).to.equal('ReasoningThey wantHello there');
  });

  it('shows the usage, and the request id under which the record is', async () => {
    await send();
    await status().getByText('Completed in').waitFor();
    const facts = (await page.locator('#try-facts').textContent()) ?? '';
    expect(facts)
      .to.include('Input tokens1,200 (1,000 cached, 150 written to the cache)')
      .and.to.include('Output tokens345 (45 reasoning)');
    expect(facts).to.match(/First delta after[\d.]+ m?s/);
    const id = /req_[0-9a-f]+/.exec(facts)?.[0] ?? '';
    const record = (await (await scene.gateway.get(`/api/v1/requests/${id}`)).json()) as { status: string };
    expect(record.status).to.equal('succeeded');
    await page.getByRole('link', { name: id }).click();
    await page.getByRole('dialog').getByText(id, { exact: true }).waitFor();
  });

  it('shows what had no effect', async () => {
    const SAID = { role: 'user', content: 'Say hello' };
    const more = { input: [{ type: 'of_tomorrow' }, SAID], tools: [{ type: 'web_search' }], max_tokens: 5 };
    await page.route('**/api/v1/responses', (route) => {
      const body = route.request().postDataJSON() as object;
      return route.continue({ postData: JSON.stringify({ ...body, ...more }) });
    });
    await send();
    await status().getByText('Completed in').waitFor();
    const facts = (await page.locator('#try-facts').textContent()) ?? '';
    expect(facts).to.include('Tools left outweb_search').and.to.include('Items left outof_tomorrow');
    expect(facts).to.include('Parameters ignoredmax_tokens (use max_output_tokens)');
  });

  it('shows what an event holds when somebody looks', async () => {
    await send();
    await status().getByText('Completed in').waitFor();
    await events().locator('summary').last().click();
    const shown = JSON.parse((await events().locator('pre').textContent()) ?? '') as { type: string };
    expect(shown.type).to.equal('response.completed');
  });

  it('sends what is in the form, without a stream too', async () => {
    await page.getByRole('combobox', { name: 'Model' }).selectOption('small-model');
    await page.getByLabel('Instructions').fill('Be brief');
    await page.getByText('Tools and limits').click();
    await page.getByRole('button', { name: 'Insert an example' }).click();
    await page.getByLabel('Max output tokens').fill('50');
    await page.getByLabel('Reasoning effort').selectOption('low');
    await page.getByLabel('Stream the answer').uncheck();
    await send();
    await answer().getByText('Hello from afar').waitFor();
    const { tools, ...body } = (scene.backend.requests.at(-1)?.body ?? {}) as Record<string, object>;
    expect(JSON.stringify(tools)).to.include('get_weather');
    expect(body).to.deep.include({ model: 'small-model', max_tokens: 50, reasoning_effort: 'low' });
    expect(body['messages']).to.deep.equal([
      { role: 'system', content: 'Be brief' },
      { role: 'user', content: 'Say hello' },
    ]);
    expect(await events().locator('summary').count()).to.equal(2);
  });

  it('shows a call of a tool', async () => {
    const first = { index: 0, id: 'call_1', type: 'function', function: { name: 'get_weather', arguments: '' } };
    const rest = { index: 0, function: { arguments: '{"city":"Bonn"}' } };
    scene.backend.reply({
      sse: [chunk({ tool_calls: [first] }), chunk({ tool_calls: [rest] }), chunk({}, 'tool_calls')],
    });
    await page.getByText('Tools and limits').click();
    await page.getByRole('button', { name: 'Insert an example' }).click();
    await send();
    await status().getByText('Completed in').waitFor();
    const call = answer().locator('details[data-type=function_call]');
    expect(await call.locator('summary').textContent()).to.equal('Function call: get_weather {"city":"Bonn"}');
    expect(await call.locator('pre').isVisible()).to.equal(false);
    await call.locator('summary').click();
    expect(await call.locator('pre').textContent()).to.equal('{\n  "city": "Bonn"\n}');
  });

  it('stops by hanging up, which reaches the backend', async () => {
    scene.backend.reply(async (stage) => {
      await stage.sse(chunk({ content: 'Half' }));
      await stage.hang();
    });
    await send();
    await answer().getByText('Half').waitFor();
    await page.getByRole('button', { name: 'Stop' }).click();
    await status().getByText('Stopped after').waitFor();
    const { aborted } = (await scene.backend.requests.at(-1)?.closed) ?? { aborted: false };
    expect(aborted).to.equal(true);
    expect(await answer().textContent()).to.equal('Half');
    expect(await page.evaluate(() => document.activeElement?.textContent)).to.equal('Send');
  });

  it('stops a request that has no answer yet', async () => {
    scene.backend.reply((stage) => stage.hang());
    await page.getByLabel('Stream the answer').uncheck();
    const before = scene.backend.requests.length;
    await send();
    await scene.backend.request(before + 1);
    await page.getByRole('button', { name: 'Stop' }).click();
    await status().getByText('Stopped after').waitFor();
  });

  it('cancels a stream', async () => {
    scene.backend.reply(async (stage) => {
      await stage.sse(chunk({ content: 'Half' }));
      await stage.hang();
    });
    await send();
    await answer().getByText('Half').waitFor();
    await page.getByRole('button', { name: 'Cancel', exact: true }).click();
    await status().getByText('Cancelled after').waitFor();
    const rows = await events().locator('summary').allTextContents();
    expect(rows.at(-1)).to.include('response.failed');
  });

  it('cancels a request whose reply has not begun', async () => {
    scene.tolerate(/status of 409/);
    scene.backend.reply((stage) => stage.hang());
    const before = scene.backend.requests.length;
    await page.getByLabel('Stream the answer').uncheck();
    await send();
    await scene.backend.request(before + 1);
    await page.getByRole('button', { name: 'Cancel', exact: true }).click();
    await status().getByText('409 request_cancelled').waitFor();
  });

  const failures = [
    {
      name: 'a rate limit with the time to wait',
      script: { json: { error: { message: 'Slow down.' } }, status: 429, headers: { 'retry-after': '7' } },
      says: 'Slow down. Try again in 7 s. (429 rate_limit_exceeded)',
      advice: 'Wait, and send it again.',
    },
    {
      name: 'a backend that fails',
      script: { json: {}, status: 500 },
      says: '(502 upstream_error)',
      advice: 'Try again. If it keeps failing, the operator has to check the backend.',
    },
  ];
  for (const { name, script, says, advice } of failures) {
    it(`says so of ${name}`, async () => {
      scene.tolerate(/status of (429|502)/);
      scene.backend.reply(script);
      await send();
      await status().getByText(says).waitFor();
      expect(await answer().textContent()).to.equal('There is no answer.');
      expect(await isOffered('Send')).to.equal(true);
      await page.locator('#try-advice').getByText(advice).waitFor();
    });
  }

  it('says so of an answer that breaks in the middle', async () => {
    scene.backend.reply(async (stage) => {
      await stage.sse(chunk({ content: 'Half' }));
      stage.cut();
    });
    // As in a tab behind another one: what has come is shown at the end, not with the next frame.
    await page.evaluate(() => (globalThis.requestAnimationFrame = () => 0));
    await send();
    await status().getByText('Failed after').waitFor();
    expect(await answer().textContent()).to.equal('Half');
  });

  it('says so of a length limit', async () => {
    scene.backend.reply({ sse: [chunk({ content: 'Half' }), chunk({}, 'length')] });
    await send();
    await status().getByText('max_output_tokens').waitFor();
  });

  it('says so when the gateway is gone', async () => {
    scene.tolerate(/ERR_CONNECTION_REFUSED/);
    await scene.gateway.close();
    await send();
    await status().getByText('The gateway does not answer. Is it still running?', { exact: true }).waitFor();
  });

  it('takes what is wrong in the form back to its field', async () => {
    await page.getByText('Tools and limits').click();
    await page.getByLabel('Tools (a JSON list)').fill('{');
    await page.getByText('Tools and limits').click();
    await send();
    await page.getByText('Tools must be a JSON list').waitFor();
    expect(await page.evaluate(() => document.activeElement?.id)).to.equal('try-tools');
    const before = scene.backend.requests.length;
    await page.getByLabel('Tools (a JSON list)').fill('');
    await page.keyboard.press('Control+Enter');
    await page.getByLabel('Input').press('Control+Enter');
    await status().getByText('Completed in').waitFor();
    expect(scene.backend.requests.length).to.equal(before + 1);
    await page.getByText('Tools must be a JSON list').waitFor({ state: 'hidden' });
  });

  it('shows Markdown, once it is there', async () => {
    const text =
      '# Tides\n\nThe **moon** pulls.\n\n| body | share |\n| --- | --- |\n| moon | 2 |\n\n- one\n- two\n\n```js\nlet a = 1;\n```\n';
    scene.backend.reply({ sse: [...text.split(/(?<= )/).map((content) => chunk({ content })), chunk({}, 'stop')] });
    await send();
    await status().getByText('Completed in').waitFor();
    const message = answer().locator('[data-type=message]');
    await message.getByRole('heading', { name: 'Tides', level: 3 }).waitFor();
    expect(await message.locator('strong').textContent()).to.equal('moon');
    expect(await message.getByRole('cell').allTextContents()).to.deep.equal(['moon', '2']);
    expect(await message.getByRole('listitem').allTextContents()).to.deep.equal(['one', 'two']);
    expect(await message.locator('pre').textContent()).to.equal('let a = 1;\n');
  });

  it('lets Markdown load nothing and run nothing', async () => {
    const text = [
      '![a cat](https://elsewhere.example/cat.png)',
      '[click](javascript:alert(1)) [data](data:text/html,x) [page](https://pages.example/a)',
      '<style>body{display:none}</style><form action="https://elsewhere.example"><input name=q></form>',
      '<b onclick="alert(1)">bold</b> <a href="javascript:alert(1)">go</a>',
    ].join('\n\n');
    scene.backend.reply({ sse: [chunk({ content: text }), chunk({}, 'stop')] });
    await send();
    await status().getByText('Completed in').waitFor();
    const message = answer().locator('[data-type=message]');
    await message.locator('.markdown').waitFor();
    const links = await message
      .locator('a')
      .evaluateAll((all) =>
        all.map((one) => [
          one.textContent,
          one.getAttribute('href'),
          one.getAttribute('rel'),
          one.getAttribute('target'),
        ]),
      );
    const away = ['noopener noreferrer', '_blank'];
    expect(links).to.deep.equal([
      ['a cat', 'https://elsewhere.example/cat.png', ...away],
      ['click', null, ...away],
      ['data', null, ...away],
      ['page', 'https://pages.example/a', ...away],
    ]);
    expect(await message.textContent())
      .to.include('<b onclick="alert(1)">bold</b>')
      .and.to.include('<style>body');
    expect(await message.locator('img, style, form, input, b, script').count()).to.equal(0);
  });

  it('shows plain text where Markdown cannot be loaded', async () => {
    scene.tolerate(/ERR_FAILED/);
    await page.route('**/vendor/marked.js', (route) => route.abort());
    scene.backend.reply({ sse: [chunk({ content: '**bold** words' }), chunk({}, 'stop')] });
    await send();
    await answer().getByText('**bold** words').waitFor();
    await status().getByText('Completed in').waitFor();
  });

  it('keeps thoughts folded, and open for whoever has opened them', async () => {
    const seen = Promise.withResolvers<void>();
    scene.backend.reply(async (stage) => {
      await stage.sse(chunk({ reasoning_content: 'They want' }));
      await seen.promise;
      await stage.sse(chunk({ content: 'Hello' }), chunk({}, 'stop'), '[DONE]');
      stage.end();
    });
    await send();
    const thoughts = answer().locator('details[data-type=reasoning]');
    await thoughts.waitFor();
    expect(await thoughts.getByText('They want').isVisible()).to.equal(false);
    await thoughts.locator('summary').click();
    await thoughts.getByText('They want').waitFor();
    seen.resolve();
    await status().getByText('Completed in').waitFor();
    expect(await thoughts.getByText('They want').isVisible()).to.equal(true);
    expect(await thoughts.locator('summary:focus').count(), 'who has the focus').to.equal(1);
  });

  for (const viewport of [
    { width: 1440, height: 760 },
    { width: 900, height: 760 },
    { width: 390, height: 760 },
  ]) {
    it(`has the answer on the screen after Send, at ${viewport.width} px`, async () => {
      await page.setViewportSize(viewport);
      await page.getByText('Tools and limits').click();
      await page.getByRole('button', { name: 'Insert an example' }).click();
      const seen = Promise.withResolvers<void>();
      scene.backend.reply(inHalves(seen.promise));
      await send();
      await answer().getByText('Half').waitFor();
      for (const place of [status(), answer().getByText('Half')]) {
        const { y = -1, height = 0 } = (await place.boundingBox()) ?? {};
        expect(y).to.be.within(0, viewport.height - height);
      }
      seen.resolve();
    });
  }

  it('follows the end of a long answer, until somebody scrolls away', async () => {
    const [more, last] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const lines = (name: string) =>
      chunk({ content: Array.from({ length: 80 }, (_, at) => `${name} ${at}\n\n`).join('') });
    scene.backend.reply(async (stage) => {
      await stage.sse(lines('first'));
      await more.promise;
      await stage.sse(lines('second'));
      await last.promise;
      await stage.sse(lines('third'), chunk({}, 'stop'), '[DONE]');
      stage.end();
    });
    const fromEnd = () => answer().evaluate((place) => place.scrollHeight - place.scrollTop - place.clientHeight);
    await send();
    await answer().getByText('first 79').waitFor();
    await page.waitForFunction(() => {
      const place = document.querySelector('#try-answer');
      return place !== null && place.scrollHeight - place.scrollTop - place.clientHeight < 2 && place.scrollTop > 0;
    });
    await answer().evaluate((place) => (place.scrollTop = 0));
    more.resolve();
    await answer().getByText('second 79').waitFor({ state: 'attached' });
    last.resolve();
    await status().getByText('Completed in').waitFor();
    expect(await fromEnd()).to.be.above(1000);
  });

  it('keeps the end of long answers in view, and the memory bounded', async () => {
    scene.backend.reply(async (stage) => {
      for (let at = 0; at < 50; at++) {
        await stage.sse(...Array.from({ length: 50 }, (_, n) => chunk({ content: `${at * 50 + n} ` })));
      }
      await stage.sse(chunk({}, 'stop'), '[DONE]');
      stage.end();
    });
    await send();
    await status().getByText('Completed in').waitFor();
    expect(await events().locator('li').count()).to.equal(2000);
    await events().getByText('earlier events are not shown').waitFor();
    expect(await answer().textContent()).to.include('2498 2499');
    await page.waitForFunction(() => {
      const place = document.querySelector('#try-events');
      return place !== null && place.scrollHeight - place.scrollTop - place.clientHeight < 2 && place.scrollTop > 0;
    });
  });

  it('shows the same request as code, which can be reached by the arrow keys and copied', async () => {
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    const panel = page.getByRole('tabpanel');
    expect(await panel.textContent()).to.include(`curl -N '${scene.gateway.url}/api/v1/responses'`);
    await page.getByRole('tab', { name: 'curl' }).focus();
    await page.keyboard.press('ArrowLeft');
    expect(await panel.textContent()).to.include('store: false');
    await page.keyboard.press('ArrowLeft');
    expect(await panel.textContent()).to.include('import os');
    expect(await page.getByRole('tab', { selected: true }).textContent()).to.equal('OpenAI SDK (Python)');
    await page.getByRole('button', { name: 'Copy' }).click();
    await page.getByText('Copied.').waitFor();
    expect(await page.evaluate(() => navigator.clipboard.readText())).to.equal(await panel.textContent());
    await page.getByLabel('Input').fill('Something else');
    expect(await panel.textContent()).to.include('input="Something else"');
  });

  it('goes on while another view is looked at', async () => {
    const seen = Promise.withResolvers<void>();
    scene.backend.reply(inHalves(seen.promise));
    await send();
    await scene.go(page, 'Requests');
    await page.getByRole('cell', { name: 'processing' }).waitFor();
    seen.resolve();
    await page.getByRole('cell', { name: 'succeeded' }).waitFor();
    await scene.go(page, 'Try it');
    await answer().getByText('Half and half').waitFor();
  });
});

describe('what a backend says', () => {
  const scene = useConsole();
  const IMAGE = '<img src="x" onerror="globalThis.harmed=1">';
  const CANARY = `${IMAGE}<script>globalThis.harmed=1</script>`;

  it('is text and nothing else, wherever it is shown', async () => {
    scene.tolerate(/status of 400/);
    scene.backend.always((stage) => {
      if (!stage.request.path.endsWith('/models')) return answerAsBackend(stage);
      return sendJson(stage, { ...MODELS, data: [{ id: CANARY }] });
    });
    const page = await scene.open();
    await scene.enter(page);
    await page.getByRole('combobox', { name: 'Model' }).selectOption(CANARY);
    await page.getByLabel('Input').fill(CANARY);
    const call = { index: 0, id: 'call_1', type: 'function', function: { name: 'look', arguments: CANARY } };
    scene.backend.reply({
      sse: [chunk({ reasoning_content: CANARY }), chunk({ content: CANARY }), chunk({ tool_calls: [call] }, 'stop')],
    });
    await page.getByText('Tools and limits').click();
    await page.getByLabel('Tools (a JSON list)').fill('[{"type": "function", "name": "look"}]');
    const send = page.getByRole('button', { name: 'Send' });
    await send.click();
    await page.locator('#try-status').getByText('Completed in').waitFor();
    // It is in the thoughts, in the message, and twice in the call, whose summary has it too.
    expect((await page.locator('#try-answer').textContent())?.split(CANARY)).to.have.length(5);
    for (const summary of await page.locator('#try-events summary').all()) await summary.click();

    scene.backend.reply({ json: { error: { message: `No ${IMAGE} here`, code: IMAGE } }, status: 400 });
    await send.click();
    await page.locator('#try-status').getByText(IMAGE).waitFor();

    await scene.go(page, 'Requests');
    await page.getByRole('cell', { name: CANARY }).first().waitFor();
    await page.getByRole('row').nth(1).getByRole('link').click();
    await page.getByRole('dialog').getByText(CANARY).first().waitFor();
    await page.keyboard.press('Escape');
    await scene.go(page, 'Usage');
    await page.locator('#usage-model option').nth(1).waitFor({ state: 'attached' });

    expect(await page.locator('img').count()).to.equal(0);
    expect(await page.evaluate(() => 'harmed' in globalThis)).to.equal(false);
  });
});
