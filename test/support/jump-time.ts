/**
 * For a `describe`: in each of its tests `performance.now()` runs on, and jumps ahead by as much as the returned function is
 * told. Deadlines that it counts have passed then, and nobody has waited for them. Timers are the real ones.
 */
export function useJumps(): (ms: number) => void {
  let aheadMs = 0;
  beforeEach(() => {
    aheadMs = 0;
    const now = performance.now.bind(performance);
    performance.now = () => now() + aheadMs;
  });
  afterEach(() => {
    Reflect.deleteProperty(performance, 'now');
  });
  return (ms) => {
    aheadMs += ms;
  };
}
