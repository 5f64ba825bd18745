import { describeMoney } from './money-property.ts';

describeMoney({ steps: 10_000, parts: 10 });
