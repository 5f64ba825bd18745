/**
 * One line about a throw that nobody expected: its kind and where it came from. Its message is left out, since a message
 * may quote what was being read: JSON.parse puts a piece of the prompt into it.
 */
export function describeCrash(thrown: unknown): string {
  if (!(thrown instanceof Error)) return `a thrown ${typeof thrown}`;
  const code = 'code' in thrown && typeof thrown.code === 'string' ? ` ${thrown.code}` : '';
  const frames = thrown.stack?.match(FRAME)?.slice(0, MAX_FRAMES) ?? [];
  return [`${thrown.name}${code}`, ...frames.map((frame) => frame.trim())].join(' ');
}

const MAX_FRAMES = 10;
const FRAME = /^ {4}at [^\n]*(?:file|node):[^\n]*:\d+:\d+\)?$/gm;
