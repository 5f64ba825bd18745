import { goOnWith } from './histories.ts';

goOnWith(100);
