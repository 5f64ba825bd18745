import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** `npm start` sets it too, because what Node has compiled is kept for each set of flags. */
export const KEEP_YOUNG = '--no-allocation-site-pretenuring';

/**
 * Keeps V8 from making objects of requests old at once. It does so where many of one kind have outlived a quick collection of the
 * young ones, such as those of 64 streams that run together. Then each of them keeps all of its request alive until a
 * collection of everything, and streams take a fifth to a half more CPU for as long as the process lives.
 *
 * Must be called before the code is loaded that serves requests: what is compiled is kept for these flags alone.
 */
export function keepRequestsYoung(): void {
  setFlagsFromString(KEEP_YOUNG);
}

const QUIET_AFTER_MS = 500;
const MOST_BYTES = 64 * 1024 * 1024;
/**
 * By so much may the heap grow, with the bytes of bodies beside it, until V8 collects everything. By itself it does so for each 10 MB
 * while the heap is small, and large bodies take a fifth to a third more CPU.
 */
const GROWTH = '--heap-growing-percent=150';

/**
 * Gives back the room of the objects that only the start has made, 12 MB, once requests had their turn. V8 by itself keeps it until
 * there is more to collect. It takes some 40 ms, and much longer where requests have already filled the heap, so it is left out then.
 * From then on V8 collects everything less often.
 */
export function forgetStart(): void {
  setTimeout(() => {
    setFlagsFromString(GROWTH);
    if (getHeapStatistics().used_heap_size > MOST_BYTES) return;
    setFlagsFromString('--expose-gc');
    runInNewContext("gc({ type: 'major', flavor: 'last-resort' })");
  }, QUIET_AFTER_MS).unref();
}
