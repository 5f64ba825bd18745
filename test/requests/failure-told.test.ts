import { expect } from 'chai';
import { ApiError, type ErrorCode } from '../../src/core/errors.ts';
import { failureToTell } from '../../src/requests/failure-told.ts';
import type { Ended } from '../../src/requests/record.ts';

const ENDS = {
  'a record that succeeded': { kind: 'recorded', status: 'succeeded', keepsKey: true },
  'a record that failed': { kind: 'recorded', status: 'failed', keepsKey: true },
  'a record that was cancelled': { kind: 'recorded', status: 'cancelled', keepsKey: true },
  'a record that was discarded': { kind: 'discarded' },
  'a record that is late': { kind: 'late', keepsKey: true },
  'no record': { kind: 'refused', why: new ApiError('store_unavailable') },
} as const satisfies Readonly<Record<string, Ended>>;

/** What is told of a request that ended as its column says, by what became of its record. */
const TOLD: Readonly<Record<keyof typeof ENDS, readonly (ErrorCode | null)[]>> = {
  'a record that succeeded': [null, 'upstream_error', 'request_cancelled', 'client_disconnected'],
  'a record that failed': ['gateway_interrupted', 'upstream_error', 'request_cancelled', 'client_disconnected'],
  'a record that was cancelled': ['request_cancelled', 'request_cancelled', 'request_cancelled', 'client_disconnected'],
  'a record that was discarded': [null, 'upstream_error', 'request_cancelled', 'client_disconnected'],
  'a record that is late': [null, 'upstream_error', 'request_cancelled', 'client_disconnected'],
  'no record': ['store_unavailable', 'store_unavailable', 'request_cancelled', 'client_disconnected'],
};

describe('the failure that is told', () => {
  for (const [record, row] of Object.entries(TOLD)) {
    for (const [index, code] of (
      [null, 'upstream_error', 'request_cancelled', 'client_disconnected'] as const
    ).entries()) {
      it(`of a request with ${record} that ended with ${code ?? 'no failure'} is ${row[index] ?? 'none'}`, () => {
        const failure = code === null ? null : new ApiError(code);
        const told = failureToTell(failure, ENDS[record as keyof typeof ENDS]);
        expect(told?.code ?? null).to.equal(row[index]);
        if (told?.code === code) expect(told, 'its message and headers stay').to.equal(failure);
      });
    }
  }
});
