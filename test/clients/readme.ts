import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const DOCUMENTS = ['README.md', 'src/docs/clients.md', 'src/docs/web-socket-and-compaction.md'].map((path) =>
  readFileSync(join(import.meta.dirname, '../..', path), 'utf8'),
);
const BASE_URL = 'http://127.0.0.1:8080/api/v1';

/**
 * What README and the guides show for a client in this language, with another base URL. So the tests run what users copy.
 * Throws when there is none.
 */
export function readSnippets(client: string, language: 'ts' | 'toml', baseUrl: string): readonly string[] {
  const sections = DOCUMENTS.flatMap((text) => text.split(/^##+ /m)).filter((text) => text.startsWith(`${client}\n`));
  const blocks = sections.flatMap((text) => text.split('```')).filter((block) => block.startsWith(`${language}\n`));
  if (blocks.length === 0) throw new Error(`No document shows ${language} for ${client}`);
  return blocks.map((block) => block.slice(language.length + 1).replace(BASE_URL, baseUrl));
}
