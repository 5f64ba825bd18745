import { describeOperatorStore } from '../operator-conformance.ts';

describeOperatorStore('in memory', () => ':memory:');
