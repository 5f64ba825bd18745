/** By which index each list must be read; the tests of each engine compare its plans. */
import { toGroupId, toUniquePart } from '../../../src/core/ids.ts';
import type { ListStep } from '../../../src/store/rows/list-query.ts';

export const ALL_RECORDS: ListStep = {
  caller: null,
  groupId: null,
  status: null,
  model: null,
  errorCode: null,
  from: 'req_0',
  before: 'req_g',
  limit: 21,
};

const GROUP = toGroupId(toUniquePart('0'.repeat(32)));

type Filters = Partial<Pick<ListStep, 'caller' | 'groupId' | 'status' | 'model' | 'errorCode'>>;

/** `byId` is the index of the unique ids, whose name each engine makes up. */
export const LIST_PLANS: readonly { readonly filters: Filters; readonly index: string }[] = [
  { filters: {}, index: 'byId' },
  { filters: { status: 'succeeded' }, index: 'byId' },
  { filters: { status: 'processing' }, index: 'requests_by_owner' },
  { filters: { status: 'failed' }, index: 'requests_by_status' },
  { filters: { status: 'failed', model: 'm' }, index: 'requests_by_status' },
  { filters: { model: 'm' }, index: 'requests_by_model' },
  { filters: { errorCode: 'upstream_error' }, index: 'requests_by_error' },
  { filters: { groupId: GROUP }, index: 'requests_of_group' },
  { filters: { groupId: GROUP, model: 'm' }, index: 'requests_of_group' },
  { filters: { groupId: GROUP, status: 'succeeded' }, index: 'requests_of_group' },
  { filters: { groupId: GROUP, status: 'failed' }, index: 'requests_by_status' },
  { filters: { groupId: GROUP, errorCode: 'upstream_error' }, index: 'requests_by_error' },
  { filters: { groupId: GROUP, caller: 'c' }, index: 'requests_of_caller' },
  { filters: { caller: 'c' }, index: 'requests_of_caller' },
  { filters: { caller: 'c', status: 'processing' }, index: 'requests_by_owner' },
  { filters: { caller: 'c', status: 'processing', model: 'm' }, index: 'requests_by_owner' },
  { filters: { caller: 'c', status: 'succeeded' }, index: 'requests_of_caller' },
  { filters: { caller: 'c', status: 'cancelled' }, index: 'requests_of_caller_by_status' },
  { filters: { caller: 'c', model: 'm' }, index: 'requests_of_caller_by_model' },
  { filters: { caller: 'c', model: 'm', status: 'succeeded' }, index: 'requests_of_caller_by_model' },
  { filters: { caller: 'c', errorCode: 'upstream_error' }, index: 'requests_of_caller_by_error' },
  { filters: { caller: 'c', errorCode: 'upstream_error', status: 'failed' }, index: 'requests_of_caller_by_error' },
  { filters: { caller: 'c', errorCode: 'upstream_error', model: 'm' }, index: 'requests_of_caller_by_error' },
];

/** The filters as the name of a test. */
export function nameOf(filters: Filters): string {
  const names = Object.entries(filters).map(([name, value]) => (name === 'status' ? `status ${value}` : name));
  return names.length === 0 ? 'all records' : names.join(', ');
}
