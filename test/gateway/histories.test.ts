import { goOnWith } from './histories.ts';

goOnWith(60);
