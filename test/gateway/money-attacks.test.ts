import { describeMoneyAttacks } from './money-attacks.ts';

describeMoneyAttacks('on SQLite', { makeDatabase: () => ':memory:', isShared: false });
