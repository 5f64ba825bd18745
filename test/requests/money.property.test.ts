import { describeMoney } from './money-property.ts';

describeMoney({ steps: 1000, parts: 1 });
