/**
 * `npm run lab soak -- 30`: so many minutes of mixed traffic of each kind at once. It is the long version of
 * test/gateway/soak.system.ts.
 */
import { CUSTOMERS, type CustomerKind } from '../kill/customers.ts';
import { runSoak, type SoakReport } from './soak.ts';

const minutes = Number(process.argv[2] ?? 30);
const kinds = Object.keys(CUSTOMERS) as CustomerKind[];

await Promise.all(
  kinds.map((kind) =>
    runSoak(kind, {
      seconds: minutes * 60,
      roundSeconds: 30,
      onRound: (report) => console.log(describe(kind, report)),
    }),
  ),
);
console.log('all promises were kept');

function describe(
  kind: CustomerKind,
  { rounds, told, left, cancels, repeats, memoryMb, openFiles }: SoakReport,
): string {
  return (
    `${kind}, ${rounds} rests: ${told} ends told, ${left} left, ${cancels} cancels, ${repeats} repeats; ` +
    `${memoryMb} MB, ${openFiles} files`
  );
}
