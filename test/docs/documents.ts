/** README and the guides, as the tests look into them. */

import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { marked, type Token, type Tokens } from 'marked';

export const ROOT = join(import.meta.dirname, '../..');

export interface Document {
  /** Its path in the repository. */
  readonly path: string;
  readonly text: string;
}

/** A fenced block of code. */
export interface Block {
  readonly path: string;
  /** The heading above it. */
  readonly section: string;
  /** Of the line that opens it, from 1 on. */
  readonly line: number;
  /** The word behind the fence; empty where there is none. */
  readonly language: string;
  readonly code: string;
}

export const DOCUMENTS: readonly Document[] = ['README.md', ...globSync('src/docs/*.md', { cwd: ROOT }).sort()].map(
  (path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }),
);

export const BLOCKS: readonly Block[] = DOCUMENTS.flatMap(readBlocks);

/** The blocks of code of a document, in their order. */
export function readBlocks({ path, text }: Document): readonly Block[] {
  const blocks: Block[] = [];
  let section = '';
  let from = 0;
  for (const token of tokensOf(text)) {
    if (token.type === 'heading') section = token.text;
    if (!isCode(token)) continue;
    const { text: code, lang: language = '' } = token;
    const raw = token.raw.trimEnd();
    // That of a list is not indented as it is in the file.
    from = Math.max(from, text.indexOf(raw, from));
    blocks.push({ path, section, line: text.slice(0, from).split('\n').length, language, code: `${code}\n` });
    from += raw.length;
  }
  return blocks;
}

/** Where the links of a document lead to, as they are written. */
export function readLinks({ text }: Document): readonly string[] {
  return tokensOf(text)
    .filter(isLink)
    .map(({ href }) => href);
}

function tokensOf(text: string): readonly Token[] {
  const tokens: Token[] = [];
  void marked.walkTokens(marked.lexer(text), (token) => void tokens.push(token));
  return tokens;
}

function isCode(token: Token): token is Tokens.Code {
  return token.type === 'code';
}

function isLink(token: Token): token is Tokens.Link {
  return token.type === 'link';
}
