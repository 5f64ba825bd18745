import { createFairQueue } from '../core/fair-queue.ts';

/**
 * Returns what begins small pieces of work in the order in which they come, and only so many in one turn of the event loop, so
 * that what runs already goes on in between. When more wait, owners take turns: much work of one holds up no other.
 */
export function spreadOverTurns(mostInTurn: number): (owner: string, begin: () => void) => void {
  const waiting = createFairQueue<() => void>();
  let begun = 0;
  let isTurnAhead = false;

  return (owner, begin) => {
    if (begun < mostInTurn && waiting.isEmpty()) {
      begun += 1;
      // Less than half may be counted for longer than its turn, so that what comes alone asks for none.
      if (begun * 2 >= mostInTurn) lookAhead();
      begin();
      return;
    }
    lookAhead();
    waiting.add(owner, begin);
  };

  function lookAhead(): void {
    if (isTurnAhead) return;
    isTurnAhead = true;
    setImmediate(takeTurn);
  }

  function takeTurn(): void {
    isTurnAhead = false;
    begun = 0;
    while (begun < mostInTurn && !waiting.isEmpty()) {
      lookAhead();
      begun += 1;
      waiting.next()?.();
    }
  }
}

const takeReadTurn = spreadOverTurns(1);

/**
 * Begins to read the next piece of something large, some 64 KiB, in turns with everything else that is large. Node would read up to
 * 2 MiB of each connection in one turn of the event loop, and most of that time goes into memory that was not used before.
 */
export function readPiece(read: () => void): void {
  takeReadTurn('', read);
}
