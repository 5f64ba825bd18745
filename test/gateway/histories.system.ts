/** `npm run lab histories` tries a hundred thousand. */

import { goOnWith } from './histories.ts';

goOnWith(Number(process.env['HISTORIES'] ?? 2000));
