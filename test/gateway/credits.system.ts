import { describeCredits } from './credits-crowds.ts';

describeCredits({ covered: 200, greedy: 100, mixed: 150 });
