import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const README = readFileSync(join(import.meta.dirname, '../../README.md'), 'utf8');
const BASE_URL = 'http://127.0.0.1:8080/api/v1';

/**
 * What README shows for a client in this language, in its order, with another base URL. So the tests run what users copy.
 * Throws when there is none.
 */
export function readSnippets(client: string, language: 'ts' | 'toml', baseUrl: string): readonly string[] {
  const section = README.split(/^##+ /m).find((text) => text.startsWith(`${client}\n`)) ?? '';
  const blocks = section.split('```').filter((block) => block.startsWith(`${language}\n`));
  if (blocks.length === 0) throw new Error(`README shows no ${language} for ${client}`);
  return blocks.map((block) => block.slice(language.length + 1).replace(BASE_URL, baseUrl));
}
