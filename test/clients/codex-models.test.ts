/** What the operator says of a model in MODELS_FILE, as Codex reads it in a catalogue. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { expectAnswer, useCodex } from './codex.ts';
import { API_KEY } from './strict-backend.ts';

const folder = mkdtempSync(join(tmpdir(), 'catalogue-'));
const [models, catalogue] = ['models.json', 'catalogue.json'].map((name) => join(folder, name)) as [string, string];
const SETTINGS = {
  efforts: ['low', 'high', 'max'],
  context_window: 40_960,
  input: ['text'],
  defaults: { reasoning: { effort: 'high' } },
};
writeFileSync(models, JSON.stringify({ models: { 'test-model': SETTINGS } }));

describe('the list of models as a catalogue of Codex', () => {
  const scene = useCodex({ settings: { MODELS_FILE: models } });

  after(() => rmSync(folder, { recursive: true, force: true }));

  it('is taken, so that Codex knows the model and gives it instructions', async () => {
    const headers = { authorization: `Bearer ${API_KEY}` };
    const list = await fetch(`${scene.baseUrl}/models?client_version=0.169.0`, { headers });
    writeFileSync(catalogue, await list.text());
    scene.backend.plays({ text: 'Hello' }, { text: 'Hello' });
    const unknown = await scene.codex.exec('Say hello.', { model: 'test-model' });
    expect(unknown.printed).to.match(/Model metadata for `test-model` not found/);
    const config = [`model_catalog_json=${JSON.stringify(catalogue)}`];
    const known = await scene.codex.exec('Say hello.', { model: 'test-model', config });
    expectAnswer(known, 'Hello');
    expect(known.printed).not.to.match(/metadata/);
    const [, body] = scene.backend.bodies;
    expect(body?.messages[0]?.content).to.match(/^You are a coding agent/);
    expect(body).to.include({ reasoning_effort: 'high' });
  });
});
