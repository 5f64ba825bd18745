import { describeCredits } from './credits-crowds.ts';

describeCredits({ covered: 40, greedy: 20, mixed: 50 });
