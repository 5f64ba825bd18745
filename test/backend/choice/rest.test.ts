import { expect } from 'chai';
import { createRest, type Rest } from '../../../src/backend/choice/rest.ts';

describe('createRest', () => {
  let nowMs: number;
  let rest: Rest;
  let changes: string[];

  beforeEach(() => {
    nowMs = 0;
    changes = [];
    rest = createRest({
      nowMs: () => nowMs,
      onChange: ({ state, restMs, reason }) => changes.push(`${state} ${restMs} ${reason}`),
    });
  });

  it('rests for a second, for twice as long after each trial that fails, and for at most a minute', () => {
    const waits: number[] = [];
    for (let count = 0; count < 8; count += 1) {
      rest.begin();
      rest.refused('upstream_unreachable', undefined);
      waits.push(rest.waitMs());
      nowMs += rest.waitMs();
    }
    expect(waits).to.deep.equal([1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]);
  });

  it('rests as long as the backend asks, but not for longer than a minute', () => {
    rest.refused('rate_limit_exceeded', 7000);
    expect(rest.waitMs()).to.equal(7000);
    nowMs += 7000;
    rest.begin();
    rest.refused('rate_limit_exceeded', 1e12);
    expect(rest.waitMs()).to.equal(60_000);
  });

  it('counts failures of requests that were on their way as one', () => {
    for (let count = 0; count < 10; count += 1) rest.refused('upstream_unreachable', undefined);
    expect(rest.waitMs()).to.equal(1000);
    expect(changes).to.deep.equal(['resting 1000 upstream_unreachable']);
  });

  it('lets one request try it, and is up again when that is answered', () => {
    rest.refused('upstream_unreachable', undefined);
    expect(rest.isOpen()).to.equal(false);
    nowMs += 1000;
    expect(rest.isOpen()).to.equal(true);
    rest.begin();
    expect(rest.isOpen()).to.equal(false);
    rest.answered();
    expect(rest.isOpen()).to.equal(true);
    rest.refused('upstream_unreachable', undefined);
    expect(rest.waitMs()).to.equal(1000);
  });

  it('lets another request try it when the first has left, or has waited for a minute', () => {
    rest.refused('upstream_unreachable', undefined);
    nowMs += 1000;
    rest.begin();
    rest.leave();
    expect(rest.isOpen()).to.equal(true);
    rest.begin();
    nowMs += 60_000;
    expect(rest.isOpen()).to.equal(true);
  });

  it('rests only after three failures in a row that the request may have caused', () => {
    fail('me', 'me');
    rest.succeeded('me', nowMs);
    fail('me', 'me');
    expect(rest.state).to.equal('up');
    fail('me');
    expect(rest).to.include({ state: 'resting', reason: 'upstream_timeout' });
  });

  it('does not rest for the failures of one caller while others are answered', () => {
    for (const caller of ['other', 'me', 'me']) rest.succeeded(caller, nowMs);
    fail('me', 'me', 'me', 'me');
    expect(rest.state).to.equal('up');
    nowMs += 600_000;
    fail('me');
    expect(rest.state).to.equal('resting');
  });

  it('rests for failures of two callers, and is up again as soon as anybody is answered', () => {
    for (const caller of ['other', 'another']) rest.succeeded(caller, nowMs);
    fail('me', 'me', 'you');
    expect(rest.state).to.equal('resting');
    rest.succeeded('other', nowMs);
    expect(rest.state).to.equal('up');
  });

  it('keeps its rest, and its failures in a row, when an answer that began before them ends', () => {
    const begunMs = nowMs;
    nowMs += 1;
    fail('me', 'you');
    rest.succeeded('other', begunMs);
    fail('me');
    expect(rest.state).to.equal('resting');
    rest.succeeded('other', begunMs);
    expect(rest.state).to.equal('resting');
  });

  it('rests for failures in a row of which most are of one caller', () => {
    for (const caller of ['other', 'another']) rest.succeeded(caller, nowMs);
    fail('you', 'me', 'me');
    nowMs += rest.waitMs();
    rest.begin();
    fail('me');
    expect(rest.waitMs()).to.equal(2000);
  });

  it('rests no longer than before for a trial that one caller spoils while others are answered', () => {
    for (const caller of ['other', 'another']) rest.succeeded(caller, nowMs);
    rest.refused('upstream_unreachable');
    for (let count = 0; count < 10; count += 1) {
      nowMs += rest.waitMs();
      rest.begin();
      if (count % 2 === 0) fail('me');
      else rest.doubted();
      expect(rest).to.include({ state: 'resting', reason: 'upstream_unreachable' });
      expect(rest.waitMs()).to.equal(1000);
    }
  });

  function fail(...callers: readonly string[]): void {
    for (const caller of callers) rest.failed('upstream_timeout', caller);
  }
});
