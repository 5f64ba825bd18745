/** `npm run lab picture`: runs the first commands of a newcomer, and draws what the terminal showed as an animated SVG. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { escapeHtml } from '../../src/pages/html.ts';
import { startGatewayProcess } from './gateway-process.ts';

const PICTURE_PATH = join(import.meta.dirname, '../../.github/terminal.svg');
const GATEWAY = 'http://127.0.0.1:8080';
const HEADERS = [
  '  -H "Authorization: Bearer $GATEWAY_API_KEY" -H "Content-Type: application/json" \\',
  `  -d '{"model": "demo", "input": "Hi"`,
] as const;
const ONCE = [
  `curl -si ${GATEWAY}/api/v1/responses -H "Idempotency-Key: order-4711" \\`,
  HEADERS[0],
  `${HEADERS[1]}}' | grep -E '^(HTTP|location|idempotency)'`,
];
const COMMANDS: readonly (readonly string[])[] = [
  [
    `curl -sN ${GATEWAY}/api/v1/responses \\`,
    HEADERS[0],
    `${HEADERS[1]}, "stream": true}' | grep -oE '^event.*|"delta":"[^"]*"'`,
  ],
  ONCE,
  ONCE,
];
/** How many lines of an output are shown at its beginning, and at its end. */
const SHOWN = { first: 11, last: 3 };

export interface ShownLine {
  readonly text: string;
  readonly kind: 'command' | 'output';
  /** Since the first line. */
  readonly atMs: number;
}

/** Resolves with what the terminal shows. A reader has a moment before and after each command. */
export async function recordTerminal(): Promise<readonly ShownLine[]> {
  const folder = mkdtempSync(join(tmpdir(), 'picture-'));
  const gateway = await startGatewayProcess({ DATABASE_URL: 'file:./data/gateway.db' }, { folder });
  const { url = '' } = gateway;
  try {
    const lines: ShownLine[] = [{ text: '$ npm start', kind: 'command', atMs: 0 }];
    const toShown = (text: string): string => text.replaceAll(url, GATEWAY);
    const [banner = ''] = gateway.banner.split('\n\n');
    lines.push(...banner.split('\n').map((text) => ({ text: toShown(text), kind: 'output' as const, atMs: 1200 })));
    for (const command of COMMANDS) {
      const startMs = (lines.at(-1)?.atMs ?? 0) + 1800;
      lines.push(
        ...command.map((text, at) => ({
          text: (at === 0 ? '$ ' : '  ') + text,
          kind: 'command' as const,
          atMs: startMs,
        })),
      );
      const said = await run(command.join('\n').replaceAll(GATEWAY, url), folder);
      lines.push(
        ...shorten(said).map(({ text, atMs }) => ({
          text: toShown(text),
          kind: 'output' as const,
          atMs: startMs + 900 + atMs,
        })),
      );
    }
    return lines;
  } finally {
    await gateway.stop();
    rmSync(folder, { recursive: true });
  }
}

interface SaidLine {
  readonly text: string;
  readonly atMs: number;
}

async function run(command: string, folder: string): Promise<readonly SaidLine[]> {
  const startMs = performance.now();
  // A terminal would see each line at once.
  const shell = spawn('stdbuf', ['-oL', 'bash', '--norc', '-euc', command], {
    cwd: folder,
    env: { PATH: process.env['PATH'], GATEWAY_API_KEY: 'demo' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(shell, 'exit');
  const said: SaidLine[] = [];
  for await (const text of createInterface(shell.stdout)) said.push({ text, atMs: performance.now() - startMs });
  await ended;
  if (shell.exitCode !== 0) throw new Error(`it ended with ${shell.exitCode}: ${command}`);
  return said;
}

function shorten(said: readonly SaidLine[]): readonly SaidLine[] {
  const { first, last } = SHOWN;
  if (said.length <= first + last) return said;
  const rest = said.slice(-last);
  return [...said.slice(0, first), { text: ' …', atMs: rest[0]?.atMs ?? 0 }, ...rest];
}

const COLUMNS = 104;
const COLUMN_PX = 7.83;
const ROW_PX = 19;
const MARGIN_PX = 16;
const BAR_PX = 30;
/** README shows its first commands below the picture, without scrolling. */
const ROWS = 18;
/** Time to read the whole screen before it begins again. */
const REST_MS = 8000;

/** Draws each line at its time, and moves the screen up when it is full. Readers who want no motion see its end. */
export function drawTerminal(lines: readonly ShownLine[]): string {
  const width = Math.ceil(COLUMNS * COLUMN_PX) + 2 * MARGIN_PX;
  const screenPx = ROWS * ROW_PX;
  const height = BAR_PX + screenPx + MARGIN_PX;
  const totalMs = (lines.at(-1)?.atMs ?? 0) + REST_MS;
  const times = [...new Set(lines.map(({ atMs }) => atMs))];
  const steps = times.map((atMs, at) => {
    const percent = ((100 * atMs) / totalMs).toFixed(2);
    return `@keyframes t${at}{0%,${percent}%{visibility:hidden}${percent}%,100%{visibility:visible}}.t${at}{animation:t${at} ${Math.round(totalMs)}ms step-end infinite}`;
  });
  const scroll = times.map((atMs) => {
    const shown = lines.filter((line) => line.atMs <= atMs).length;
    return `${((100 * atMs) / totalMs).toFixed(2)}%{transform:translateY(${-moveUpPx(shown)}px)}`;
  });
  const rows = lines.map(({ text, kind, atMs }, row) => {
    const y = (row + 1) * ROW_PX - 5;
    return `<text class="${kind} t${times.indexOf(atMs)}" x="${MARGIN_PX}" y="${y}">${escapeHtml(text)}</text>`;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">`,
    '<title>A terminal: the gateway starts, streams an answer, and answers a repeated request with its record</title>',
    '<style>',
    'text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;white-space:pre;fill:#c9d1d9}',
    '.command{fill:#7ee787}',
    ...steps,
    `@keyframes scroll{${scroll.join('')}}`,
    `.screen{transform:translateY(${-moveUpPx(lines.length)}px);animation:scroll ${Math.round(totalMs)}ms step-end infinite}`,
    '@media (prefers-reduced-motion:reduce){text,.screen{animation:none!important}}',
    '</style>',
    // Without an edge it would have none on a dark page.
    `<rect x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="8" fill="#0d1117" stroke="#3d444d"/>`,
    ...['#ff5f57', '#febc2e', '#28c840'].map(
      (fill, at) => `<circle cx="${18 + 18 * at}" cy="15" r="5" fill="${fill}"/>`,
    ),
    // An inner picture hides what is outside of it.
    `<svg y="${BAR_PX}" width="${width}" height="${screenPx}"><g class="screen">`,
    ...rows,
    '</g></svg>',
    '</svg>',
    '',
  ].join('\n');
}

function moveUpPx(shown: number): number {
  return Math.max(0, shown - ROWS) * ROW_PX;
}

/** Returns the lines of a picture, or of that in the repository, from top to bottom. */
export function readPicture(svg = readFileSync(PICTURE_PATH, 'utf8')): readonly string[] {
  return [...svg.matchAll(/<text [^>]*>(.*)<\/text>/g)].map(([, text = '']) => text);
}

if (process.argv[1] === import.meta.filename) writeFileSync(PICTURE_PATH, drawTerminal(await recordTerminal()));
