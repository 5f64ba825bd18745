/** For a test that takes piece by piece what a listener is handed. */
export interface Pulled<Piece> {
  /** What the listener does with a piece: whoever hands it on has to wait until the next piece is asked for. */
  readonly take: (piece: Piece) => Promise<void>;
  /** Nothing more comes, because of an error or because all is there. */
  readonly end: (error?: unknown) => void;
  /** The pieces. Leaving the loop early makes `take` throw. To be iterated once. */
  readonly pieces: AsyncIterable<Piece>;
}

interface Waiting<Piece> {
  readonly piece: Piece;
  readonly taken: PromiseWithResolvers<void>;
}

/** Begins with nothing. */
export function pull<Piece>(): Pulled<Piece> {
  /** The piece that was handed over last, until the next one is asked for. */
  let latest: Waiting<Piece> | undefined;
  let isFresh = false;
  let ending: { readonly error: unknown } | undefined;
  let isLeft = false;
  let wake = (): void => undefined;

  return {
    take(piece) {
      if (isLeft) throw new Error('the test has left');
      latest = { piece, taken: Promise.withResolvers() };
      isFresh = true;
      wake();
      return latest.taken.promise;
    },
    end(error) {
      ending ??= { error };
      wake();
    },
    pieces: {
      [Symbol.asyncIterator]: () => ({
        async next() {
          if (isLeft) return { done: true, value: undefined };
          if (!isFresh) latest?.taken.resolve();
          await whenReady();
          // An error drops what waits.
          if (isFresh && latest !== undefined && ending?.error === undefined) {
            isFresh = false;
            return { done: false, value: latest.piece };
          }
          isLeft = true;
          // oxlint-disable-next-line typescript/only-throw-error -- a listener is told the reason as it is
          if (ending?.error !== undefined) throw ending.error;
          return { done: true, value: undefined };
        },
        return() {
          isLeft = true;
          latest?.taken.reject(new Error('the test has left'));
          return Promise.resolve({ done: true, value: undefined });
        },
      }),
    },
  };

  function whenReady(): Promise<void> | undefined {
    if (isFresh || ending !== undefined) return undefined;
    return new Promise((resolve) => {
      wake = resolve;
    });
  }
}
