import { describeCredits } from './credits-crowds.ts';

describeCredits({ covered: 16, greedy: 8, mixed: 30 });
