import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import settings from '../../schemas/settings.json' with { type: 'json' };
import { readMarkdown } from '../../src/pages/markdown.ts';
import { generateSettingsGuide, SETTINGS_GUIDE_PATH } from '../support/generate-settings-guide.ts';

describe('the guide on settings', () => {
  it('is not stale (else: npm run types)', () => {
    expect(readFileSync(SETTINGS_GUIDE_PATH, 'utf8')).to.equal(generateSettingsGuide());
  });

  it('has every setting once, in the order of the schema', () => {
    const { terms } = readMarkdown(generateSettingsGuide());
    expect(terms.map(({ text }) => text)).to.deep.equal(Object.keys(settings.properties));
  });

  it('says what may be set, by default and at most, in units that people read', () => {
    const guide = generateSettingsGuide();
    expect(guide).to.include(
      '| `PORT` | `8080` | The TCP port to listen on; 0 takes any free one. From 0 to 65,535. |',
    );
    expect(guide).to.match(/\| `MAX_BODY_BYTES` \| `33554432` \(32 MiB\) \| /);
    expect(guide).to.match(/\| `IDLE_TIMEOUT_MS` \| `300000` \(5 min\) \| /);
    expect(guide).to.match(/\| `API_KEYS` \| none \| .*`AUTH_MODE=static`.* A secret\. \|/);
    expect(guide).to.match(/One of `auto`, `json`, `pretty`\. \|/);
  });
});
