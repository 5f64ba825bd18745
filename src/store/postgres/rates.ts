import { isGroupId } from '../../core/ids.ts';
import { standingOf } from '../../core/money/rates.ts';
import { GROUP_ACCOUNT_COLUMNS, KEY_ACCOUNT_COLUMNS } from '../book/unit-of-work.ts';
import { named } from '../sql/dialect.ts';
import { first, type SteppedOperations } from '../sql/steps.ts';
import { CLOCK_MS, type LockedAccount } from './unit-of-work.ts';

const { ofKey, ofGroup } = named('rate', {
  ofKey: `SELECT ${KEY_ACCOUNT_COLUMNS}, ${CLOCK_MS} FROM keys WHERE key_id = :accountId`,
  ofGroup: `SELECT ${GROUP_ACCOUNT_COLUMNS}, ${CLOCK_MS} FROM groups WHERE group_id = :accountId`,
});

/** Rates are counted by the clock of the database. */
export const RATES: SteppedOperations<'findRate'> = {
  *findRate(accountId) {
    const account = yield* first<LockedAccount>(isGroupId(accountId) ? ofGroup : ofKey, { accountId });
    return account === undefined ? null : standingOf(account, account.clockMs);
  },
};
