import { inspect } from 'node:util';
import { expect } from 'chai';
import { after, calling, SPECIAL } from './model-words.ts';
import { useGateway } from './scene.ts';
import { SDKS } from './sdks/sdks.ts';
import type { Answer } from './strict-backend.ts';
import { SCENARIOS, type Asked } from './turns/scenarios.ts';

const CITY = 'Bonn ✓ 🎉';

for (const [name, { ask, only, structured, ...sdk }] of Object.entries(SDKS)) {
  const settings = sdk.refersToResponses ? { ITEM_MEMORY_TTL_S: '60' } : {};
  const ways = [
    ...(only === 'json' ? [] : [{ way: 'in a stream', stream: true }]),
    ...(only === 'stream' ? [] : [{ way: 'without a stream', stream: false }]),
  ];
  const toAsked = (baseURL: string): Asked => ({ ...SCENARIOS['tool-loop'], baseURL, model: 'test-model' });

  describe(name, () => {
    const scene = useGateway({ settings });

    for (const { way, stream } of ways) {
      it(`gets an answer ${way}`, async () => {
        scene.backend.plays({ text: SPECIAL });
        expect(await ask(toAsked(scene.baseUrl), stream)).to.equal(SPECIAL);
        expect(scene.backend.bodies[0]?.stream === true).to.equal(stream);
      });
    }

    if (structured !== 'never') {
      it(`parses what a ${structured === 'tool' ? 'tool is called with' : 'schema describes'}`, async () => {
        const place = { city: SPECIAL };
        scene.backend.plays(
          structured === 'tool' ? calling('structured_output', place) : { text: JSON.stringify(place) },
        );
        const said = await ask({ ...toAsked(scene.baseUrl), isStructured: true }, only !== 'json');
        expect(JSON.parse(said)).to.deep.equal(place);
        expect(scene.backend.bodies[0]?.response_format?.['type']).to.equal(
          structured === 'tool' ? undefined : 'json_schema',
        );
      });
    }

    const refusal: Answer = { status: 400, error: { message: 'Not for this model.' } };
    const failures = [
      ...ways.map(({ way, stream }) => ({
        name: `refuses ${way}`,
        answer: refusal,
        stream,
        says: 'Not for this model.',
      })),
      {
        name: 'breaks off',
        answer: { text: 'Half an answ', ending: 'cut' } as const,
        stream: true,
        says: 'broke in the middle',
      },
    ];
    for (const { name, answer, stream, says } of failures) {
      if (stream && only === 'json') continue;
      it(`throws when the backend ${name}`, async () => {
        scene.backend.plays(answer);
        const error: unknown = await ask(toAsked(scene.baseUrl), stream).catch((error: unknown) => error);
        expect(error).to.be.an('error');
        expect(inspect(error)).to.include(says);
      });
    }
  });

  describe(`${name}, where the model reasons`, () => {
    // Kimi wants something in the place of thoughts that a client drops.
    const scene = useGateway({
      settings: { ...settings, UPSTREAM_DIALECT: 'moonshot' },
      rules: { reasoningField: 'reasoning_content' },
    });

    for (const { way, stream } of ways) {
      it(`calls tools in three turns ${way}, and ${sdk.dropsThoughts ? 'drops the thoughts' : 'gives the thoughts back'}`, async () => {
        scene.backend.plays(
          { reasoning: 'First I look.', text: 'I look.', ...calling('get_weather', { city: CITY }) },
          after(`Rain in ${CITY}`, { reasoning: 'Now there.', ...calling('get_weather', { city: 'Oslo' }) }),
          after('Rain in Oslo', { reasoning: 'Now I know.', text: 'It rains.' }),
        );
        expect(await ask(toAsked(scene.baseUrl), stream)).to.match(/It rains\.$/);
        const thoughts = scene.backend.bodies[2]?.messages.flatMap(({ reasoning_content: thought }) => thought ?? []);
        expect(thoughts).to.deep.equal(sdk.dropsThoughts ? [' ', ' '] : ['First I look.', 'Now there.']);
      });
    }
  });
}
