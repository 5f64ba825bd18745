/** What takes the share of one caller, all at once. */
import type { Move } from './attackers.ts';

export interface Attack {
  readonly move: Move;
  readonly atOnce: number;
  /** Of so many keys of the gateway, where it is not that of a made-up key. */
  readonly poorKeys?: number;
  /** What others noticed when it was first tried. */
  readonly before: string;
}

/** A key that can pay for hardly anything. */
export const POOR = { limits: { requests_per_minute: 1 }, credits: '0.001' };

export const ATTACKS: readonly Attack[] = [
  { move: 'half-sent bodies', atOnce: 2000, before: '503 for every other caller, for 168 s and more' },
  { move: 'full bodies of 32 MiB, but for a byte', atOnce: 16, before: '503 for every other caller' },
  { move: 'handshakes', atOnce: 2000, before: '503 for every other WebSocket, for 10 minutes' },
  {
    move: 'full warm-ups',
    atOnce: 10,
    poorKeys: 10,
    before: 'previous_response_not_found for every other caller',
  },
  { move: 'unfinished messages of 30 MiB', atOnce: 30, before: 'not tried' },
  { move: 'floods of 10,000 pings a second', atOnce: 1, before: 'not tried' },
  { move: 'floods of 10,000 frames a second', atOnce: 1, before: 'a request refused, p99 9.7 s (idle 0.5)' },
];
