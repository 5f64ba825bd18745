import { expect } from 'chai';
import type { Request, RequestHandler, Response } from 'express';
import { inOrder } from '../../src/wire/in-order.ts';

describe('handlers in order', () => {
  let ran: string[];
  beforeEach(() => (ran = []));

  function run(...handlers: readonly RequestHandler[]): string[] {
    const behind = (failure?: unknown): number => ran.push(`behind them ${String(failure)}`);
    void inOrder(handlers)({} as Request, {} as Response, behind);
    return ran;
  }

  const note =
    (name: string): RequestHandler =>
    (_req, _res, next) => {
      ran.push(name);
      next();
    };

  it('run one after the other, and then what stands behind them', () => {
    expect(run(note('one'), note('two'))).to.deep.equal(['one', 'two', 'behind them undefined']);
  });

  it('end with the first that fails or answers', () => {
    expect(run(note('one'), (_req, _res, next) => next('failed'), note('two'))).to.deep.equal([
      'one',
      'behind them failed',
    ]);
    ran = [];
    expect(run(note('one'), () => undefined, note('two'))).to.deep.equal(['one']);
  });
});
